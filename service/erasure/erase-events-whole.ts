import type { Database } from '../db/database.ts'
import { stopErasedEvents } from '../delivery/stop-erased-events.ts'
import { type Erased, eraseEvents, type FoundPayload } from '../ledger/erase-store.ts'

export interface ErasureScope {
  database: Database
  now: () => Date
}

/**
 * Erases these events wherever they left something: what waits to be sent is stopped, what the
 * platform said is forgotten, and last the payloads go, by which a repeated request finds the rest
 * when this one is interrupted. Until then a request may have taken up one of the events, so there
 * is a second look; what is answered later finds no payload (forget-erased-answer.ts).
 */
export async function eraseEventsWhole(
  scope: ErasureScope,
  trackerId: string,
  payloads: readonly FoundPayload[],
): Promise<Erased> {
  if (payloads.length === 0) return { events: 0, sessions: 0 }
  const stopping = { trackerId, events: payloads }
  const mayBeAnswered = await stopErasedEvents(scope, stopping)
  const erased = await eraseEvents(scope.database, trackerId, payloads)
  if (mayBeAnswered) await stopErasedEvents(scope, stopping)
  return erased
}
