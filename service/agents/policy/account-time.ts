import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'

export type QuietHours = NonNullable<PolicyLimits['quiet_hours']>

/**
 * Whether the clock of a place stands within quiet hours: from their first minute until the first
 * one after, over midnight where `until` is the earlier one. Two equal minutes are the whole day.
 */
export function isWithinQuietHours(
  { from, until }: QuietHours,
  at: Date,
  timeZone: string,
): boolean {
  const minute = minuteOfDay(at, timeZone)
  // Two digits each, so that the order of the texts is the order of the minutes.
  if (from < until) return from <= minute && minute < until
  return from <= minute || minute < until
}

/** HH:MM, from 00:00 to 23:59. */
function minuteOfDay(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
}

const HOUR_MILLISECONDS = 3_600_000
/** No day is that long, whatever its time zone does to its clocks. */
const DAY_HOURS_MAX = 48

/**
 * The moment at which the day of `at` begins in an IANA time zone. It is found by looking at the
 * clock of that place and not by counting hours, because a day there may have 23, 24 or 25 of them,
 * and may begin at one o'clock where midnight is left out.
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
