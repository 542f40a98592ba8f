import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'

const BLOCK_SIZE = 1_000
/** Beyond this many trackers the least recently used block is dropped; there are enough ids. */
const TRACKERS_MAX = 10_000

/**
 * Hands out delivery ids, counted per tracker. A process reserves them in blocks: one short
 * statement for a thousand deliveries instead of a counter that every commit would wait for. What
 * is left of a block when a process ends is never used; 32 bits leave room for two million blocks.
 */
export class DeliveryIdAllocator {
  readonly #database: Database
  readonly #free = new LRUCache<string, { next: number; end: number }>({ max: TRACKERS_MAX })

  constructor(database: Database) {
    this.#database = database
  }

  /** Makes sure that `take` can serve `count` more ids for the tracker. */
  async reserve(trackerId: string, count: number): Promise<void> {
    const block = this.#free.get(trackerId)
    if (block && block.end - block.next >= count) return
    const size = Math.max(BLOCK_SIZE, count)
    const lastId = await reserveDeliveryIds(this.#database, trackerId, size)
    this.#free.set(trackerId, { next: lastId + 1 - size, end: lastId + 1 })
  }

  /** The next id of the tracker; `reserve` was asked for it before. */
  take(trackerId: string): number {
    const block = this.#free.get(trackerId)
    if (!block || block.next >= block.end) throw new Error('no delivery id was reserved')
    block.next += 1
    return block.next - 1
  }
}

/** Counts `count` delivery ids of a tracker as taken, and returns the last of them. */
export async function reserveDeliveryIds(
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

/** A metrics request omits the figure instead of waiting longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/** The highest delivery ID that any tracker has used or reserved. */
export async function readLastDeliveryId({ pool }: Database): Promise<number> {
  const statement = {
    text: 'select coalesce(max(last_id), 0) as last_id from delivery_id_counters',
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  }
  const { rows } = await pool.query(statement)
  return rows[0].last_id
}
