import { type Answer, jsonAnswer, jsonTextAnswer } from './answer.ts'
import { printReceipt } from './print-receipt.ts'
import type { SimulatorState } from './simulator-state.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 10_000
/** The list ends early rather than grow past this; `count` still counts every match. */
const ANSWER_LENGTH_MAX = 64 * 1_024 * 1_024

/** GET /_simulator/received?dataset=&event_id=&limit= : the matches, oldest first. */
export function listReceived(state: SimulatorState, query: URLSearchParams): Answer {
  const limit = readLimit(query.get('limit'))
  if (limit === undefined) {
    const message = 'limit must be a whole number, 0 or more.'
    return jsonAnswer(422, { message, errors: { limit: [message] } })
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
  return jsonTextAnswer(200, `{"count":${count},"events":[${printed.join(',')}]}`)
}

function readLimit(text: string | null): number | undefined {
  if (text === null) return LIMIT_DEFAULT
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), LIMIT_MAX) : undefined
}
