import type { Database } from '../db/database.ts'

/** Counts `count` delivery ids of a tracker as taken, and returns the last of them. */
export async function reserveIds(
  { pool }: Database,
  trackerId: string,
  count: number,
): Promise<number> {
  const { rows } = await pool.query({
    name: 'reserve-delivery-ids',
    text: `insert into delivery_id_counters (tracker_id, last_id) values ($1::uuid, $2::bigint)
           on conflict (tracker_id) do update
             set last_id = delivery_id_counters.last_id + excluded.last_id
           returning last_id`,
    values: [trackerId, count],
  })
  return rows[0].last_id
}
