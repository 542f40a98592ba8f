import { formatUtcDay, subtractDays } from '../../runtime/util/time.ts'

/** How long data is kept. A month ends on the same day of the month, or on its last day. */
export type RetentionPeriod = { days: number } | { months: number }

/**
 * The first UTC day (YYYY-MM-DD) to keep; data of earlier days expires. Days count whole: with 90
 * days, data received on day D is kept through D + 90 and expires on the day after.
 */
export function computeRetentionCutoff(now: Date, period: RetentionPeriod): string {
  if ('days' in period) return subtractDays(now, period.days)
  const year = now.getUTCFullYear()
  const month = now.getUTCMonth() - period.months
  const lastDayOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return formatUtcDay(new Date(Date.UTC(year, month, Math.min(now.getUTCDate(), lastDayOfMonth))))
}
