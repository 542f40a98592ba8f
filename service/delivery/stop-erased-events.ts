import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import type { EventPlace } from '../ledger/event-space.ts'
import { pauseBriefly } from '../ledger/suppression-store.ts'
import { forgetAnswers } from './attempt-store.ts'
import { stopErased } from './store.ts'

export interface StopScope {
  database: Database
  now: () => Date
}

const TRIES_MAX = 1_000

/**
 * The people of these events were erased: what waits is not sent, and what the platform said is
 * forgotten. A worker that settles one of them has it for a moment only, and is waited for. True
 * when the platform may yet say something: a request is under way, or a replay may begin one.
 * Throws a 503 refusal when workers hold on to them for several seconds.
 */
export async function stopErasedEvents(
  { database, now }: StopScope,
  { trackerId, events }: { trackerId: string; events: readonly EventPlace[] },
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stopped = await stopErased(database, { trackerId, events, at: now() })
    if (stopped.missed === 0) {
      await forgetAnswers(database, trackerId, stopped.attemptIds)
      return stopped.mayBeAnswered
    }
    await pauseBriefly(database)
  }
  throw Refusal.unavailable('Deliveries of this person are being written; try again.', 1)
}
