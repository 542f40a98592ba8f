import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { sleep } from '../../runtime/util/wait.ts'
import { findEventsWithoutPayload } from '../events/erase-store.ts'
import type { EventRef } from '../events/event-columns.ts'
import { clearAnswers } from './attempt-store.ts'
import { tryStopErased } from './skip-store.ts'

interface StopErasedScope {
  database: Database
  now: () => Date
}

const TRIES_MAX = 1_000
const RETRY_SECONDS = 0.005

/**
 * Stops the deliveries of erased people: what waits is not sent, and the platform's answers are
 * cleared. It waits for workers that are settling one of them, which takes only a moment. True when
 * the platform may still answer: a request is in flight, or a replay may start one. Throws a 503
 * refusal when workers keep rows locked for several seconds.
 */
export async function stopErasedDeliveries(
  { database, now }: StopErasedScope,
  { trackerId, events }: { trackerId: string; events: readonly EventRef[] },
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stopped = await tryStopErased(database, { trackerId, events, at: now() })
    if (stopped.missed === 0) {
      await clearAnswers(database, trackerId, stopped.attemptIds)
      return stopped.mayBeAnswered
    }
    await sleep(RETRY_SECONDS)
  }
  throw Refusal.unavailable('Deliveries of this person are being written; try again.', 1)
}

/** A request whose answer is stored. */
interface SettledRequest {
  trackerId: string
  attemptId: string
  events: readonly EventRef[]
  /** Other workers had claimed some of the events, which therefore do not refer to the request. */
  isPartial: boolean
}

/**
 * Clears the stored answer of a request if one of its people was erased while it was in flight,
 * since free text may repeat what was sent. The worker that settled the request checks whether the
 * payloads still exist, and an erasure checks the deliveries again after it deleted the payloads
 * (`erasure/erase-person.ts`): one of the two comes last. An answer that not all of its events
 * refer to could not be found later.
 */
export async function clearErasedAnswer(
  scope: StopErasedScope,
  { trackerId, attemptId, events, isPartial }: SettledRequest,
): Promise<void> {
  const { database } = scope
  const erased = await findEventsWithoutPayload(database, trackerId, events)
  if (erased.length > 0) await stopErasedDeliveries(scope, { trackerId, events: erased })
  if (erased.length > 0 || isPartial) await clearAnswers(database, trackerId, [attemptId])
}
