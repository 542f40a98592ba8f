import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../service/runtime/db/database.ts'
import { singleNode } from '../../service/runtime/db/store-nodes.ts'
import { announceDeliveries } from '../../service/signals/delivery/destination-queue-store.ts'
import { toOutboundEvent } from '../../service/signals/delivery/outbound-event.ts'
import { DestinationRouteCache } from '../../service/signals/delivery/plan-store.ts'
import { findEventsById } from '../../service/signals/events/event-store.ts'
import type { ErasureKeyProvider } from '../../service/signals/events/person-identifiers.ts'
import { createEventCommitter } from '../../service/signals/ingestion/commit-events.ts'
import { metaPayload } from '../../service/signals/platforms/meta/payload.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { createPurchaseDraft } from './purchase-drafts.ts'

/** A tracker with one destination, and its events. */
export interface StoredTracker {
  trackerId: string
  eventIds: string[]
}

export interface DeliveriesToStore {
  trackerIds: readonly string[]
  /** Distributed evenly over the trackers. */
  count: number
  /** Spreads the events evenly over this time; by default, as fast as possible. */
  overSeconds?: number
}

const EVENTS_PER_COMMIT = 1_000
/** The least number of commits when events are spread over a time. */
const COMMITS_MIN = 100

/** Stores purchases as acceptance does, each with one queued delivery. */
export async function storeDeliveries(
  database: Database,
  { trackerIds, count, overSeconds = 0 }: DeliveriesToStore,
): Promise<StoredTracker[]> {
  const run = randomBytes(6).toString('hex')
  const commit = createPurchaseCommitter(database)
  const trackers = trackerIds.map((trackerId): StoredTracker => ({ trackerId, eventIds: [] }))
  const commitEvents =
    overSeconds > 0
      ? Math.min(EVENTS_PER_COMMIT, Math.ceil(count / COMMITS_MIN))
      : EVENTS_PER_COMMIT
  const start = performance.now()
  for (let first = 0; first < count; first += commitEvents) {
    const dueMilliseconds = start + (overSeconds * 1_000 * first) / count - performance.now()
    if (dueMilliseconds > 0) await delay(dueMilliseconds)
    const at = new Date()
    const length = Math.min(commitEvents, count - first)
    const drafts = Array.from({ length }, (_, index) => {
      const tracker = trackers[(first + index) % trackers.length] as StoredTracker
      const draft = createPurchaseDraft({
        trackerId: tracker.trackerId,
        count: first + index,
        run,
        at,
      })
      tracker.eventIds.push(draft.eventId)
      return draft
    })
    await commit(drafts)
  }
  return trackers
}

/** Commits groups of purchases as acceptance does. */
export function createPurchaseCommitter(
  database: Database,
  erasureKey: ErasureKeyProvider = () => Promise.reject(new Error('no person is erased here')),
) {
  return createEventCommitter({
    database,
    platforms: createOfflinePlatforms(),
    routes: new DestinationRouteCache(singleNode(database), () => new Date()),
    erasureKey,
    onEventsStored: () => void announceDeliveries(database),
    onDuplicateRecordError: error => {
      throw error
    },
  })
}

const NO_IDENTITY = { digests: {}, plain: {} }

/** The bodies that a worker would send for these events, in requests of `batchEvents`. */
export async function buildRequestBodies(
  database: Database,
  trackers: readonly StoredTracker[],
  batchEvents: number,
): Promise<string[]> {
  const platform = createOfflinePlatforms().default
  const bodies: string[] = []
  for (const { trackerId, eventIds } of trackers) {
    for (let first = 0; first < eventIds.length; first += batchEvents) {
      const ids = eventIds.slice(first, first + batchEvents)
      const events = await findEventsById(database, trackerId, ids)
      const outbound = events.map(event =>
        toOutboundEvent({
          event,
          identity: event.payload ?? NO_IDENTITY,
          platform,
          originalEvent: null,
          destinationId: '',
        }),
      )
      bodies.push(JSON.stringify(metaPayload(outbound, null)))
    }
  }
  return bodies
}
