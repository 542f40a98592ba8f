import { useLocalStorage } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { TimeZone } from './input-time.ts'

/** The zone in which all pages show times; kept in the browser. */
export function useTimeZone() {
  return useLocalStorage<TimeZone>({ key: 'signalbox-time-zone', defaultValue: 'local' })
}

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** For example "3 minutes ago" or "in 2 hours". */
function formatRelative(time: Date, now: Date): string {
  const seconds = (time.getTime() - now.getTime()) / 1_000
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.trunc(seconds / size), unit)
  }
  return seconds > 0 ? 'in a few seconds' : 'just now'
}

/** For example "2026-11-23 14:05:09 UTC". Sortable and without doubt about day and month. */
export function formatAbsolute(time: Date, zone: TimeZone): string {
  if (zone === 'utc') return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  const name = new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts(time)
    .find(({ type }) => type === 'timeZoneName')?.value
  return `${shifted.toISOString().slice(0, 19).replace('T', ' ')} ${name ?? ''}`
}

interface TimeProps {
  /** ISO 8601. */
  at: string
  /** Relative by default, with the absolute time on hover and for screen readers. */
  format?: 'relative' | 'absolute' | 'both'
}

/** A moment, in the zone that the person chose. */
export function Time({ at, format = 'both' }: TimeProps) {
  const [zone] = useTimeZone()
  const now = useNow()
  const time = new Date(at)
  const absolute = formatAbsolute(time, zone)
  const relative = formatRelative(time, now)
  const text = { relative, absolute, both: `${absolute} (${relative})` }[format]
  return (
    <time dateTime={at} title={absolute}>
      {text}
    </time>
  )
}

const NOW_MILLISECONDS = 30_000

/** The present, refreshed often enough for relative times. */
function useNow(everyMilliseconds = NOW_MILLISECONDS): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMilliseconds)
    return () => clearInterval(timer)
  }, [everyMilliseconds])
  return now
}
