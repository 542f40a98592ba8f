import { parseExactly } from './parse-exactly.ts'
import type { Credentials } from './read-credentials.ts'

/** One copy of an event that the simulator took, with numbers as text. */
export interface Receipt {
  dataset: string
  event_name: string
  event_time: string
  user_data: { external_id?: string[] }
  custom_data: { value?: string; currency?: string; num_items?: string }
  /** A further copy within 48 hours: received, and not counted again. */
  deduplicated: boolean
}

/** What the simulator counted for one dataset, with numbers as text. */
export interface Summary {
  unique_events: string
  deduplicated: string
  value_by_currency: Record<string, string>
}

export async function readReceived(
  { simulator_url }: Credentials,
  eventId: string,
): Promise<Receipt[]> {
  const query = new URLSearchParams({ event_id: eventId })
  const { events } = (await ask(`${simulator_url}/_simulator/received?${query}`)) as {
    events: Receipt[]
  }
  return events
}

export async function readSummary(
  { simulator_url }: Credentials,
  dataset: string,
): Promise<Summary> {
  const query = new URLSearchParams({ dataset })
  return (await ask(`${simulator_url}/_simulator/summary?${query}`)) as Summary
}

async function ask(url: string): Promise<unknown> {
  const response = await fetch(url)
  const text = await response.text()
  if (response.status === 200) return parseExactly(text)
  throw new Error(`GET ${url} answered ${response.status}: ${text.slice(0, 200)}`)
}
