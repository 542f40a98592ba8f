import { deleteByTracker, type TrackerBatch } from '../db/by-tracker.ts'
import type { Database } from '../db/database.ts'

/** Rows that one call deletes at most. */
export const EXPIRED_REPORTS = 1_000

/** What is expired by its day: table and column. Few rows: one a day and destination. */
const DAILY = [
  ['reconciliation_reports', 'report_date'],
  ['emq_snapshots', 'measured_on'],
] as const

type DailyTable = (typeof DAILY)[number]

/**
 * Deletes a batch of reports and snapshots of days before `keptSince`, tracker by tracker. Returns
 * how many rows.
 */
export async function deleteReports(database: Database, keptSince: string): Promise<number> {
  let total = 0
  for (const table of DAILY) {
    const trackers = await findTrackersOfReports(database, table, keptSince)
    total += await deleteByTracker(trackers, EXPIRED_REPORTS, batch =>
      deleteReportsOf(database, table, { ...batch, keptSince }),
    )
  }
  return total
}

/** A look into an index for each destination; a report belongs to one. */
async function findTrackersOfReports(
  { pool }: Database,
  [table, day]: DailyTable,
  keptSince: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    text: `select distinct destination.tracker_id from destinations destination
           cross join lateral (
             select 1 from ${table} report
             where report.tracker_id = destination.tracker_id and report.${day} < $1::date
             limit 1
           ) old
           order by destination.tracker_id limit ${EXPIRED_REPORTS}`,
    values: [keptSince],
  })
  return rows.map(row => row.tracker_id)
}

async function deleteReportsOf(
  { pool }: Database,
  [table, day]: DailyTable,
  { trackerId, keptSince, limit }: TrackerBatch & { keptSince: string },
): Promise<number> {
  const { rows } = await pool.query({
    text: `delete from ${table} where tracker_id = $1::uuid and ctid = any(array(
             select ctid from ${table}
             where tracker_id = $1::uuid and ${day} < $2::date
             limit $3::integer for update skip locked
           ))
           returning tracker_id`,
    values: [trackerId, keptSince, limit],
  })
  return rows.length
}

/**
 * Deletes a batch of alerts that were resolved before `keptSince`, tracker by tracker; open ones
 * stay. Returns how many.
 */
export async function deleteResolvedAlerts(database: Database, keptSince: string): Promise<number> {
  const trackers = await findTrackersOfResolvedAlerts(database, keptSince)
  return deleteByTracker(trackers, EXPIRED_REPORTS, batch =>
    deleteResolvedAlertsOf(database, { ...batch, keptSince }),
  )
}

/** Reads the whole table, which is small: an alert is one trouble of one destination. */
async function findTrackersOfResolvedAlerts(
  { pool }: Database,
  keptSince: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    text: `select distinct tracker_id from alerts
           where resolved_at < $1::date::timestamp at time zone 'UTC'
           order by tracker_id limit ${EXPIRED_REPORTS}`,
    values: [keptSince],
  })
  return rows.map(row => row.tracker_id)
}

async function deleteResolvedAlertsOf(
  { pool }: Database,
  { trackerId, keptSince, limit }: TrackerBatch & { keptSince: string },
): Promise<number> {
  const { rows } = await pool.query({
    text: `delete from alerts where tracker_id = $1::uuid and ctid = any(array(
             select ctid from alerts
             where tracker_id = $1::uuid
               and resolved_at < $2::date::timestamp at time zone 'UTC'
             limit $3::integer for update skip locked
           ))
           returning tracker_id`,
    values: [trackerId, keptSince, limit],
  })
  return rows.length
}
