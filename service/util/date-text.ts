/** A moment as a person reads it, to the minute and in UTC, the same for all who look at it. */
export function formatDateTime(moment: Date): string {
  return `${DATE_TIME_FORMAT.format(moment)} UTC`
}

const DATE_TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** How long something is still open, and until when. */
export function formatTimeLeft(expiresAt: Date, now: Date): string {
  const seconds = Math.floor((expiresAt.getTime() - now.getTime()) / 1_000)
  if (seconds <= 0) return `Out of time since ${formatDateTime(expiresAt)}`
  return `${formatDuration(seconds)} left, until ${formatDateTime(expiresAt)}`
}

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

/** Rounded down, so that nobody counts on time that is not there. */
function formatDuration(seconds: number): string {
  if (seconds >= 2 * DAY) return `${Math.floor(seconds / DAY)} days`
  if (seconds >= 2 * HOUR) return `${Math.floor(seconds / HOUR)} hours`
  if (seconds >= 2 * MINUTE) return `${Math.floor(seconds / MINUTE)} minutes`
  return 'Less than two minutes'
}

/** A day as a person reads it, in UTC, so that it is the same for all who look at it. */
export function formatDate(moment: Date): string {
  return DATE_FORMAT.format(moment)
}

const DATE_FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/** A moment as people read it in a terminal: `2026-11-21 12:00`, in UTC and without its seconds. */
export function formatIsoMinute(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ')
}
