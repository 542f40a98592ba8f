import { findDestination, findDestinationRoutes } from '../delivery/destination-store.ts'
import { daySpan, isDay } from './calendar-day.ts'
import { makeReport, type ReportContext } from './make-report.ts'

export interface ReportToRefresh {
  trackerId: string
  /** UTC day, YYYY-MM-DD. */
  date: string
}

export type RefreshedReports =
  | { kind: 'made'; made: number; unavailable: number }
  /** There is no such day, or it has not ended. */
  | { kind: 'no_ended_day' }

/** Makes the reports of a tracker's day now, due or not: one for each of its destinations. */
export async function refreshReport(
  context: ReportContext,
  { trackerId, date }: ReportToRefresh,
): Promise<RefreshedReports> {
  const { database, now } = context
  if (!isDay(date) || now() < daySpan(date).until) return { kind: 'no_ended_day' }
  const refreshed = { kind: 'made' as const, made: 0, unavailable: 0 }
  for (const { id } of await findDestinationRoutes(database, trackerId, now())) {
    const destination = await findDestination(database, trackerId, id)
    if (!destination) continue
    const { status } = await makeReport(context, destination, date)
    refreshed[status === 'unavailable' ? 'unavailable' : 'made'] += 1
  }
  return refreshed
}
