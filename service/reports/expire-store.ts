import type { Database } from '../db/database.ts'

/** Rows that one statement deletes at most. */
export const EXPIRED_REPORTS = 1_000

/** What is expired by its day: table and column. Few rows: one a day and destination. */
const DAILY = [
  ['reconciliation_reports', 'report_date'],
  ['emq_snapshots', 'measured_on'],
] as const

/** Deletes a batch of reports and snapshots of days before `keptSince`. Returns how many rows. */
export async function deleteReports({ pool }: Database, keptSince: string): Promise<number> {
  let deleted = 0
  for (const [table, day] of DAILY) {
    const { rowCount } = await pool.query(
      `delete from ${table} where ctid = any(array(
         select old.ctid
         from trackers
         cross join lateral (
           select ctid from ${table}
           where ${table}.tracker_id = trackers.id and ${day} < $1::date
           limit ${EXPIRED_REPORTS} for update skip locked
         ) old
         limit ${EXPIRED_REPORTS}
       ))`,
      [keptSince],
    )
    deleted += rowCount ?? 0
  }
  return deleted
}

/** Deletes a batch of alerts that were resolved before `keptSince`; open ones stay. */
export async function deleteResolvedAlerts({ pool }: Database, keptSince: string): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from alerts where ctid = any(array(
       select ctid from alerts where resolved_at < $1::date::timestamp at time zone 'UTC'
       limit ${EXPIRED_REPORTS} for update skip locked
     ))`,
    [keptSince],
  )
  return rowCount ?? 0
}
