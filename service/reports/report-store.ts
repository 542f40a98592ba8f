import type { Database } from '../db/database.ts'

/** A reconciliation of one day and destination, as it lies in the store. */
export interface StoredReport {
  id: number
  destinationId: string
  reportDate: string
  acceptedCount: number
  metaCount: number
  eventCounts: { accepted: Record<string, number>; meta: Record<string, number> }
  buckets: Record<string, { count: number; basis: string; explanation: string }>
  unexplainedResidual: number
  status: string
  createdAt: Date
  updatedAt: Date
  /** When it was last tried to make it; later than `updatedAt` when that failed. */
  triedAt: Date
  /** Why the last try gave no counts, for a person; null when it did. */
  trouble: string | null
}

/** The reports of a UTC day (YYYY-MM-DD), by destination. */
export async function findReports(
  { pool }: Database,
  trackerId: string,
  day: string,
): Promise<StoredReport[]> {
  const { rows } = await pool.query({
    name: 'find-reports',
    text: `select * from reconciliation_reports
           where tracker_id = $1::uuid and report_date = $2::date order by destination_id`,
    values: [trackerId, day],
  })
  return rows.map(row => ({
    id: row.id,
    destinationId: row.destination_id,
    reportDate: row.report_date,
    acceptedCount: row.accepted_count,
    metaCount: row.meta_count,
    eventCounts: row.event_counts,
    buckets: row.buckets,
    unexplainedResidual: row.unexplained_residual,
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    triedAt: row.tried_at,
    trouble: row.trouble,
  }))
}

/** Match quality of one day and destination. */
export interface StoredSnapshot {
  id: number
  destinationId: string
  /** Decimal text. */
  score: string
  weekOverWeekChange: string | null
  alerted: boolean
  platformResponse: Record<string, unknown> | null
  measuredAt: Date
  createdAt: Date
  updatedAt: Date
}

/** Snapshots that one read shows: a quarter of a year for a few destinations. */
const SNAPSHOTS_MAX = 500

/** Answers of the platform that one read shows: the newest whole, beyond that only the scores. */
const ANSWER_BYTES_MAX = 8_000_000

/** The newest snapshots first. */
export async function findSnapshots(
  { pool }: Database,
  trackerId: string,
): Promise<StoredSnapshot[]> {
  const { rows } = await pool.query({
    name: 'find-snapshots',
    text: `select id, destination_id, score, week_over_week_change, alerted, measured_at,
             created_at, updated_at, case
               when sum(octet_length(platform_response::text)) over (
                 order by measured_on desc, destination_id rows unbounded preceding
               ) <= ${ANSWER_BYTES_MAX} then platform_response
             end as platform_response
           from (
             select * from emq_snapshots where tracker_id = $1::uuid
             order by measured_on desc, destination_id limit ${SNAPSHOTS_MAX}
           ) newest
           order by measured_on desc, destination_id`,
    values: [trackerId],
  })
  return rows.map(row => ({
    id: row.id,
    destinationId: row.destination_id,
    score: row.score,
    weekOverWeekChange: row.week_over_week_change,
    alerted: row.alerted,
    platformResponse: row.platform_response,
    measuredAt: row.measured_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }))
}
