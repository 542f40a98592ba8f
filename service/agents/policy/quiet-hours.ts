import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'

export type QuietHours = NonNullable<PolicyLimits['quiet_hours']>

/**
 * Whether the clock of a place stands within quiet hours: from their first minute until the first
 * one after, over midnight where `until` is the earlier one. Two equal minutes are the whole day.
 */
export function isQuiet({ from, until }: QuietHours, at: Date, timeZone: string): boolean {
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
