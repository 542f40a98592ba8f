import { findWithoutPayload } from '../ledger/erase-store.ts'
import type { EventPlace } from '../ledger/event-space.ts'
import type { SendAnswer } from '../platforms/send-outcome.ts'
import { forgetAnswers } from './attempt-store.ts'
import { hasWords } from './has-words.ts'
import { type StopScope, stopErasedEvents } from './stop-erased-events.ts'

/** A request whose answer has been written down. */
export interface SettledRequest {
  trackerId: string
  attemptId: string
  result: SendAnswer
  events: readonly EventPlace[]
  /** Other workers had taken some of the events, which thus do not know of the request. */
  isPartial: boolean
}

/**
 * People may be erased while a request with their events is under way, and its answer may repeat
 * what was sent. So the worker that settled it looks whether their payloads are still there, and an
 * erasure that began before has its second look after it took them (erase-events-whole.ts): one of
 * the two comes last. An answer that not all of its events know of could not be found again.
 */
export async function forgetErasedAnswer(
  scope: StopScope,
  { trackerId, attemptId, result, events, isPartial }: SettledRequest,
): Promise<void> {
  if (!hasWords(result)) return
  const { database } = scope
  const erased = await findWithoutPayload(database, trackerId, events)
  if (erased.length > 0) await stopErasedEvents(scope, { trackerId, events: erased })
  if (erased.length > 0 || isPartial) await forgetAnswers(database, trackerId, [attemptId])
}
