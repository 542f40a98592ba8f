import type { Database } from '../../db/database.ts'
import { arrayLiteral } from '../../db/row-arrays.ts'

/** What both sides counted on one UTC day for one destination, by event name. */
export interface ReportedDay {
  destinationId: string
  day: string
  platform: Record<string, number>
  ours: Record<string, number>
}

export interface ReportedSpan {
  /** Pairs of the same length: whose destination. */
  trackerIds: readonly string[]
  destinationIds: readonly string[]
  /** UTC days, YYYY-MM-DD; both belong to the span. */
  since: string
  until: string
}

/**
 * The days of which the platform gave its counts. The counts are taken apart here, not in SQL,
 * which stumbles over an escaped NUL in a name.
 */
export async function findReportedDays(
  { pool }: Database,
  { trackerIds, destinationIds, since, until }: ReportedSpan,
): Promise<ReportedDay[]> {
  const { rows } = await pool.query({
    name: 'find-reported-days',
    text: `select report.destination_id, report.report_date, report.event_counts
           from unnest($1::uuid[], $2::uuid[]) lane(tracker_id, destination_id)
           cross join lateral (
             select * from reconciliation_reports
             where reconciliation_reports.tracker_id = lane.tracker_id
               and reconciliation_reports.destination_id = lane.destination_id
               and report_date between $3::date and $4::date and status <> 'unavailable'
           ) report`,
    values: [arrayLiteral(trackerIds), arrayLiteral(destinationIds), since, until],
  })
  return rows.map(row => ({
    destinationId: row.destination_id,
    day: row.report_date,
    platform: row.event_counts.meta,
    ours: row.event_counts.accepted,
  }))
}
