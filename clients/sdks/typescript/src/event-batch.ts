import type { EventResult, EventSubmission } from './contract.generated.ts'
import {
  APIError,
  createAPIError,
  type ErrorAnswer,
  InvalidArgumentError,
  SignalboxError,
} from './errors.ts'
import {
  type CreatedEvent,
  type PreparedEvent,
  prepareEvent,
  sendEvent,
  warnOfDifference,
} from './event-submission.ts'
import type { Hooks } from './hooks.ts'
import { type APIRequest, type Result, redact, send, toResult } from './request.ts'
import { RETRY_AFTER_SECONDS_MAX } from './retry-policy.ts'
import type { CallOptions, Settings } from './settings.ts'

/** The limits of a request of the API. */
export const BATCH_EVENTS_MAX = 200
const BATCH_BYTES_MAX = 1_048_576
const EVENT_BYTES_MAX = 65_536
const [BODY_START, BODY_END] = ['{"events":[', ']}']

/** An event that a request has settled: its result, or why it has none. */
export type Settlement = Answered | { error: unknown }

export interface Answered {
  result: EventResult
  answer: ErrorAnswer
  /** How many requests were made. */
  attempts: number
}

interface BatchOptions<Event> {
  options?: CallOptions | undefined
  /** Called once for each event, when nothing more can change. It must not throw. */
  settle: (event: Event, settlement: Settlement) => void
}

const OPERATION = 'events.createEvents'

/**
 * Sends events that are within the limits in one request, and again those of them that the service
 * could not store at the time. Returns the events that it did not settle because they can only be
 * sent one by one: the service is older than batches, or a proxy takes no body of this size.
 */
export async function sendBatch<Event extends PreparedEvent>(
  settings: Settings,
  events: readonly Event[],
  { options, settle }: BatchOptions<Event>,
): Promise<readonly Event[]> {
  let pending = events
  let last: readonly Settlement[] = []
  const request: APIRequest = {
    operation: OPERATION,
    method: 'POST',
    path: '/events/batch',
    json: () => `${BODY_START}${pending.map(({ json }) => json).join(',')}${BODY_END}`,
    receive(answer, attempts) {
      const sent = pending
      const results = readResults(answer, { events: sent, credential: settings.readToken() })
      const settlements = results.map(result => ({ result, answer, attempts }))
      pending = sent.filter((_, at) => mayStoreLater(results[at]))
      last = settlements.filter(({ result }) => mayStoreLater(result))
      sent.forEach((event, at) => {
        const settlement = settlements[at] as Answered
        if (mayStoreLater(settlement.result)) return
        settle(event, warn(settings.hooks, settlement))
      })
      return pending.length > 0 ? createRetriedError(answer, results.filter(mayStoreLater)) : null
    },
  }
  try {
    await send(settings, request, options)
    return []
  } catch (error) {
    const status = error instanceof APIError && last.length === 0 ? error.status : null
    if (status === 404 || status === 405) settings.hasBatches = false
    if (status === 404 || status === 405 || status === 413) return pending
    // A caller that cancels, or a hook that throws, hears of it.
    const known = error instanceof SignalboxError ? last : []
    pending.forEach((event, at) => {
      settle(event, known[at] ?? { error })
    })
    return []
  }
}

/** The results by position. Throws an InvalidResponseError unless each event has one. */
function readResults(
  answer: ErrorAnswer,
  { events, credential }: { events: readonly PreparedEvent[]; credential: string },
): EventResult[] {
  const { results } = answer.body as { results?: EventResult[] }
  const isComplete =
    Array.isArray(results) &&
    results.length === events.length &&
    results.every(result => Number.isInteger(result?.status))
  if (!isComplete) {
    const message = 'The answer does not have a result for each event.'
    throw createAPIError({ ...answer, message })
  }
  // Of refused events too: a caller that sends one again needs the id that it had.
  results.forEach((result, at) => {
    result.event_id ??= events[at]?.id ?? ''
    if (typeof result.message === 'string') result.message = redact(result.message, credential)
  })
  return results
}

/** As for a request: to wait longer than this is for the caller to decide. */
function mayStoreLater(result: EventResult | undefined): boolean {
  if (result?.status !== 429 && result?.status !== 503) return false
  return !(Number(result.retry_after) > RETRY_AFTER_SECONDS_MAX)
}

function warn(hooks: Hooks, settlement: Answered): Settlement {
  try {
    warnOfDifference(hooks, OPERATION, settlement.result)
    return settlement
  } catch (error) {
    return { error }
  }
}

/** The error of the event that must wait longest, so that one delay is enough for all of them. */
function createRetriedError(answer: ErrorAnswer, results: readonly EventResult[]): APIError {
  const longest = results.reduce((one, other) =>
    (other.retry_after ?? 0) > (one.retry_after ?? 0) ? other : one,
  )
  return createResultError({ result: longest, answer, attempts: 1 })
}

/** The error that `events.create` would have thrown for the event. */
export function createResultError({ result, answer, attempts }: Answered): APIError {
  const headers = new Headers(answer.headers)
  headers.delete('retry-after')
  if (result.retry_after !== undefined) headers.set('retry-after', String(result.retry_after))
  const { status, message = `Status ${status}.` } = result
  const rawBody = JSON.stringify(result)
  const error = createAPIError({ status, headers, message, body: result, rawBody })
  return Object.assign(error, { attempts })
}

/** What `events.create` would have returned for the event. */
export function toCreated({ result, answer, attempts }: Answered): Result<CreatedEvent> {
  const { status, ...created } = result
  return toResult<CreatedEvent>({ ...answer, status, body: created }, attempts)
}

/** How many events at the front fit into a request; 0 when the first is too large for one. */
export function countBatch(events: Iterable<PreparedEvent>, eventsMax: number): number {
  let count = 0
  let bytes = BODY_START.length + BODY_END.length
  for (const event of events) {
    bytes += event.bytes + 1
    if (count >= eventsMax || event.bytes > EVENT_BYTES_MAX || bytes > BATCH_BYTES_MAX) break
    count += 1
  }
  return count
}

/**
 * Sends any number of events, in their order, and returns their results by position. A request that
 * fails ends it: the error has the `results` of the events before those of the request.
 */
export async function createEvents(
  settings: Settings,
  events: readonly EventSubmission[],
  options?: CallOptions,
): Promise<EventResult[]> {
  if (!Array.isArray(events)) throw new InvalidArgumentError('Events must be an array.')
  const list = new SubmittedList(events)
  while (list.waiting.length > 0) {
    const count = settings.hasBatches ? countBatch(list.waiting, BATCH_EVENTS_MAX) : 0
    const sent = list.waiting.slice(0, Math.max(count, 1))
    const { settle } = list
    const alone = count === 0 ? sent : await sendBatch(settings, sent, { options, settle })
    for (const event of alone) {
      if (list.failure === null) settle(event, await sendAlone(settings, event, options))
    }
    if (list.failure !== null) throw list.describeFailure()
    list.waiting.splice(0, sent.length)
  }
  return list.results
}

interface ListedEvent extends PreparedEvent {
  position: number
}

/** The events of a call, and what is known of them. */
class SubmittedList {
  readonly waiting: ListedEvent[] = []
  readonly results: EventResult[] = []
  failure: { error: unknown } | null = null

  constructor(events: readonly EventSubmission[]) {
    for (const [position, event] of events.entries()) {
      try {
        this.waiting.push({ ...prepareEvent(event), position })
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error
        // The others are sent: an event that cannot be JSON is refused like an invalid one.
        this.results[position] = { status: 422, message: error.message }
      }
    }
  }

  readonly settle = ({ position }: ListedEvent, settlement: Settlement) => {
    if ('error' in settlement) this.failure ??= settlement
    else this.results[position] = settlement.result
  }

  describeFailure(): unknown {
    const error = this.failure?.error
    const end = this.waiting[0]?.position
    if (error instanceof SignalboxError) error.results = this.results.slice(0, end)
    return error
  }
}

/** Statuses that a result can have; others are about the request and not about its event. */
const RESULT_STATUSES = new Set([400, 413, 422, 429, 503])

/** Sends an event with `events.create`. Returns the result that it would have had in a batch. */
async function sendAlone(
  settings: Settings,
  event: PreparedEvent,
  options?: CallOptions,
): Promise<Settlement> {
  try {
    const created = await sendEvent(settings, event, options)
    const { status, attempts, headers } = created.lastResponse
    const answer = { status, headers, rawBody: '', body: created, message: '' }
    return { result: { ...created, status }, answer, attempts }
  } catch (error) {
    if (!(error instanceof APIError) || !RESULT_STATUSES.has(error.status)) return { error }
    const { status, message, errors, retryAfter, attempts, headers, rawBody, body } = error
    const result: EventResult = { status, event_id: event.id, message }
    if (Object.keys(errors).length > 0) result.errors = errors
    if (retryAfter !== null) result.retry_after = retryAfter
    return { result, answer: { status, headers, rawBody, body, message }, attempts }
  }
}
