import type { Database } from '../db/database.ts'
import { TtlCache } from '../util/ttl-cache.ts'
import { type DestinationRoute, findDestinationRoutes } from './destination-store.ts'

/** Longest time for which another process does not see a new destination, or test mode. */
const LIMITS = { ttlMilliseconds: 500, entriesMax: 10_000 }

/** Counts changes of destinations, for the threads of a process that remember them. */
export function allocateChangeCounter(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

/** Where each tracker's new events go, remembered for a moment. */
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

  /**
   * Destinations were changed by this process, all threads of which must see it at once. Changes
   * are rare, so all that is remembered is given up.
   */
  invalidate(): void {
    Atomics.add(this.#changes, 0, 1)
  }
}
