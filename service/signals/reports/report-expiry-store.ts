import { type Database, deleteByTracker, type TrackerBatch } from '../../runtime/db/database.ts'

/** The most rows that one call deletes. */
export const EXPIRY_BATCH_REPORTS = 1_000

/** Tables that expire by day, with the column of the day. One row per day and destination. */
const DAILY_TABLES = [
  ['reconciliation_reports', 'report_date'],
  ['emq_snapshots', 'measured_on'],
  ['event_flow_days', 'received_on'],
] as const

type DailyTable = (typeof DAILY_TABLES)[number]

/**
 * Deletes a batch of reports and snapshots from before the cutoff day, tracker by tracker. Returns
 * the number of rows.
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

/** One index lookup per destination. */
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
           ) expired
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
 * Deletes a batch of alerts that were resolved before the cutoff day, tracker by tracker; open
 * alerts stay. Returns the number of rows.
 */
export async function deleteResolvedAlerts(database: Database, cutoffDay: string): Promise<number> {
  const trackers = await findTrackersOfResolvedAlerts(database, cutoffDay)
  return deleteByTracker(trackers, EXPIRY_BATCH_REPORTS, batch =>
    deleteResolvedAlertsOf(database, { ...batch, cutoffDay }),
  )
}

/** Reads the whole table, which is small: one row per problem of a destination. */
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
