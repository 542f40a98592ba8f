import type pg from 'pg'
import type { Database } from '../service/db/database.ts'
import { sharedCluster } from './citus/cluster.ts'
import { eventually } from './program-under-test.ts'

/**
 * Does all of it truly at once: rows of this table are held until every act has come to wait for
 * one, so that none that writes there is over before the last has begun. An act that finds nothing
 * to do any more, because another took it before the rows, ends without waiting.
 */
export async function atOnce<T>(
  { pool }: Pick<Database, 'pool'>,
  table: string,
  acts: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const holder = await pool.connect()
  try {
    await holder.query('begin')
    await holdRows(holder, table)
    let ended = 0
    const results = Promise.all(acts.map(act => act().finally(() => (ended += 1))))
    await eventually('all of them wait or have ended', async () => {
      return (await countWaiting({ pool })) + ended >= acts.length
    })
    await holder.query('commit')
    return await results
  } finally {
    holder.release(true)
  }
}

/** Citus locks rows of one tracker at a time, and each with what it was told. */
async function holdRows(holder: pg.PoolClient, table: string): Promise<void> {
  if (!sharedCluster()) {
    await holder.query(`select from ${table} for update`)
    return
  }
  const { rows } = await holder.query(`select distinct tracker_id from ${table}`)
  for (const { tracker_id } of rows) {
    await holder.query(`select 1 from ${table} where tracker_id = $1::uuid for update`, [
      tracker_id,
    ])
  }
}

/** Statements on this database that wait for a lock, on whichever node they do. */
export async function countWaiting({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const activity = sharedCluster() ? 'citus_stat_activity' : 'pg_stat_activity'
  const { rows } = await pool.query(
    `select count(*) as waiting from ${activity}
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0].waiting
}
