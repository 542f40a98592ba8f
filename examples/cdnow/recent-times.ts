import type { Purchase } from './read-purchases.ts'

const DAY_SECONDS = 86_400

/** The platform takes events of the last seven days; one day is left for sending them. */
const SPAN_DAYS = 6

/**
 * Moves the purchases of 1997 and 1998 into the six days before `now`. A day of the sample becomes
 * an equal stretch of a quarter of an hour, so an earlier day stays earlier, and the orders of one
 * day, which the sample does not order either, stay together.
 */
export function recentTimes(
  purchases: readonly Purchase[],
  now: Date,
): (purchase: Purchase) => Date {
  const days = purchases.map(dayOf)
  const first = days.reduce((earliest, day) => Math.min(earliest, day), Number.POSITIVE_INFINITY)
  const last = days.reduce((latest, day) => Math.max(latest, day), Number.NEGATIVE_INFINITY)
  const stretchSeconds = Math.floor((SPAN_DAYS * DAY_SECONDS) / (last - first + 1))
  if (stretchSeconds < 1)
    throw new RangeError('The purchases span more days than can be told apart.')

  const startSeconds = Math.floor(now.getTime() / 1_000) - SPAN_DAYS * DAY_SECONDS
  return purchase => new Date((startSeconds + (dayOf(purchase) - first) * stretchSeconds) * 1_000)
}

/** Days since 1970. */
function dayOf({ date }: Purchase): number {
  return Date.parse(`${date}T00:00:00Z`) / (DAY_SECONDS * 1_000)
}
