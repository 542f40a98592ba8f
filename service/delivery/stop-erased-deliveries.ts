import type { Database } from '../db/database.ts'
import { sleepInDatabase } from '../db/database.ts'
import { findEventsWithoutPayload } from '../events/erase-store.ts'
import type { EventRef } from '../events/event-ref.ts'
import { Refusal } from '../http/refusal.ts'
import type { SendAnswer } from '../platforms/platform.ts'
import { clearAnswers } from './attempt-store.ts'
import { hasFreeText } from './send-events.ts'
import { tryStopErased } from './skip-store.ts'

interface StopErasedScope {
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
    await sleepInDatabase(database)
  }
  throw Refusal.unavailable('Deliveries of this person are being written; try again.', 1)
}

/** A request whose answer has been written down. */
interface SettledRequest {
  trackerId: string
  attemptId: string
  result: SendAnswer
  events: readonly EventRef[]
  /** Other workers had taken some of the events, which thus do not know of the request. */
  isPartial: boolean
}

/**
 * People may be erased while a request with their events is under way, and its answer may repeat
 * what was sent. So the worker that settled it looks whether their payloads are still there, and an
 * erasure that began before has its second look after it took them (erase-events-whole.ts): one of
 * the two comes last. An answer that not all of its events know of could not be found again.
 */
export async function clearErasedAnswer(
  scope: StopErasedScope,
  { trackerId, attemptId, result, events, isPartial }: SettledRequest,
): Promise<void> {
  if (!hasFreeText(result)) return
  const { database } = scope
  const erased = await findEventsWithoutPayload(database, trackerId, events)
  if (erased.length > 0) await stopErasedDeliveries(scope, { trackerId, events: erased })
  if (erased.length > 0 || isPartial) await clearAnswers(database, trackerId, [attemptId])
}
