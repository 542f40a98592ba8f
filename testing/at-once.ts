import type { Database } from '../service/db/database.ts'
import { eventually } from './program-under-test.ts'

/**
 * Does all of it truly at once: rows of this table are held until every act has come to wait for
 * one, so that none can be over before the last has begun.
 */
export async function atOnce<T>(
  { pool }: Pick<Database, 'pool'>,
  table: string,
  acts: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const holder = await pool.connect()
  try {
    await holder.query('begin')
    await holder.query(`select from ${table} for update`)
    const results = Promise.all(acts.map(act => act()))
    await eventually('all of them wait', async () => {
      const { rows } = await pool.query(
        `select count(*) as waiting from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows[0].waiting >= acts.length
    })
    await holder.query('commit')
    return await results
  } finally {
    holder.release(true)
  }
}
