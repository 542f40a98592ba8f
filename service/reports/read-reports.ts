import type { EmqSnapshot, ReconciliationReport } from '@signalbox/contract/reports.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { findDestination } from '../delivery/destination-store.ts'
import { Refusal } from '../http/refusal.ts'
import { isDay } from './calendar-day.ts'
import { findReports, findSnapshots } from './report-store.ts'
import { reportView, snapshotView } from './report-view.ts'

export interface ReconciliationRequest {
  tracker: TrackerIdentity
  /** As it came in the query. */
  date: unknown
  at: Date
}

/** getReconciliationReport: empty before the day's reports are made. */
export async function readReconciliation(
  database: Database,
  { tracker: { trackerId, workspaceId }, date, at }: ReconciliationRequest,
): Promise<{ date: string; reports: ReconciliationReport[] }> {
  const day = requireDay(date)
  const reports: ReconciliationReport[] = []
  for (const report of await findReports(database, trackerId, day)) {
    const destination = await findDestination(database, trackerId, report.destinationId)
    if (!destination) continue
    reports.push(reportView(report, destination, { workspaceId, signalTrackerId: trackerId, at }))
  }
  return { date: day, reports }
}

/** getEmqReport: the newest snapshots first. */
export async function readSnapshots(
  database: Database,
  { trackerId, workspaceId }: TrackerIdentity,
): Promise<{ snapshots: EmqSnapshot[] }> {
  const snapshots = await findSnapshots(database, trackerId)
  const owner = { workspaceId, signalTrackerId: trackerId }
  return { snapshots: snapshots.map(snapshot => snapshotView(snapshot, owner)) }
}

/** A day of the calendar as YYYY-MM-DD; throws a 422 refusal for anything else. */
function requireDay(date: unknown): string {
  if (date === undefined) throw wrongDate('is required')
  if (typeof date !== 'string' || !isDay(date)) {
    throw wrongDate('must be a day of the calendar, such as 2026-11-20')
  }
  return date
}

function wrongDate(rule: string): Refusal {
  return Refusal.ofFields({ date: [`The date field ${rule}.`] })
}
