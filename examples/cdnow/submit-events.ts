import { APIConnectionError, APIError, AuthenticationError, type Signalbox } from '@signalbox/sdk'
import type { Progress } from './progress.ts'
import type { PurchaseEvent } from './purchases.ts'

export interface Answer {
  eventId: string
  /** 202 is new, 200 a duplicate, any other a refusal. 0 if there was no response. */
  status: number
  duplicate: boolean | null
  /** How often the client repeated the request. */
  retries: number
}

/**
 * Creates one event. The client repeats what may work later, with the same ID, and the service
 * stores it once. Throws if the secret is refused, since every other request would fail too.
 */
export async function submitEvent(client: Signalbox, event: PurchaseEvent): Promise<Answer> {
  const eventId = event.event_id
  try {
    const { event_id, duplicate, lastResponse } = await client.events.create(event)
    const { status, attempts } = lastResponse
    const isOurs = event_id === eventId && typeof duplicate === 'boolean'
    return { eventId, status, duplicate: isOurs ? duplicate : null, retries: attempts - 1 }
  } catch (error) {
    if (error instanceof AuthenticationError) {
      throw new Error('The tracker secret is refused (401).', { cause: error })
    }
    const status = error instanceof APIError ? error.status : 0
    const hasAttempts = error instanceof APIError || error instanceof APIConnectionError
    if (!hasAttempts) throw error
    return { eventId, status, duplicate: null, retries: error.attempts - 1 }
  }
}

interface SubmitOptions {
  client: Signalbox
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
  events: readonly PurchaseEvent[],
  { client, inFlightMax, progress }: SubmitOptions,
): Promise<Answer[]> {
  return mapConcurrently(withRepeats(events), inFlightMax, async event => {
    const answer = await submitEvent(client, event)
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
