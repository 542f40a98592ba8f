import type { Connection, OutboundEvent, Platform, SendAnswer } from '../platforms/platform.ts'
import { redactSentValues } from './redact-answer.ts'

export interface OutboundDelivery {
  event: OutboundEvent
  id: number
}

/** One request that was made, and the deliveries whose fate it decides. */
export interface SentRequest {
  startedAt: Date
  durationMilliseconds: number
  eventCount: number
  result: SendAnswer
  decided: readonly OutboundDelivery[]
}

export interface Sender {
  platform: Platform
  connection: Connection<unknown>
  now: () => Date
  /** False once the lease is too short for another request, or the worker stops. */
  canStart: () => boolean
  /** Called after each answer, before the next request: a crash loses one answer at most. */
  onAnswered: (request: SentRequest) => Promise<void>
}

export interface SentBatch {
  /** Null when nothing was sent at all. */
  lastAnswer: SendAnswer | null
  /** Not handed over; somebody takes them up later. */
  unsent: readonly OutboundDelivery[]
}

/**
 * Sends a batch. When the platform refuses it for its content, the batch is halved until the
 * guilty events stand alone, and the rest go through: at most two requests a level, so a batch of
 * a thousand with one bad event takes about twenty. What is left is not sent when the platform
 * refuses the destination or asks us to stay away.
 */
export async function sendEvents(
  sender: Sender,
  sendings: readonly OutboundDelivery[],
): Promise<SentBatch> {
  const waiting: (readonly OutboundDelivery[])[] = [sendings]
  let lastAnswer: SendAnswer | null = null
  for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
    if (!sender.canStart()) return { lastAnswer, unsent: [...batch, ...waiting.flat()] }
    const request = await sendOnce(sender, batch)
    lastAnswer = request.result
    if (lastAnswer.outcome === 'permanent' && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      waiting.push(batch.slice(middle), batch.slice(0, middle))
      request.decided = []
    }
    await sender.onAnswered(request)
    if (stopsBatch(lastAnswer)) break
  }
  return { lastAnswer, unsent: waiting.flat() }
}

function stopsBatch({ outcome, waitSeconds }: SendAnswer): boolean {
  return outcome === 'auth' || outcome === 'config' || waitSeconds > 0
}

async function sendOnce(
  { platform, connection, now }: Sender,
  batch: readonly OutboundDelivery[],
): Promise<SentRequest> {
  const startedAt = now()
  const start = performance.now()
  const events = batch.map(({ event }) => event)
  const answer = await platform.send(connection, events)
  return {
    startedAt,
    durationMilliseconds: performance.now() - start,
    eventCount: batch.length,
    result: redactSentValues(answer, events),
    decided: batch,
  }
}
