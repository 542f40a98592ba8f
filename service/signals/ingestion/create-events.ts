import {
  BATCH_BYTES_MAX,
  createEvents,
  type EventResult,
  NDJSON_MEDIA_TYPE,
} from '@signalbox/contract/event-batches.ts'
import { toRefusal } from '../../runtime/http/error-responses.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { registerByteParsers } from '../../runtime/http/request-body.ts'
import type { ServiceApp, ServiceLogger } from '../../runtime/http/service-app.ts'
import {
  type TrackerLimits,
  takeFurtherEvents,
  type WithdrawalLimits,
} from '../access/tracker-limits.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'
import {
  type AcceptanceContext,
  acceptEvent,
  findTrackerPlatforms,
  type PreparedEvent,
  prepareSubmission,
  type SubmittingRequest,
  toAnswer,
} from './accept-event.ts'
import { type BatchEvent, EventTurns, readBatch } from './batch-body.ts'
import { AnswerDeadline } from './group-commit.ts'

export interface BatchContext extends AcceptanceContext {
  limits: TrackerLimits & WithdrawalLimits
  /** Counts refused events. */
  refusals: { record(refused: RefusedEvent): void }
  now: () => Date
}

interface RefusedEvent {
  sender: { trackerId: string }
  refusal: Refusal
  requestId: string
  eventId: string | null
  body: unknown
  at: Date
}

/** Registers createEvents in a scope of its own, whose bodies are read as bytes. */
export function batchRoutes(app: ServiceApp, context: BatchContext): void {
  app.register(async scope => {
    registerByteParsers(scope, ['application/json', NDJSON_MEDIA_TYPE])
    scope.route({
      ...createEvents,
      bodyLimit: BATCH_BYTES_MAX,
      async handler(request, reply) {
        if (request.headers['idempotency-key'] !== undefined) throw refuseIdempotencyKey()
        const { 'content-type': mediaType, 'content-encoding': coding } = request.headers
        const isOfPage = request.browser !== null
        const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const events = await readBatch({ bytes, mediaType, coding, isOfPage })
        // The bytes as sent; the events are released one by one.
        ;(request as { body: unknown }).body = undefined
        const further = { request, count: events.length - 1 }
        const { taken, refusal } = takeFurtherEvents(context.limits, further, reply)
        const batch = new EventBatch(
          context,
          request,
          await findTrackerPlatforms(context, request.tracker),
        )
        const results = await batch.acceptTaken(events, taken + 1, refusal)
        return reply.code(200).send({ results })
      },
    })
  })
}

/**
 * Accepts the events of a session as those of a back end; each has a result. They count against the
 * limit of the tracker secret, as those of a batch do.
 */
export async function acceptImported(
  context: BatchContext,
  session: Pick<BatchRequest, 'id' | 'url' | 'log' | 'tracker' | 'ip'>,
  bodies: readonly Record<string, unknown>[],
): Promise<EventResult[]> {
  const request = { ...session, browser: null, headers: {} }
  const batch = new EventBatch(
    context,
    request,
    await findTrackerPlatforms(context, request.tracker),
  )
  const count = bodies.length
  const { taken, refusal } = takeFurtherEvents(context.limits, { request, count }, NO_HEADERS)
  return batch.acceptTaken(bodies.map(toBatchEvent), taken, refusal)
}

/** Each row has its own wait, so the answer announces none. */
const NO_HEADERS = { header: () => {} }

function toBatchEvent(body: Record<string, unknown>): BatchEvent {
  const { event_id: id } = body
  const bytes = Buffer.byteLength(JSON.stringify(body))
  return { bytes, eventId: typeof id === 'string' ? id : null, body }
}

function refuseIdempotencyKey(): Refusal {
  const field = 'Idempotency-Key'
  const message = 'The Idempotency-Key header names one event: give each event an event_id.'
  return Refusal.ofFields({ [field]: [message] }, [{ field, rule: 'invalid_event_id' }])
}

interface BatchRequest extends SubmittingRequest {
  id: string
  url: string
  log: ServiceLogger
}

/** The events of one request, which are accepted or refused one by one, in their order. */
class EventBatch {
  readonly #context: BatchContext
  readonly #request: BatchRequest
  readonly #platforms: SelectedPlatforms
  readonly #receivedAt: Date
  /** One for all events: those behind a slow withdrawal do not wait as long once more. */
  readonly #deadline = new AnswerDeadline()

  constructor(context: BatchContext, request: BatchRequest, platforms: SelectedPlatforms) {
    this.#context = context
    this.#request = request
    this.#platforms = platforms
    this.#receivedAt = context.now()
  }

  /** Accepts as many as the limit lets through; the rest is refused. */
  async acceptTaken(
    events: readonly BatchEvent[],
    taken: number,
    refusal: Refusal | null,
  ): Promise<EventResult[]> {
    const results = await this.#accept(events.slice(0, taken))
    if (refusal) for (const event of events.slice(taken)) results.push(this.#refuse(event, refusal))
    return results
  }

  /**
   * Prepares the events and commits them together. A withdrawal is stored before the events behind
   * it are decided, and after those before it, as for requests one after another.
   */
  async #accept(events: readonly BatchEvent[]): Promise<EventResult[]> {
    const results: Promise<EventResult>[] = []
    let waiting: (() => Promise<EventResult>)[] = []
    const commitWaiting = async () => {
      for (const commit of waiting) results.push(commit())
      waiting = []
      await Promise.all(results)
    }
    const turns = new EventTurns()
    for (const event of events) {
      await turns.pass(event.bytes)
      const prepared = await this.#prepare(event)
      const isWithdrawal = 'draft' in prepared && prepared.draft.eventName === 'consent_withdrawal'
      if (isWithdrawal) await commitWaiting()
      waiting.push(() => this.#commit(event, prepared))
      if (isWithdrawal) await commitWaiting()
    }
    await commitWaiting()
    return Promise.all(results)
  }

  /** Counts the refusal, and returns it as the result of the event. */
  #refuse(event: BatchEvent, error: Error): EventResult {
    const refusal = toRefusal(error, this.#request.url)
    const { id: requestId, tracker } = this.#request
    this.#context.refusals.record({
      sender: { trackerId: tracker.trackerId },
      refusal,
      requestId,
      eventId: event.eventId,
      body: 'body' in event ? event.body : null,
      at: this.#context.now(),
    })
    const { status, message, errors, headers } = refusal
    const retryAfter = Number(headers['retry-after'] ?? 1)
    if (status === 400 || status === 422) return { status, message, ...(errors && { errors }) }
    if (status === 429 || status === 503) return { status, message, retry_after: retryAfter }
    this.#logBug(error)
    return { status: 503, message, retry_after: retryAfter }
  }

  /** The other events of the batch still have their results, so the request does not fail. */
  #logBug(error: Error): void {
    const { id, log } = this.#request
    log.error({ err: error, route: createEvents.url, request_id: id }, 'event of a batch failed')
  }

  async #prepare(event: BatchEvent): Promise<PreparedEvent | { error: Error }> {
    if ('refusal' in event) return { error: event.refusal }
    const { bytes: bodyBytes, body } = event
    // Release the raw identifiers while the event waits for its commit.
    event.body = undefined
    try {
      return await prepareSubmission(this.#context, this.#request, {
        platforms: this.#platforms,
        body,
        bodyBytes,
        idempotencyKey: undefined,
        receivedAt: this.#receivedAt,
      })
    } catch (error) {
      return { error: error as Error }
    }
  }

  async #commit(
    event: BatchEvent,
    prepared: PreparedEvent | { error: Error },
  ): Promise<EventResult> {
    if ('error' in prepared) return this.#refuse(event, prepared.error)
    try {
      const accepted = await acceptEvent(this.#context, prepared, this.#deadline)
      const { status, body } = toAnswer(accepted)
      return { status, ...body }
    } catch (error) {
      return this.#refuse(event, error as Error)
    }
  }
}
