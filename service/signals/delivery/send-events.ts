import type {
  Connection,
  EventAnswer,
  OutboundEvent,
  Platform,
  SendAnswer,
} from '../platforms/platform.ts'
import { toSendError } from '../platforms/send-answer.ts'

export interface OutboundDelivery {
  event: OutboundEvent
  id: number
}

/** One request that was made, and the deliveries that its answer settles. */
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
  /** False when the lease is too short for another request, or the worker is stopping. */
  canStart: () => boolean
  /** Takes one request of a limit: 0, or the seconds to wait because none is left. */
  takeRequest: () => Promise<number>
  /** Called after each answer and before the next request: a crash loses one answer at most. */
  onAnswered: (request: SentRequest) => Promise<void>
}

export interface SentBatch {
  /** Null when nothing was sent. */
  lastAnswer: SendAnswer | null
  unsent: readonly OutboundDelivery[]
  /** Above 0: nothing more was sent because no request is left for so long. */
  budgetWaitSeconds: number
}

/**
 * Sends a batch. When the platform rejects its content, the batch is halved until the invalid
 * events are alone and the others go through: at most two requests per level, so a batch of a
 * thousand with one invalid event takes about twenty. An answer about each event settles each of
 * them, and nothing is halved. The rest is not sent when the platform rejects the destination or
 * asks for a pause.
 */
export async function sendEvents(
  sender: Sender,
  deliveries: readonly OutboundDelivery[],
): Promise<SentBatch> {
  const waiting = splitDeliveries(sender, deliveries)
  let lastAnswer: SendAnswer | null = null
  for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
    const budgetWaitSeconds = sender.canStart() ? await sender.takeRequest() : 0
    if (budgetWaitSeconds > 0 || !sender.canStart()) {
      return { lastAnswer, unsent: [...batch, ...waiting.flat()], budgetWaitSeconds }
    }
    const request = await sendRequest(sender, batch)
    lastAnswer = request.result
    if (lastAnswer.outcome === 'permanent' && !lastAnswer.events && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      waiting.push(batch.slice(middle), batch.slice(0, middle))
      request.decided = []
    }
    await sender.onAnswered(request)
    if (stopsBatch(lastAnswer)) break
  }
  return { lastAnswer, unsent: waiting.flat(), budgetWaitSeconds: 0 }
}

/** The events of each request. The first one is at the end, because the last one is sent first. */
function splitDeliveries(
  { platform, connection }: Pick<Sender, 'platform' | 'connection'>,
  deliveries: readonly OutboundDelivery[],
): (readonly OutboundDelivery[])[] {
  if (platform.splitBatch === undefined) return [deliveries]
  const byEvent = new Map(deliveries.map(delivery => [delivery.event, delivery]))
  const parts = platform.splitBatch([...byEvent.keys()], connection)
  return parts.map(events => events.flatMap(event => byEvent.get(event) ?? [])).reverse()
}

function stopsBatch(answer: SendAnswer): boolean {
  return isRejection(answer) || answer.waitSeconds > 0
}

async function sendRequest(
  { platform, connection, now }: Sender,
  batch: readonly OutboundDelivery[],
): Promise<SentRequest> {
  const startedAt = now()
  const startMilliseconds = performance.now()
  const events = batch.map(({ event }) => event)
  const answer = requireEveryEvent(await platform.send(connection, events), events.length)
  return {
    startedAt,
    durationMilliseconds: performance.now() - startMilliseconds,
    eventCount: batch.length,
    result: answer,
    decided: batch,
  }
}

/**
 * Without one entry for each event, no one knows which ones the platform has. A platform that
 * accepted some does not reject the destination.
 */
function requireEveryEvent(answer: SendAnswer, eventCount: number): SendAnswer {
  if (!answer.events) return answer
  if (answer.events.length === eventCount) {
    const acceptsSome = answer.events.some(({ outcome }) => outcome === 'accepted')
    return acceptsSome && isRejection(answer) ? { ...answer, outcome: 'accepted' } : answer
  }
  const { events, ...rest } = answer
  const message = `The platform answered about ${events.length} events of ${eventCount}.`
  const error = toSendError('unknown', { message, http_status: answer.httpStatus })
  return { ...rest, outcome: 'unknown', error }
}

/** What an answer says about the event at one place of its request. */
export function answerOfEvent(answer: SendAnswer, index: number): SendAnswer {
  const own = answer.events?.[index]
  if (!own) return answer
  return { ...answer, outcome: outcomeOfEvent(answer, own), error: own.error }
}

/**
 * A rejected destination is paused. Where only some events are rejected like that, it is not, so
 * they wait for their next attempt like others: at once they would meet the same answer.
 */
function outcomeOfEvent(request: SendAnswer, event: EventAnswer) {
  return isRejection(event) && !isRejection(request) ? 'retry' : event.outcome
}

function isRejection({ outcome }: Pick<SendAnswer, 'outcome'>): boolean {
  return outcome === 'auth' || outcome === 'config'
}
