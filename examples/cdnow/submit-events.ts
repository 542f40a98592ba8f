import { setTimeout as delay } from 'node:timers/promises'
import type { Progress } from './progress.ts'
import type { Credentials } from './read-credentials.ts'

export interface Answer {
  eventId: string
  /** 202 new, 200 duplicate; any other is a refusal. 0 when no answer ever came. */
  status: number
  duplicate: boolean | null
  /** How often it was sent again, after a 429, a 503 or a broken connection. */
  retries: number
}

const TRIES_MAX = 20
const ANSWER_MILLISECONDS_MAX = 30_000

/**
 * POST /events. "Try again later" and a lost answer are followed by the same event under the same
 * id: the service stores it once, however often it comes. Throws when the secret is refused,
 * since then nothing else can succeed.
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

/** Null when the connection broke before a whole answer came. */
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

/** What the answer says, if it speaks of our event at all. */
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
  /** Requests in flight at once. */
  atOnceMax: number
  progress: Progress
}

const REPEATED_EVERY = 10

/**
 * Sends every event, and every tenth one a second time right behind the first, so that the two
 * race each other as a browser's and a server's copy do. Answers in the order of sending.
 */
export function submitAll(
  events: readonly { event_id: string }[],
  { credentials, atOnceMax, progress }: SubmitOptions,
): Promise<Answer[]> {
  return mapConcurrently(withRepeats(events), atOnceMax, async event => {
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

/** Runs `work` on every item, at most `atOnceMax` at a time, and keeps the order of the answers. */
export async function mapConcurrently<Item, Answer>(
  items: readonly Item[],
  atOnceMax: number,
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
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, hand))
  return answers
}

const WAIT_SECONDS_MAX = 30
const WAIT_SECONDS_DEFAULT = 1

/**
 * How many seconds to wait before the same request again, from `Retry-After` (RFC 9110). The
 * header's other form, a date, counts as no header.
 */
export function retryAfterSeconds(header: string | null): number {
  if (header === null || !/^\d{1,9}$/.test(header)) return WAIT_SECONDS_DEFAULT
  return Math.min(Number(header), WAIT_SECONDS_MAX)
}
