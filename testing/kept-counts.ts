import assert from 'node:assert/strict'
import type { Database } from '../service/db/database.ts'

/** Fails when the kept counts say anything else than what is there. */
export async function assertKeptCounts({ pool }: Database): Promise<void> {
  const { rows } = await pool.query(
    `select (select count(*) from events) = (select sum(events) from event_counts) as events,
       (select count(*) from all_deliveries where not is_test and status not like 'skipped:%')
         = (select coalesce(sum(planned), 0) from delivery_counts) as planned`,
  )
  assert.deepEqual(rows, [{ events: true, planned: true }])
}
