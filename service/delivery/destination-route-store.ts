import type { Database } from '../db/database.ts'
import { TtlCache } from '../util/ttl-cache.ts'

/** What acceptance needs to know about a tracker's destination. */
export interface DestinationRoute {
  id: string
  /** The name of its platform. */
  platform: string
  /** While test mode is on, events for this destination are test events. */
  isTest: boolean
}

/** All destinations of a tracker; an inactive one queues deliveries until it is active again. */
export async function findDestinationRoutes(
  { pool }: Database,
  trackerId: string,
  now: Date,
): Promise<DestinationRoute[]> {
  const { rows } = await pool.query({
    name: 'find-destination-routes',
    text: `select id, type, coalesce(test_mode_until > $2::timestamptz, false) as is_test
           from destinations where tracker_id = $1::uuid order by created_at, id`,
    values: [trackerId, now],
  })
  return rows.map(row => ({ id: row.id, platform: row.type, isTest: row.is_test }))
}

/** How long another process may miss a new destination or a switch of test mode. */
const LIMITS = { ttlMilliseconds: 500, entriesMax: 10_000 }

/** Counts changes of destinations, for all threads of a process that cache them. */
export function allocateChangeCounter(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

/** Caches the destinations of each tracker for new events. */
export class DestinationRouteCache {
  readonly #routes: TtlCache<DestinationRoute[]>
  readonly #changes: Int32Array
  #changesSeen = 0

  constructor(database: Database, now: () => Date, changeCount = allocateChangeCounter()) {
    this.#changes = new Int32Array(changeCount)
    this.#routes = new TtlCache(
      trackerId => findDestinationRoutes(database, trackerId, now()),
      LIMITS,
    )
  }

  get(trackerId: string): Promise<DestinationRoute[]> {
    const changes = Atomics.load(this.#changes, 0)
    if (changes !== this.#changesSeen) {
      this.#changesSeen = changes
      this.#routes.clear()
    }
    return this.#routes.get(trackerId)
  }

  /** Clears the caches of all threads. Changes of destinations are rare, so it clears everything. */
  invalidate(): void {
    Atomics.add(this.#changes, 0, 1)
  }
}
