/** A moment as a person reads it, to the minute and in UTC, the same for all who look at it. */
export function momentText(moment: Date): string {
  return `${FORMAT.format(moment)} UTC`
}

const FORMAT = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** How long something is still open, and until when. */
export function expiryText(expiresAt: Date, now: Date): string {
  const seconds = Math.floor((expiresAt.getTime() - now.getTime()) / 1_000)
  if (seconds <= 0) return `Out of time since ${momentText(expiresAt)}`
  return `${spanText(seconds)} left, until ${momentText(expiresAt)}`
}

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

/** Rounded down, so that nobody counts on time that is not there. */
function spanText(seconds: number): string {
  if (seconds >= 2 * DAY) return `${Math.floor(seconds / DAY)} days`
  if (seconds >= 2 * HOUR) return `${Math.floor(seconds / HOUR)} hours`
  if (seconds >= 2 * MINUTE) return `${Math.floor(seconds / MINUTE)} minutes`
  return 'Less than two minutes'
}
