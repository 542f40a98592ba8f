import type { Database } from '../db/database.ts'
import { forgetAnswers } from '../delivery/attempt-store.ts'
import { stopErased } from '../delivery/store.ts'
import { Refusal } from '../http/refusal.ts'
import { type Erased, eraseEvents, type FoundPayload } from '../ledger/erase-store.ts'
import { pauseBriefly } from '../ledger/suppression-store.ts'

export interface ErasureScope {
  database: Database
  now: () => Date
}

const TRIES_MAX = 1_000

/**
 * Erases these events wherever they left something: what waits to be sent is stopped, what the
 * platform said is forgotten, and last the payloads go, by which a repeated request finds the rest
 * when this one is interrupted.
 */
export async function eraseEventsWhole(
  scope: ErasureScope,
  trackerId: string,
  payloads: readonly FoundPayload[],
): Promise<Erased> {
  if (payloads.length === 0) return { events: 0, sessions: 0 }
  const eventIds = payloads.map(({ eventId }) => eventId)
  const attemptIds = await stopDeliveries(scope, trackerId, eventIds)
  await forgetAnswers(scope.database, trackerId, attemptIds)
  return eraseEvents(scope.database, trackerId, payloads)
}

/** A worker that settles one of them has it for a moment only. */
async function stopDeliveries(
  { database, now }: ErasureScope,
  trackerId: string,
  eventIds: readonly string[],
): Promise<string[]> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stopped = await stopErased(database, { trackerId, eventIds, at: now() })
    if (stopped.missed === 0) return stopped.attemptIds
    await pauseBriefly(database)
  }
  throw Refusal.unavailable('Deliveries of this person are being written; try again.', 1)
}
