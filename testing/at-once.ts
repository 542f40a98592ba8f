import type { Database } from '../service/db/database.ts'
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
    await holder.query(`select from ${table} for update`)
    let ended = 0
    const results = Promise.all(acts.map(act => act().finally(() => (ended += 1))))
    await eventually('all of them wait or have ended', async () => {
      const { rows } = await pool.query(
        `select count(*) as waiting from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows[0].waiting + ended >= acts.length
    })
    await holder.query('commit')
    return await results
  } finally {
    holder.release(true)
  }
}
