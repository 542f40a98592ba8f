const HOUR_MILLISECONDS = 3_600_000
/** No day is that long, whatever its time zone does to its clocks. */
const DAY_HOURS_MAX = 48

/**
 * The moment at which the day of `at` begins in an IANA time zone. It is found by looking at the
 * clock of that place and not by counting hours, because a day there may have 23, 24 or 25 of them,
 * and may begin at one o'clock where midnight is left out.
 */
export function accountDayStart(at: Date, timeZone: string): Date {
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
