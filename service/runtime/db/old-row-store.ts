import { type Database, deleteByTracker, isCitusCluster } from './database.ts'

/** Tables of counts whose primary key begins with the tracker and a time. */
interface AgedTable {
  table: 'refusals' | 'stage_counts' | 'delivery_issues'
  column: 'hour' | 'day'
}

const OLD_ROWS_MAX = 1_000

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
  const trackerIds = await findTrackersWithRows(database, {
    ...{ table, condition: `${column} < ${cutoff}`, values: [value], limit: OLD_ROWS_MAX },
  })
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

interface TrackersWithRows {
  /** Its rows have a `tracker_id`, and an index begins with it and the columns of the condition. */
  table: string
  /** SQL, with `$1` and so on for the values. */
  condition: string
  values: readonly unknown[]
  limit?: number
}

/**
 * The trackers that have such rows, by one index lookup per tracker. Citus accepts no limit in the
 * lookup, so on a cluster PostgreSQL 15 reads all such rows.
 */
export async function findTrackersWithRows(
  database: Database,
  { table, condition, values, limit }: TrackersWithRows,
): Promise<string[]> {
  const isCluster = await isCitusCluster(database)
  const { rows } = await database.pool.query(
    `select trackers.id from trackers
     cross join lateral (
       select ${isCluster ? 'distinct' : ''} tracker_id from ${table}
       where tracker_id = trackers.id and ${condition}
       ${isCluster ? '' : 'limit 1'}
     ) expired
     order by trackers.id ${limit === undefined ? '' : `limit ${limit}`}`,
    [...values],
  )
  return rows.map(({ id }) => id)
}
