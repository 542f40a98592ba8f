import {
  APITimeoutError,
  type Event,
  type EventDetail,
  NotFoundError,
  type Signalbox,
} from '@signalbox/sdk'
import { parseExactJson } from './exact-numbers.ts'
import type { Credentials } from './read-credentials.ts'

/** What is compared of a stored event. Amounts are text with the digits that were sent. */
export interface StoredEvent {
  event: Pick<
    Event,
    'id' | 'event_name' | 'event_time' | 'value_amount' | 'value_currency' | 'value_data'
  >
  deliveries: Pick<EventDetail['deliveries'][number], 'status' | 'explanation'>[]
}

/**
 * Returns the event once its deliveries are settled, or as it is when the time is over. Null if the
 * service has no such event.
 */
export async function readStoredEvent(
  client: Signalbox,
  eventId: string,
  waitMillisecondsMax: number,
): Promise<StoredEvent | null> {
  try {
    return await client.events.waitForDelivery(eventId, { timeout: waitMillisecondsMax })
  } catch (error) {
    if (error instanceof NotFoundError) return null
    if (error instanceof APITimeoutError) return client.events.get(eventId)
    throw error
  }
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
