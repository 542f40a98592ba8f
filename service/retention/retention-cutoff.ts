import { formatUtcDay } from '../util/calendar-day.ts'

/** How long something is kept. A month ends on the same day of the month, or on its last. */
export type RetentionPeriod = { days: number } | { months: number }

const DAY_MILLISECONDS = 86_400_000

/**
 * The first UTC day (YYYY-MM-DD) that is still kept; what is of a day before it goes. Days are
 * counted whole: what came on day D is there during all of D + 90 and goes with the day after it.
 */
export function computeRetentionCutoff(now: Date, retention: RetentionPeriod): string {
  if ('days' in retention)
    return formatUtcDay(new Date(now.getTime() - retention.days * DAY_MILLISECONDS))
  const year = now.getUTCFullYear()
  const month = now.getUTCMonth() - retention.months
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return formatUtcDay(new Date(Date.UTC(year, month, Math.min(now.getUTCDate(), lastOfMonth))))
}
