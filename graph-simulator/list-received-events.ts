import { type HttpResponse, jsonResponse, jsonTextResponse } from './http-messages.ts'
import { memberSlices } from './json-slice.ts'
import type { Receipt } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 10_000
/** The list ends early rather than grow past this; `count` still counts every match. */
const ANSWER_LENGTH_MAX = 64 * 1_024 * 1_024

/** GET /_simulator/received?dataset=&event_id=&limit= : the matches, oldest first. */
export function listReceivedEvents(state: SimulatorState, query: URLSearchParams): HttpResponse {
  const limit = parseLimit(query.get('limit'))
  if (limit === undefined) {
    const message = 'limit must be a whole number, 0 or more.'
    return jsonResponse(422, { message, errors: { limit: [message] } })
  }
  const { count, receipts } = state.received.find({
    dataset: query.get('dataset') ?? undefined,
    eventId: query.get('event_id') ?? undefined,
    limit,
  })
  const printed: string[] = []
  let length = 0
  for (const receipt of receipts) {
    const text = printReceipt(receipt)
    length += text.length
    if (length > ANSWER_LENGTH_MAX) break
    printed.push(text)
  }
  return jsonTextResponse(200, `{"count":${count},"events":[${printed.join(',')}]}`)
}

function parseLimit(text: string | null): number | undefined {
  if (text === null) return LIMIT_DEFAULT
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), LIMIT_MAX) : undefined
}

/** Members of an event that have a place of their own in the printed receipt, in this order. */
const EVENT_MEMBERS = ['event_id', 'event_name', 'event_time', 'user_data', 'custom_data']

/**
 * One receipt as JSON text. Every value of the event is copied byte for byte from what was sent,
 * never parsed and printed again, so 19.90 stays 19.90; what the event does not have is null.
 */
function printReceipt({ batch, start, deduplicated }: Receipt): string {
  const members = memberSlices(batch.bytes, start)
  const printed = [printMember('dataset', JSON.stringify(batch.dataset))]
  for (const name of EVENT_MEMBERS) {
    const slice = members.get(name)
    printed.push(printMember(name, slice ? textOf(slice) : 'null'))
    members.delete(name)
  }
  const others = [...members].map(([name, slice]) => printMember(name, textOf(slice)))
  printed.push(
    printMember('other_members', `{${others.join(',')}}`),
    printMember('test_event_code', JSON.stringify(batch.testEventCode)),
    printMember('partner_agent', JSON.stringify(batch.partnerAgent)),
    printMember('deduplicated', String(deduplicated)),
    printMember('request_id', JSON.stringify(batch.requestId)),
    printMember('received_at', JSON.stringify(batch.receivedAt)),
  )
  return `{${printed.join(',')}}`

  function textOf(slice: { start: number; end: number }): string {
    return batch.bytes.toString('utf8', slice.start, slice.end)
  }
}

function printMember(name: string, json: string): string {
  return `${JSON.stringify(name)}:${json}`
}
