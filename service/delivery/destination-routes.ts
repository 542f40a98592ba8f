import { BriefCache } from '../db/brief-cache.ts'
import type { Database } from '../db/database.ts'
import { type DestinationRoute, findDestinationRoutes } from './destination-store.ts'

/** Longest time for which another process does not see a new destination, or test mode. */
const LIMITS = { lifeMilliseconds: 500, entriesMax: 10_000 }

/** Where each tracker's new events go, remembered for a moment. */
export class DestinationRoutes {
  readonly #routes: BriefCache<DestinationRoute[]>

  constructor(database: Database, now: () => Date) {
    this.#routes = new BriefCache(
      trackerId => findDestinationRoutes(database, trackerId, now()),
      LIMITS,
    )
  }

  of(trackerId: string): Promise<DestinationRoute[]> {
    return this.#routes.get(trackerId)
  }

  /** The tracker's destinations were changed by this process, which must see it at once. */
  forget(trackerId: string): void {
    this.#routes.forget(trackerId)
  }
}
