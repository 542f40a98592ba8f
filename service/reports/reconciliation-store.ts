import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'
import { type Destination, destinationOf } from '../delivery/destination-store.ts'
import type { DayReconciliation } from './reconcile-day.ts'
import type { ReportAttempt } from './report-schedule.ts'

export interface DestinationKey {
  trackerId: string
  id: string
}

export interface DestinationPage {
  /** Only what has sent anything on this UTC day or after it. */
  sentSince: string
  /** Null begins at the first. */
  after: DestinationKey | null
  limit: number
}

/** A page of the destinations to which anything was sent lately, of all trackers, in order. */
export async function findActiveDestinations(
  { pool }: Database,
  { sentSince, after, limit }: DestinationPage,
): Promise<Destination[]> {
  const { rows } = await pool.query({
    name: 'find-senders',
    text: `select destinations.* from destinations
           where ($2::uuid is null or (tracker_id, id) > ($2::uuid, $3::uuid))
             and exists (
               select 1 from sent_counts
               where sent_counts.tracker_id = destinations.tracker_id
                 and sent_counts.destination_id = destinations.id and sent_on >= $1::date
             )
           order by tracker_id, id limit $4::integer`,
    values: [sentSince, after?.trackerId ?? null, after?.id ?? null, limit],
  })
  return rows.map(destinationOf)
}

/** The reports of these trackers since a UTC day, by destination and day (`reportAttemptKey`). */
export async function findReportAttempts(
  { pool }: Database,
  trackerIds: readonly string[],
  since: string,
): Promise<Map<string, ReportAttempt>> {
  const { rows } = await pool.query({
    name: 'find-trials',
    text: `select tracker_id, destination_id, report_date, status, updated_at, tried_at
           from reconciliation_reports
           where tracker_id = any($1::uuid[]) and report_date >= $2::date`,
    values: [arrayLiteral(trackerIds), since],
  })
  return new Map(
    rows.map(row => [
      reportAttemptKey({ trackerId: row.tracker_id, id: row.destination_id }, row.report_date),
      { status: row.status, updatedAt: row.updated_at, triedAt: row.tried_at },
    ]),
  )
}

export function reportAttemptKey({ trackerId, id }: DestinationKey, day: string): string {
  return `${trackerId} ${id} ${day}`
}

export interface DestinationDay {
  trackerId: string
  destinationId: string
  day: string
}

/** The event counts of the last reports before a day, the newest first. */
export async function findEarlierCounts(
  { pool }: Database,
  { trackerId, destinationId, day }: DestinationDay,
  limit: number,
): Promise<DayReconciliation['eventCounts'][]> {
  const { rows } = await pool.query({
    name: 'find-earlier-counts',
    text: `select event_counts from reconciliation_reports
           where tracker_id = $1::uuid and destination_id = $2::uuid and report_date < $3::date
           order by report_date desc limit $4::integer`,
    values: [trackerId, destinationId, day, limit],
  })
  return rows.map(row => row.event_counts)
}

export interface NewReport extends DestinationDay {
  reconciliation: DayReconciliation
  /** When the making began; a report that began later is not overwritten. */
  madeAt: Date
}

/** The next id of a tracker is one more than its last, which another process may just be taking. */
const TRIES_MAX = 10
const UNIQUE_VIOLATION = '23505'

/**
 * Keeps a report, in place of the one that there was. One with counts is not replaced by one
 * without: then only the time of the try is kept, and why it gave none.
 */
export async function saveReport({ pool }: Database, report: NewReport): Promise<void> {
  const { trackerId, destinationId, day, reconciliation, madeAt } = report
  const values = [
    trackerId,
    destinationId,
    day,
    madeAt,
    reconciliation.acceptedCount,
    reconciliation.platformCount,
    JSON.stringify(reconciliation.eventCounts),
    JSON.stringify(reconciliation.buckets),
    reconciliation.unexplainedResidual,
    reconciliation.status,
    reconciliation.status === 'unavailable' ? reconciliation.buckets.pending.explanation : null,
  ]
  for (let tries = 1; ; tries += 1) {
    try {
      await pool.query({ name: 'keep-report', text: SAVE_REPORT, values })
      return
    } catch (error) {
      if (tries === TRIES_MAX || !isTakenId(error)) throw error
    }
  }
}

/** The statement settles a conflict of day and destination itself; the id is all that is left. */
function isTakenId(error: unknown): boolean {
  return (error as { code?: unknown }).code === UNIQUE_VIOLATION
}

const PRESERVED_COLUMNS = [
  'accepted_count',
  'meta_count',
  'event_counts',
  'buckets',
  'unexplained_residual',
  'status',
  'updated_at',
]

const IS_PRESERVED = `excluded.status = 'unavailable' and report.status <> 'unavailable'`

/** No parameter after `on conflict`: Citus cannot tell the type of those before it then. */
const SAVE_REPORT = `
  insert into reconciliation_reports as report
    (tracker_id, id, destination_id, report_date, created_at, updated_at, tried_at,
     accepted_count, meta_count, event_counts, buckets, unexplained_residual, status,
     trouble)
  select $1::uuid, coalesce(max(id), 0) + 1, $2::uuid, $3::date, $4::timestamptz,
    $4::timestamptz, $4::timestamptz, $5::integer, $6::integer, $7::json, $8::json, $9::integer,
    $10::text, $11::text
  from reconciliation_reports where tracker_id = $1::uuid
  on conflict (tracker_id, report_date, destination_id) do update set
    tried_at = excluded.tried_at,
    trouble = excluded.trouble,
    ${PRESERVED_COLUMNS.map(preserveColumn).join(',\n    ')}
  where report.tried_at <= excluded.tried_at`

function preserveColumn(column: string): string {
  return `${column} = case when ${IS_PRESERVED} then report.${column} else excluded.${column} end`
}
