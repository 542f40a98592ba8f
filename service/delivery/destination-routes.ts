import { BriefCache } from '../db/brief-cache.ts'
import type { Database } from '../db/database.ts'
import { type DestinationRoute, findDestinationRoutes } from './destination-store.ts'

/** Longest time for which another process does not see a new destination, or test mode. */
const LIMITS = { lifeMilliseconds: 500, entriesMax: 10_000 }

/** Counts changes of destinations, for the threads of a process that remember them. */
export function allocateChangeCount(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

/** Where each tracker's new events go, remembered for a moment. */
export class DestinationRoutes {
  readonly #routes: BriefCache<DestinationRoute[]>
  readonly #changes: Int32Array
  #changesSeen = 0

  constructor(database: Database, now: () => Date, changeCount = allocateChangeCount()) {
    this.#changes = new Int32Array(changeCount)
    this.#routes = new BriefCache(
      trackerId => findDestinationRoutes(database, trackerId, now()),
      LIMITS,
    )
  }

  of(trackerId: string): Promise<DestinationRoute[]> {
    const changes = Atomics.load(this.#changes, 0)
    if (changes !== this.#changesSeen) {
      this.#changesSeen = changes
      this.#routes.forgetAll()
    }
    return this.#routes.get(trackerId)
  }

  /**
   * Destinations were changed by this process, all threads of which must see it at once. Changes
   * are rare, so all that is remembered is given up.
   */
  changed(): void {
    Atomics.add(this.#changes, 0, 1)
  }
}
