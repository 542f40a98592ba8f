import { memberSlices } from './json-slice.ts'
import type { Receipt } from './received-events.ts'

/** Members of an event that have a place of their own in the printed receipt, in this order. */
const SHOWN = ['event_id', 'event_name', 'event_time', 'user_data', 'custom_data']

/**
 * One receipt as JSON text. Every value of the event is copied byte for byte from what was sent,
 * never parsed and printed again, so 19.90 stays 19.90; what the event does not have is null.
 */
export function printReceipt({ batch, start, deduplicated }: Receipt): string {
  const members = memberSlices(batch.bytes, start)
  const printed = [printMember('dataset', JSON.stringify(batch.dataset))]
  for (const name of SHOWN) {
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
