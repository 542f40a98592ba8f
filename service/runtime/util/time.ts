export const MINUTE_SECONDS = 60
export const HOUR_SECONDS = 3_600
export const DAY_SECONDS = 86_400
export const HOUR_MILLISECONDS = 3_600_000
export const DAY_MILLISECONDS = 86_400_000

/** The UTC day of a time, as YYYY-MM-DD. */
export function formatUtcDay(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** Whether the text is a calendar day as YYYY-MM-DD. PostgreSQL has no year 0. */
export function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  // A date that does not exist rolls over in JavaScript.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** The UTC day as a range that includes `from` and excludes `until`. */
export function toDaySpan(day: string): { from: Date; until: Date } {
  return { from: addHoursToDay(day, 0), until: addHoursToDay(day, 24) }
}

/** The time `hours` hours after the start of the UTC day. */
export function addHoursToDay(day: string, hours: number): Date {
  return new Date(Date.parse(`${day}T00:00:00Z`) + hours * HOUR_MILLISECONDS)
}

/** The UTC day that is `days` days before the one of `time`. */
export function subtractDays(time: Date, days: number): string {
  return formatUtcDay(new Date(time.getTime() - days * DAY_MILLISECONDS))
}

/** Formats a time for people, in UTC: `24 Nov 2026, 12:00 UTC`. */
export function formatDateTime(moment: Date): string {
  return `${DATE_TIME_FORMAT.format(moment)} UTC`
}

const DATE_TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** Formats a day for people, in UTC: `24 Nov 2026`. */
export function formatDate(moment: Date): string {
  return DATE_FORMAT.format(moment)
}

const DATE_FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/** Formats a time for a terminal, in UTC: `2026-11-21 12:00`. */
export function formatIsoMinute(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ')
}

/**
 * Seconds of a clock that never goes backward. Only the difference between two readings on one
 * machine is meaningful. All threads of a process read the same clock, whereas `performance.now()`
 * starts at zero in each thread.
 */
export function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds + nanoseconds / 1e9
}
