import { setTimeout as delay } from 'node:timers/promises'
import type { Progress } from './progress.ts'
import type { Credentials } from './read-credentials.ts'

export interface Answer {
  eventId: string
  /** 202 is new, 200 a duplicate, any other a refusal. 0 if there was no response. */
  status: number
  duplicate: boolean | null
  /** Number of retries after 429, 503 or a broken connection. */
  retries: number
}

const TRIES_MAX = 20
const ANSWER_MILLISECONDS_MAX = 30_000

/**
 * POST /events. After 429, 503 or a lost response, the same event is sent again with the same ID,
 * and the service stores it once. Throws if the secret is refused, since every other request would
 * fail too.
 */
export async function submitEvent(
  { base_url, tracker_secret }: Credentials,
  event: { event_id: string },
): Promise<Answer> {
  const eventId = event.event_id
  for (let retries = 0; ; retries += 1) {
    const reply = await post(`${base_url}/events`, tracker_secret, JSON.stringify(event))
    const status = reply?.status ?? 0
    if (status === 401) throw new Error('The tracker secret is refused (401).')
    const isFinal = status !== 0 && status !== 429 && status !== 503
    if (isFinal || retries === TRIES_MAX - 1) {
      const duplicate = reply === null ? null : readDuplicate(reply.text, eventId)
      return { eventId, status, duplicate, retries }
    }
    await delay(retryAfterSeconds(reply?.retryAfter ?? null) * 1_000)
  }
}

interface Reply {
  status: number
  retryAfter: string | null
  text: string
}

/** Null if the connection broke before the response was complete. */
async function post(url: string, secret: string, body: string): Promise<Reply | null> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(ANSWER_MILLISECONDS_MAX),
    })
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, retryAfter, text: await response.text() }
  } catch {
    return null
  }
}

/** The result in the response, if it is about this event. */
function readDuplicate(text: string, eventId: string): boolean | null {
  try {
    const answer = JSON.parse(text) as { event_id?: unknown; duplicate?: unknown }
    const isOurs = answer.event_id === eventId && typeof answer.duplicate === 'boolean'
    return isOurs ? (answer.duplicate as boolean) : null
  } catch {
    return null
  }
}

interface SubmitOptions {
  credentials: Credentials
  /** The most requests in flight. */
  inFlightMax: number
  progress: Progress
}

const REPEATED_EVERY = 10

/**
 * Sends every event, and every tenth one again right after the first, so that the two requests
 * race, as those of a browser and a server do. Returns the results in the order of sending.
 */
export function submitAll(
  events: readonly { event_id: string }[],
  { credentials, inFlightMax, progress }: SubmitOptions,
): Promise<Answer[]> {
  return mapConcurrently(withRepeats(events), inFlightMax, async event => {
    const answer = await submitEvent(credentials, event)
    progress.step()
    return answer
  })
}

export function withRepeats<Item>(items: readonly Item[]): Item[] {
  return items.flatMap((item, index) =>
    (index + 1) % REPEATED_EVERY === 0 ? [item, item] : [item],
  )
}

/** Runs `work` on every item, at most `inFlightMax` at a time, and keeps the order of results. */
export async function mapConcurrently<Item, Answer>(
  items: readonly Item[],
  inFlightMax: number,
  work: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const hand = async () => {
    while (next < items.length) {
      const index = next
      next += 1
      answers[index] = await work(items[index] as Item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(inFlightMax, items.length) }, hand))
  return answers
}

const WAIT_SECONDS_MAX = 30
const WAIT_SECONDS_DEFAULT = 1

/**
 * Seconds to wait before a retry, from `Retry-After` (RFC 9110). The date form of the header is
 * ignored.
 */
export function retryAfterSeconds(header: string | null): number {
  if (header === null || !/^\d{1,9}$/.test(header)) return WAIT_SECONDS_DEFAULT
  return Math.min(Number(header), WAIT_SECONDS_MAX)
}
