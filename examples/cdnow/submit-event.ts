import { setTimeout as delay } from 'node:timers/promises'
import type { Credentials } from './read-credentials.ts'
import { retryAfterSeconds } from './retry-after.ts'

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
