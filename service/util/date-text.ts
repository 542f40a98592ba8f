/** Formats a time for people, in UTC: `24 Nov 2026, 12:00 UTC`. */
export function formatDateTime(moment: Date): string {
  return `${DATE_TIME_FORMAT.format(moment)} UTC`
}

const DATE_TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** Formats the time left until something expires. */
export function formatTimeLeft(expiresAt: Date, now: Date): string {
  const seconds = Math.floor((expiresAt.getTime() - now.getTime()) / 1_000)
  if (seconds <= 0) return `Expired ${formatDateTime(expiresAt)}`
  return `${formatDuration(seconds)} left, until ${formatDateTime(expiresAt)}`
}

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

/** Rounds down, so that the text never promises too much time. */
function formatDuration(seconds: number): string {
  if (seconds >= 2 * DAY) return `${Math.floor(seconds / DAY)} days`
  if (seconds >= 2 * HOUR) return `${Math.floor(seconds / HOUR)} hours`
  if (seconds >= 2 * MINUTE) return `${Math.floor(seconds / MINUTE)} minutes`
  return 'Less than two minutes'
}

/** Formats a day for people, in UTC: `24 Nov 2026`. */
export function formatDate(moment: Date): string {
  return DATE_FORMAT.format(moment)
}

const DATE_FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/** Formats a time for a terminal, in UTC: `2026-11-21 12:00`. */
export function formatIsoMinute(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ')
}
