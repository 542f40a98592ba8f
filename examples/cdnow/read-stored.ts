import { setTimeout as delay } from 'node:timers/promises'
import { parseExactly } from './parse-exactly.ts'
import type { Credentials } from './read-credentials.ts'

/** What GET /events/{id} says, with numbers as text. */
export interface StoredEvent {
  event: {
    id: string
    event_name: string
    event_time: string
    value_amount: string | null
    value_currency: string | null
    value_data: { value?: string; num_items?: string } | null
  }
  deliveries: { status: string; explanation: string }[]
}

export interface Patience {
  /** Until when a delivery that is still under way is waited for. */
  deadline: AbortSignal
}

const UNDER_WAY = ['queued', 'sent', 'retrying']
const ASK_AGAIN_MILLISECONDS = 500

/**
 * The event as the service shows it, once its deliveries are settled or patience has ended. Null
 * when the service has no such event.
 */
export async function readStored(
  { base_url, tracker_secret }: Credentials,
  eventId: string,
  { deadline }: Patience,
): Promise<StoredEvent | null> {
  for (;;) {
    const isLast = deadline.aborted
    const response = await fetch(`${base_url}/events/${encodeURIComponent(eventId)}`, {
      headers: { authorization: `Bearer ${tracker_secret}` },
    })
    const text = await response.text()
    if (response.status === 404) return null
    const stored = response.status === 200 ? (parseExactly(text) as StoredEvent) : null
    if (stored && (isLast || !isUnderWay(stored))) return stored
    const isBusy = response.status === 429 || response.status === 503
    if (!stored && (isLast || !isBusy)) {
      throw new Error(`GET ${response.url} answered ${response.status}: ${text.slice(0, 200)}`)
    }
    await delay(ASK_AGAIN_MILLISECONDS)
  }
}

function isUnderWay({ deliveries }: StoredEvent): boolean {
  return deliveries.some(({ status }) => UNDER_WAY.includes(status))
}
