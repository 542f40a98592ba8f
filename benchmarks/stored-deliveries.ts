import { randomBytes } from 'node:crypto'
import type { Database } from '../service/db/database.ts'
import { DestinationRoutes } from '../service/delivery/destination-routes.ts'
import { outboundEvent } from '../service/delivery/outbound-event.ts'
import { eventCommitter } from '../service/ingestion/commit-events.ts'
import { findEvents } from '../service/ledger/store.ts'
import { metaPlatform } from '../service/platforms/meta/client.ts'
import { metaPayload } from '../service/platforms/meta/payload.ts'
import { purchaseDraft } from './purchase-draft.ts'

const EVENTS_PER_COMMIT = 1_000

/** Stores purchases as acceptance does, each with one queued delivery. Returns their ids. */
export async function storeDeliveries(
  database: Database,
  trackerId: string,
  count: number,
): Promise<string[]> {
  const run = randomBytes(6).toString('hex')
  const commit = eventCommitter({
    database,
    platform: metaPlatform({
      baseUrl: 'http://127.0.0.1:9',
      version: 'v26.0',
      timeoutMilliseconds: 1,
    }),
    routes: new DestinationRoutes(database, () => new Date()),
    onPlanned: () => {},
    onNoteError: error => {
      throw error
    },
  })
  const eventIds: string[] = []
  for (let first = 0; first < count; first += EVENTS_PER_COMMIT) {
    const at = new Date()
    const length = Math.min(EVENTS_PER_COMMIT, count - first)
    const drafts = Array.from({ length }, (_, index) =>
      purchaseDraft({ trackerId, count: first + index, run, at }),
    )
    await commit(drafts)
    eventIds.push(...drafts.map(({ eventId }) => eventId))
  }
  return eventIds
}

/** The bodies that a worker would send for these events, in requests of `batchEvents`. */
export async function requestBodies(
  database: Database,
  trackerId: string,
  { eventIds, batchEvents }: { eventIds: readonly string[]; batchEvents: number },
): Promise<string[]> {
  const bodies: string[] = []
  for (let first = 0; first < eventIds.length; first += batchEvents) {
    const ids = eventIds.slice(first, first + batchEvents)
    const events = await findEvents(database, trackerId, ids)
    bodies.push(JSON.stringify(metaPayload(events.map(outboundEvent), null)))
  }
  return bodies
}
