import type { Database } from '../db/database.ts'
import { deleteByTracker, type TrackerBatch } from '../db/tracker-sharding.ts'

/** A reconciliation of one day and destination, as it lies in the store. */
export interface StoredReport {
  id: number
  destinationId: string
  reportDate: string
  acceptedCount: number
  platformCount: number
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
    platformCount: row.meta_count,
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

/** Rows that one call deletes at most. */
export const EXPIRY_BATCH_REPORTS = 1_000

/** What is expired by its day: table and column. Few rows: one a day and destination. */
const DAILY_TABLES = [
  ['reconciliation_reports', 'report_date'],
  ['emq_snapshots', 'measured_on'],
] as const

type DailyTable = (typeof DAILY_TABLES)[number]

/**
 * Deletes a batch of reports and snapshots of days before `computeRetentionCutoff`, tracker by
 * tracker. Returns how many rows.
 */
export async function deleteReports(database: Database, cutoffDay: string): Promise<number> {
  let total = 0
  for (const table of DAILY_TABLES) {
    const trackers = await findTrackersOfReports(database, table, cutoffDay)
    total += await deleteByTracker(trackers, EXPIRY_BATCH_REPORTS, batch =>
      deleteReportsOf(database, table, { ...batch, cutoffDay }),
    )
  }
  return total
}

/** A look into an index for each destination; a report belongs to one. */
async function findTrackersOfReports(
  { pool }: Database,
  [table, day]: DailyTable,
  cutoffDay: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    text: `select distinct destination.tracker_id from destinations destination
           cross join lateral (
             select 1 from ${table} report
             where report.tracker_id = destination.tracker_id and report.${day} < $1::date
             limit 1
           ) old
           order by destination.tracker_id limit ${EXPIRY_BATCH_REPORTS}`,
    values: [cutoffDay],
  })
  return rows.map(row => row.tracker_id)
}

async function deleteReportsOf(
  { pool }: Database,
  [table, day]: DailyTable,
  { trackerId, cutoffDay, limit }: TrackerBatch & { cutoffDay: string },
): Promise<number> {
  const { rows } = await pool.query({
    text: `delete from ${table} where tracker_id = $1::uuid and ctid = any(array(
             select ctid from ${table}
             where tracker_id = $1::uuid and ${day} < $2::date
             limit $3::integer for update skip locked
           ))
           returning tracker_id`,
    values: [trackerId, cutoffDay, limit],
  })
  return rows.length
}

/**
 * Deletes a batch of alerts that were resolved before `computeRetentionCutoff`, tracker by tracker;
 * open ones stay. Returns how many.
 */
export async function deleteResolvedAlerts(database: Database, cutoffDay: string): Promise<number> {
  const trackers = await findTrackersOfResolvedAlerts(database, cutoffDay)
  return deleteByTracker(trackers, EXPIRY_BATCH_REPORTS, batch =>
    deleteResolvedAlertsOf(database, { ...batch, cutoffDay }),
  )
}

/** Reads the whole table, which is small: an alert is one trouble of one destination. */
async function findTrackersOfResolvedAlerts(
  { pool }: Database,
  cutoffDay: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    text: `select distinct tracker_id from alerts
           where resolved_at < $1::date::timestamp at time zone 'UTC'
           order by tracker_id limit ${EXPIRY_BATCH_REPORTS}`,
    values: [cutoffDay],
  })
  return rows.map(row => row.tracker_id)
}

async function deleteResolvedAlertsOf(
  { pool }: Database,
  { trackerId, cutoffDay, limit }: TrackerBatch & { cutoffDay: string },
): Promise<number> {
  const { rows } = await pool.query({
    text: `delete from alerts where tracker_id = $1::uuid and ctid = any(array(
             select ctid from alerts
             where tracker_id = $1::uuid
               and resolved_at < $2::date::timestamp at time zone 'UTC'
             limit $3::integer for update skip locked
           ))
           returning tracker_id`,
    values: [trackerId, cutoffDay, limit],
  })
  return rows.length
}
