import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'

export type QuietHours = NonNullable<PolicyLimits['quiet_hours']>

/**
 * Whether the local time is within quiet hours. `from` is inclusive, `until` exclusive; they span
 * midnight if `until` is earlier, and the whole day if both are equal.
 */
export function isWithinQuietHours(
  { from, until }: QuietHours,
  at: Date,
  timeZone: string,
): boolean {
  const minute = minuteOfDay(at, timeZone)
  // HH:MM compares as text.
  if (from < until) return from <= minute && minute < until
  return from <= minute || minute < until
}

function minuteOfDay(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
}

/** Longer than any local day, including those with a time zone change. */
const DAY_HOURS_MAX = 48

/**
 * When the local day of `at` begins in an IANA time zone. Searches by local date instead of
 * counting hours, because a local day can have 23, 24 or 25 hours and can begin at 01:00.
 */
export function startOfAccountDay(at: Date, timeZone: string): Date {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' })
  const today = format.format(at)
  let before = at.getTime() - DAY_HOURS_MAX * HOUR_MILLISECONDS
  let inside = at.getTime()
  while (inside - before > 1) {
    const middle = Math.floor((before + inside) / 2)
    if (format.format(middle) === today) inside = middle
    else before = middle
  }
  return new Date(inside)
}
