import type { TimeZone } from './input-time.ts'

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

interface RelativeTime {
  now: Date
  /** The moment is still to come: when it is reached, it is due. */
  isPlanned?: boolean
}

/**
 * For example "3 minutes ago" or "in 2 hours". What has happened is never "in a few seconds", even
 * when the clock of the browser is behind that of the service.
 */
export function formatRelative(time: Date, { now, isPlanned = false }: RelativeTime): string {
  const seconds = (time.getTime() - now.getTime()) / 1_000
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.trunc(seconds / size), unit)
  }
  if (!isPlanned) return 'just now'
  return seconds > 0 ? 'in a few seconds' : 'now'
}

/** For example "2026-11-23 14:05:09 UTC". Sortable, without doubt about day, month and zone. */
export function formatAbsolute(time: Date, zone: TimeZone): string {
  if (zone === 'utc') return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return `${shifted.toISOString().slice(0, 19).replace('T', ' ')} ${zoneName(time)}`
}

/** For example "PST", "GMT+1" or "UTC": the name at that moment, which summer time changes. */
function zoneName(time: Date): string {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(time)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
}
