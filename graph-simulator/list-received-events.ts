import { type HttpResponse, jsonResponse, jsonTextResponse } from './http-messages.ts'
import { memberSlices } from './json-slice.ts'
import type { Receipt } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 10_000
/** A longer list is truncated; `count` still counts every match. */
const RESPONSE_LENGTH_MAX = 64 * 1_024 * 1_024

/** GET /_simulator/received?dataset=&event_id=&limit= returns the matches, oldest first. */
export function listReceivedEvents(state: SimulatorState, query: URLSearchParams): HttpResponse {
  const limit = parseLimit(query.get('limit'))
  if (limit === undefined) {
    const message = 'limit must be an integer of 0 or more.'
    return jsonResponse(422, { message, errors: { limit: [message] } })
  }
  const { count, receipts } = state.received.find({
    dataset: query.get('dataset') ?? undefined,
    eventId: query.get('event_id') ?? undefined,
    limit,
  })
  const items: string[] = []
  let length = 0
  for (const receipt of receipts) {
    const text = formatReceipt(receipt)
    length += text.length
    if (length > RESPONSE_LENGTH_MAX) break
    items.push(text)
  }
  return jsonTextResponse(200, `{"count":${count},"events":[${items.join(',')}]}`)
}

function parseLimit(text: string | null): number | undefined {
  if (text === null) return LIMIT_DEFAULT
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), LIMIT_MAX) : undefined
}

/** Members of an event that the receipt shows at its top level, in this order. */
const EVENT_MEMBERS = ['event_id', 'event_name', 'event_time', 'user_data', 'custom_data']

/**
 * One receipt as JSON text. Every value of the event is copied byte for byte from the request and
 * never parsed and serialized again, so 19.90 stays 19.90. Missing members are null.
 */
function formatReceipt({ batch, start, deduplicated }: Receipt): string {
  const members = memberSlices(batch.bytes, start)
  const items = [formatMember('dataset', JSON.stringify(batch.dataset))]
  for (const name of EVENT_MEMBERS) {
    const slice = members.get(name)
    items.push(formatMember(name, slice ? sliceText(slice) : 'null'))
    members.delete(name)
  }
  const others = [...members].map(([name, slice]) => formatMember(name, sliceText(slice)))
  items.push(
    formatMember('other_members', `{${others.join(',')}}`),
    formatMember('test_event_code', JSON.stringify(batch.testEventCode)),
    formatMember('partner_agent', JSON.stringify(batch.partnerAgent)),
    formatMember('deduplicated', String(deduplicated)),
    formatMember('request_id', JSON.stringify(batch.requestId)),
    formatMember('received_at', JSON.stringify(batch.receivedAt)),
  )
  return `{${items.join(',')}}`

  function sliceText(slice: { start: number; end: number }): string {
    return batch.bytes.toString('utf8', slice.start, slice.end)
  }
}

function formatMember(name: string, json: string): string {
  return `${JSON.stringify(name)}:${json}`
}
