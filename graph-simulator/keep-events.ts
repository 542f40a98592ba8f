import type { Counted } from './dataset-tally.ts'
import { type ExactDecimal, exactDecimal } from './exact-decimal.ts'
import type { GraphRefusal } from './graph-refusal.ts'
import { elementBounds, memberSlice } from './json-slice.ts'
import { matchKeysOf } from './match-keys.ts'
import type { EventsRequest } from './read-events-request.ts'
import type { ReceivedEvent } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { badNumber } from './validate-value.ts'

export interface Keeping {
  dataset: string
  /** Its events have passed validateEvents; of those in its bytes, the first may be all. */
  request: EventsRequest
  requestId: string
  receivedAt: Date
}

type ValidEvent = {
  event_name: string
  event_time: number
  action_source: string
  user_data: Record<string, unknown>
  event_id?: string | null
  custom_data?: { currency: string }
}

type Purchase = { value: ExactDecimal; currency: string }

/**
 * Keeps a valid request and counts it. Refuses, before anything is kept, a Purchase whose value has
 * more digits than can be summed exactly; that shows only in the text, not in the parsed number.
 */
export function keepEvents(state: SimulatorState, keeping: Keeping): GraphRefusal | undefined {
  const { dataset, request, requestId, receivedAt } = keeping
  const events = request.events as ValidEvent[]
  const bounds = elementBounds(request.bytes, request.dataStart)
  const start = bounds[0] ?? 0
  // Only the events are kept: around them stands the access token.
  const end = bounds[events.length * 2 - 1] ?? start
  const bytes = Buffer.from(request.bytes.subarray(start, end))
  const places = events.map(
    (event, index): ReceivedEvent => ({
      // An empty event_id names nothing; it is shown, but finds and deduplicates nothing.
      eventId: event.event_id || null,
      eventName: event.event_name,
      start: (bounds[index * 2] ?? 0) - start,
    }),
  )

  const purchases: (Purchase | undefined)[] = []
  for (const [index, event] of events.entries()) {
    const purchase = purchaseOf(event, bytes, places[index]?.start ?? 0)
    if (purchase === 'unreadable') return badNumber()
    purchases.push(purchase)
  }

  const { testEventCode, partnerAgent } = request
  const receipts = state.received.keep(
    { dataset, testEventCode, partnerAgent, requestId, receivedAt, bytes },
    places,
  )
  const isTest = testEventCode !== null
  state.tallies.countAccepted(
    dataset,
    receipts.map(
      ({ deduplicated }, index): Counted => ({ isTest, deduplicated, purchase: purchases[index] }),
    ),
  )
  for (const event of events) countForReports(state, event, { dataset, isTest, receivedAt })
  return undefined
}

interface Arriving {
  dataset: string
  isTest: boolean
  receivedAt: Date
}

/** For the stats edge, and, of what happened on a website, for the quality edge. */
function countForReports(
  { counts, matchKeys }: SimulatorState,
  { event_name: eventName, event_id, event_time, action_source, user_data }: ValidEvent,
  { dataset, isTest, receivedAt }: Arriving,
): void {
  const eventTime = new Date(event_time * 1_000)
  const named = { dataset, eventName, eventTime }
  counts.countServer({ ...named, eventId: event_id || null, isTest, count: 1 }, receivedAt)
  if (action_source === 'website')
    matchKeys.count({ ...named, keys: matchKeysOf(user_data) }, receivedAt)
}

function purchaseOf(
  { event_name, custom_data }: ValidEvent,
  bytes: Buffer,
  start: number,
): Purchase | 'unreadable' | undefined {
  if (event_name !== 'Purchase' || !custom_data) return undefined
  const customData = memberSlice(bytes, start, 'custom_data')
  const slice = customData && memberSlice(bytes, customData.start, 'value')
  const value = slice && exactDecimal(numberText(bytes.toString('utf8', slice.start, slice.end)))
  return value ? { value, currency: custom_data.currency } : 'unreadable'
}

/** A numeric string stands in quotes, and JSON may have written its digits as escapes. */
function numberText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}
