import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { samplePurchase } from '../fixtures/sample-events.ts'
import { createSeededRandom, type SeededRandom } from '../fixtures/seeded-random.ts'
import { REJECTED_EVENT_NAME } from './platform-failures.ts'

export type EventKind = 'purchase' | 'lead' | 'incomplete' | 'unreadable'

/** One event as the load sent it. */
export interface SubmittedEvent {
  eventId: string
  kind: EventKind
  value: string
  isAcknowledged: boolean
}

export interface LoadTarget {
  /** The addresses of the HTTP processes, tried in turn as a load balancer does. */
  origins: readonly string[]
  trackerSecret: string
}

export interface EventLoad {
  events: ReadonlyMap<string, SubmittedEvent>
  acknowledged(): number
  /** Responses that no client should get here, such as `500 s1-0-7`. */
  unexpectedResponses: readonly string[]
  /** Acknowledged erasures, each of which has an entry in the audit log. */
  erasures(): number
  /** Events without a response, or with 503, that were sent again under the same ID. */
  retries(): number
  /** Starts no further event and resolves when every one is acknowledged. */
  stop(): Promise<void>
}

interface LoadOptions extends LoadTarget {
  /** Begins every event ID. */
  prefix: string
  seed: number
}

const CLIENTS = 4
const PAUSE_MILLISECONDS = 25
const RETRY_MILLISECONDS = 60
const RESPONSE_MILLISECONDS_MAX = 3_000
/** Older than any step back of a clock, so that no event is in the future for a process. */
const AGE_SECONDS = 600
const KIND_WEIGHTS = { purchase: 16, lead: 3, incomplete: 1, unreadable: 1 } as const
const DUPLICATE_SHARE = 0.05
const BATCH_SHARE = 0.15
const BATCH_EVENTS_MAX = 12
const ERASURE_SHARE = 0.02
const VALUES = ['19.90', '0.10', '0.3', '100', '7.000001']

/** Correct clients: a new ID for each event, and the same ID until it is acknowledged. */
export function startEventLoad(options: LoadOptions): EventLoad {
  const events = new Map<string, SubmittedEvent>()
  const unexpectedResponses: string[] = []
  const counts = { acknowledged: 0, erasures: 0, retries: 0, requests: 0 }
  let isStopped = false

  const call = async (method: string, path: string, body: unknown) => {
    counts.requests += 1
    const origin = options.origins[counts.requests % options.origins.length]
    return send(`${origin}/api/v1/${path}`, { method, secret: options.trackerSecret, body })
  }
  /** The first response to a new ID cannot be "duplicate"; a repetition can be either. */
  const acknowledge = (event: SubmittedEvent, status: number | null, tries: number): boolean => {
    const isDuplicate = status === 200 && (tries > 1 || event.isAcknowledged)
    if (!isDuplicate && (status !== 202 || event.isAcknowledged)) return false
    if (!event.isAcknowledged) counts.acknowledged += 1
    event.isAcknowledged = true
    return true
  }
  const submit = async (event: SubmittedEvent) => {
    for (let tries = 1; ; tries += 1) {
      const { status, text } = await call('POST', 'events', toSubmission(event))
      if (acknowledge(event, status, tries)) return
      if (status !== null && status !== 503) {
        unexpectedResponses.push(`${event.eventId}: ${status} ${text.slice(0, 300)}`)
        return
      }
      counts.retries += 1
      await delay(RETRY_MILLISECONDS)
    }
  }
  /** Sends what is not acknowledged again, or the whole batch, until everything is. */
  const submitBatch = async (batch: readonly SubmittedEvent[], random: SeededRandom) => {
    let waiting = batch
    for (let tries = 1; waiting.length > 0; tries += 1) {
      const body = { events: waiting.map(toSubmission) }
      const { status, text } = await call('POST', 'events/batch', body)
      const results = status === 200 ? readStatuses(text, waiting.length) : null
      const isTaken = status === null || status === 503 || results !== null
      const refused = waiting.filter((event, index) => {
        const own = results?.[index] ?? null
        return !acknowledge(event, own, tries) && own !== null && own !== 503
      })
      if (!isTaken || refused.length > 0) {
        const ids = (isTaken ? refused : waiting).map(({ eventId }) => eventId)
        unexpectedResponses.push(`${ids.join(' ')}: ${status} ${text.slice(0, 300)}`)
        return
      }
      const missing = waiting.filter(({ isAcknowledged }) => !isAcknowledged)
      waiting = missing.length > 0 && random.random() < 0.5 ? batch : missing
      counts.retries += missing.length
      if (missing.length > 0) await delay(RETRY_MILLISECONDS)
    }
  }
  const erase = async (user: string) => {
    const body = { identifier_hash: hash('sha256', user), identifier_type: 'email' }
    for (;;) {
      const { status, text } = await call('DELETE', 'user-data', body)
      if (status === 200) break
      if (status !== null && status !== 503) {
        unexpectedResponses.push(`erasure: ${status} ${text.slice(0, 300)}`)
        return
      }
      await delay(RETRY_MILLISECONDS)
    }
    counts.erasures += 1
  }
  const client = async (number: number) => {
    const random = createSeededRandom(options.seed + number)
    for (let count = 1; !isStopped; count += 1) {
      const id = `${options.prefix}-${number}-${count}`
      const event = randomEvent(random, id)
      const others = random.random() < BATCH_SHARE ? random.integer(1, BATCH_EVENTS_MAX - 1) : 0
      const batch = [event]
      for (let other = 1; other <= others; other += 1) {
        batch.push(randomEvent(random, `${id}-${other}`))
      }
      for (const one of batch) events.set(one.eventId, one)
      if (others === 0) await submit(event)
      else await submitBatch(batch, random)
      if (random.random() < DUPLICATE_SHARE) await submit(event)
      if (random.random() < ERASURE_SHARE) await erase(`${event.eventId}@nowhere.example`)
      await delay(PAUSE_MILLISECONDS)
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
  return {
    events,
    unexpectedResponses,
    acknowledged: () => counts.acknowledged,
    erasures: () => counts.erasures,
    retries: () => counts.retries,
    async stop() {
      isStopped = true
      await Promise.all(clients)
    },
  }
}

function randomEvent(random: SeededRandom, eventId: string): SubmittedEvent {
  const kind = random.weighted(KIND_WEIGHTS)
  return { eventId, kind, value: random.pick(VALUES), isAcknowledged: false }
}

/** The status of each event; null unless there is one for each. */
function readStatuses(text: string, count: number): number[] | null {
  const { results } = JSON.parse(text) as { results: { status: number }[] }
  return results.length === count ? results.map(({ status }) => status) : null
}

const submissions = new WeakMap<SubmittedEvent, unknown>()

/** The same body each time: another one under the same ID would count as a differing submission. */
function toSubmission(event: SubmittedEvent): unknown {
  const known = submissions.get(event)
  if (known) return known
  const { eventId, kind, value } = event
  const body = samplePurchase({
    event_id: eventId,
    event_name: kind === 'lead' ? REJECTED_EVENT_NAME : 'Purchase',
    event_time: Math.floor(Date.now() / 1_000) - AGE_SECONDS,
    value_data: { value, currency: 'EUR' },
    consent: { ad_user_data: kind === 'unreadable' ? 'perhaps' : 'granted' },
    visitor_id: kind === 'incomplete' ? undefined : 'visitor-1',
    ...(kind === 'incomplete' && { user_data: { country: 'de' } }),
  })
  submissions.set(event, body)
  return body
}

interface Response {
  /** Null without a complete response. */
  status: number | null
  text: string
}

async function send(
  url: string,
  { method, secret, body }: { method: string; secret: string; body: unknown },
): Promise<Response> {
  try {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(RESPONSE_MILLISECONDS_MAX),
    })
    return { status: response.status, text: await response.text() }
  } catch {
    return { status: null, text: '' }
  }
}
