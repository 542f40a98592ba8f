import { parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { SendAnswer, SendOutcome } from '../platform.ts'
import { type Advice, describeUnreadable, toRefusedAnswer } from '../refused-answer.ts'

const OK = 0
/** Some of the events were taken. TikTok documents it for other calls; it does not say which. */
const PARTLY_TAKEN = 20_001

/**
 * Reads the answer to a request. TikTok answers HTTP 200 also where it refuses: the outcome is the
 * `code` of the body, one for all events. Its messages repeat values of events, so none is kept.
 */
export function readTrackAnswer(response: ApiResponse, eventCount: number): SendAnswer {
  const body = parseJsonObject(response.body)
  const code = Number.isSafeInteger(body?.code) ? (body?.code as number) : null
  const traceId = readRequestId(body?.request_id)
  const isTaken = code === OK || (code === PARTLY_TAKEN && eventCount === 1)
  if (isTaken && response.status < 300) {
    return {
      outcome: 'accepted',
      waitSeconds: response.waitSeconds,
      httpStatus: response.status,
      traceId,
      answer: { events_received: eventCount, ...(code !== OK && { code }) },
      error: null,
    }
  }
  return readRefusal(response, { code, traceId, message: body?.message })
}

const REQUEST_ID = /^[\w-]{8,64}$/

function readRequestId(value: unknown): string | null {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : null
}

interface Refusal {
  code: number | null
  traceId: string | null
  message: unknown
}

function readRefusal(response: ApiResponse, { code, traceId, message }: Refusal): SendAnswer {
  const { status } = response
  return toRefusedAnswer(response, {
    outcome: classify(status, code),
    message: describe(status, code, message),
    advice: ADVICE,
    code,
    traceId,
    answer: code === null ? null : { code },
  })
}

interface KnownCode {
  outcome: Exclude<SendOutcome, 'accepted'>
  text: string
}

const TOKEN: KnownCode = { outcome: 'auth', text: 'The access token is invalid or expired.' }

/** From recorded answers of other senders; TikTok's own list could not be read. */
const CODES: ReadonlyMap<number, KnownCode> = new Map<number, KnownCode>([
  [PARTLY_TAKEN, { outcome: 'permanent', text: 'TikTok took a part of the events.' }],
  [40_000, { outcome: 'permanent', text: 'TikTok could not read the request.' }],
  [40_001, { outcome: 'config', text: 'The token has no permission for this event source.' }],
  [40_002, { outcome: 'permanent', text: 'An event has an invalid parameter.' }],
  [40_007, { outcome: 'config', text: 'The pixel or the event set does not exist.' }],
  [40_100, { outcome: 'throttle', text: 'Too many requests.' }],
  ...[40_101, 40_102, 40_104, 40_105].map((code): [number, KnownCode] => [code, TOKEN]),
  [50_002, { outcome: 'retry', text: 'TikTok is unavailable.' }],
])

/** A code that is not known says nothing about the events: TikTok may have them. */
function classify(status: number, code: number | null): KnownCode['outcome'] {
  if (status === 429) return 'throttle'
  if (status === 413) return 'permanent'
  return (code === null ? null : CODES.get(code)?.outcome) ?? 'unknown'
}

function describe(status: number, code: number | null, message: unknown): string {
  if (code === null) return describeUnreadable({ status })
  const known = CODES.get(code)?.text ?? `TikTok answered the code ${code}.`
  const where = typeof message === 'string' ? findPlace(message) : null
  return where === null ? known : `${known} ${where}`
}

/** `Batch.0.properties.contents.0.content_id: Not a valid string`. */
const PLACE =
  /^(?:Batch|data)\.(\d{1,4})\.((?:[a-z_]{1,30}|\d{1,4})(?:\.(?:[a-z_]{1,30}|\d{1,4})){0,5}):/
/** Names of members, which no value of an event can be. */
const MEMBERS = new Set(
  `event event_time event_id user properties page url referrer limited_data_use email phone
  external_id first_name last_name zip_code ttclid ttp ip user_agent value currency order_id
  num_items content_type content_ids contents content_id content_name content_category brand price
  quantity query search_string predicted_ltv`.split(/\s+/),
)

/** Which member of which event a message names, without the rest of it. */
function findPlace(message: string): string | null {
  const [, index, path] = PLACE.exec(message) ?? []
  if (index === undefined || path === undefined) return null
  const isKnown = path.split('.').every(part => MEMBERS.has(part) || /^\d+$/.test(part))
  return isKnown ? `It is ${path} of the event at place ${Number(index) + 1}.` : null
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Advice = {
  auth: 'Generate a new access token in TikTok Events Manager.',
  config: 'Check the pixel ID and the event set ID, and that the token is of their ad account.',
}
