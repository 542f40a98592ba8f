import { setTimeout as delay } from 'node:timers/promises'
import { parseExactJson } from './exact-numbers.ts'
import type { Credentials } from './read-credentials.ts'

/** The response of GET /events/{id}, with numbers as text. */
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

interface ReadOptions {
  /** When to stop waiting for a pending delivery. */
  deadline: AbortSignal
}

const IN_PROGRESS_STATUSES = ['queued', 'sent', 'retrying']
const ASK_AGAIN_MILLISECONDS = 500

/**
 * Returns the event once its deliveries are settled, or at the deadline. Null if the service has no
 * such event.
 */
export async function readStoredEvent(
  { base_url, tracker_secret }: Credentials,
  eventId: string,
  { deadline }: ReadOptions,
): Promise<StoredEvent | null> {
  for (;;) {
    const isLast = deadline.aborted
    const response = await fetch(`${base_url}/events/${encodeURIComponent(eventId)}`, {
      headers: { authorization: `Bearer ${tracker_secret}` },
    })
    const text = await response.text()
    if (response.status === 404) return null
    const stored = response.status === 200 ? (parseExactJson(text) as StoredEvent) : null
    if (stored && (isLast || !isInProgress(stored))) return stored
    const isBusy = response.status === 429 || response.status === 503
    if (!stored && (isLast || !isBusy)) {
      throw new Error(`GET ${response.url} answered ${response.status}: ${text.slice(0, 200)}`)
    }
    await delay(ASK_AGAIN_MILLISECONDS)
  }
}

function isInProgress({ deliveries }: StoredEvent): boolean {
  return deliveries.some(({ status }) => IN_PROGRESS_STATUSES.includes(status))
}

/** One receipt of an event by the simulator, with numbers as text. */
export interface Receipt {
  dataset: string
  event_name: string
  event_time: string
  user_data: { external_id?: string[] }
  custom_data: { value?: string; currency?: string; num_items?: string }
  /** Whether it is a duplicate within 48 hours, which is not counted again. */
  deduplicated: boolean
}

/** The simulator's counts for one dataset, with numbers as text. */
interface Summary {
  unique_events: string
  deduplicated: string
  value_by_currency: Record<string, string>
}

export async function readReceipts(
  { simulator_url }: Credentials,
  eventId: string,
): Promise<Receipt[]> {
  const query = new URLSearchParams({ event_id: eventId })
  const { events } = (await getJson(`${simulator_url}/_simulator/received?${query}`)) as {
    events: Receipt[]
  }
  return events
}

export async function readSummary(
  { simulator_url }: Credentials,
  dataset: string,
): Promise<Summary> {
  const query = new URLSearchParams({ dataset })
  return (await getJson(`${simulator_url}/_simulator/summary?${query}`)) as Summary
}

async function getJson(url: string): Promise<unknown> {
  const response = await fetch(url)
  const text = await response.text()
  if (response.status === 200) return parseExactJson(text)
  throw new Error(`GET ${url} answered ${response.status}: ${text.slice(0, 200)}`)
}
