import { type Database, deleteByTracker } from './database.ts'

/** Tables of counts whose primary key begins with the tracker and a time. */
interface AgedTable {
  table: 'refusals' | 'stage_counts' | 'delivery_issues'
  column: 'hour' | 'day'
}

export const OLD_ROWS_MAX = 1_000

/**
 * Deletes a batch of rows from before a time: one index lookup per tracker, and a thousand rows at
 * most. Locked rows are left to the next batch. Returns how many.
 */
export async function deleteOldRows(
  database: Database,
  { table, column, before }: AgedTable & { before: Date },
): Promise<number> {
  const cutoff = column === 'day' ? '$1::date' : '$1::timestamptz'
  const value = column === 'day' ? before.toISOString().slice(0, 10) : before
  const { rows } = await database.pool.query({
    text: `select trackers.id from trackers cross join lateral (
             select 1 from ${table}
             where tracker_id = trackers.id and ${column} < ${cutoff} limit 1
           ) expired
           order by trackers.id limit ${OLD_ROWS_MAX}`,
    values: [value],
  })
  const trackerIds = rows.map(({ id }) => id)
  return deleteByTracker(trackerIds, OLD_ROWS_MAX, async ({ trackerId, limit }) => {
    const deleted = await database.pool.query({
      text: `delete from ${table} where tracker_id = $2::uuid and ctid = any(array(
               select ctid from ${table}
               where tracker_id = $2::uuid and ${column} < ${cutoff}
               order by ${column} limit $3::integer for update skip locked
             ))
             returning tracker_id`,
      values: [value, trackerId, limit],
    })
    return deleted.rows.length
  })
}
