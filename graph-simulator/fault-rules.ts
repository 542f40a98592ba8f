import {
  checkObject,
  type FieldErrors,
  flag,
  integer,
  list,
  number,
  object,
  oneOf,
  text,
  timestamp,
} from './field-check.ts'
import { EVENTS_MAX } from './validate-events.ts'

/** The edges of the Graph API that exist here. */
export type FaultEdge = 'events' | 'stats' | 'dataset_quality'

/** One scripted failure, as posted to /_simulator/faults. Wire names throughout. */
export interface FaultRule {
  /** The edge whose requests it hits; `events` when left out. */
  edge?: FaultEdge
  /** Conditions, all of which must hold; left out, the rule fits every request. */
  match?: FaultMatch
  /** How often the rule may fire; left out, for ever. */
  times?: number
  /** Chance from 0 to 1 that a fitting request is hit; left out, always. */
  probability?: number
  /** Start of the rule's own random sequence, so that a run can be repeated; 1 when left out. */
  seed?: number
  /** Answer this instead of processing the request; nothing is kept. */
  respond?: FaultResponse
  /** Added to whatever answer the request gets, an ordinary one too; they win over all others. */
  headers?: Record<string, string>
  /** Keep only the first so many events of a valid request, and say so in `events_received`. */
  keep_events?: number
  /** Wait before the answer. What is kept is kept on arrival, before the wait. */
  delay_ms?: number
  /** Close the connection without an answer: untouched, or after the events were kept. */
  abort?: 'before_response' | 'after_store'
  /** Announce the whole answer, send only so many bytes of its body, then close. */
  truncate?: number
}

export interface FaultMatch {
  dataset?: string
  /** Fits a request in which one event carries the name (and the id, when both are given). */
  event_name?: string
  event_id?: string
  /** True: only requests with a test_event_code. False: only those without. */
  test?: boolean
  /** ISO 8601 with offset: the rule fits from this time on. */
  from?: string
  /** ISO 8601 with offset: the rule fits before this time. */
  until?: string
}

export interface FaultResponse {
  status: number
  /** Members of Graph's error body; what is left out is left out there too. */
  code?: number
  subcode?: number
  message?: string
  is_transient?: boolean
  user_title?: string
  user_msg?: string
  /** Raw text in place of Graph's error body, such as a proxy's HTML page. */
  body?: string
  headers?: Record<string, string>
}

const RULES_MAX = 100
const DELAY_MS_MAX = 600_000
const BODY_LENGTH_MAX = 512 * 1_024
const HEADERS_MAX = 50
const INT32_MAX = 2 ** 31 - 1

/** Node writes these itself; a scripted value would break the framing of the connection. */
const FRAMING_HEADERS = ['content-length', 'transfer-encoding', 'trailer']
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/
const HEADER_VALUE = /^[\t\x20-\x7e]{0,4096}$/

const MATCH = {
  dataset: text(1, 64),
  event_name: text(1, 1_000),
  event_id: text(1, 1_000),
  test: flag,
  from: timestamp,
  until: timestamp,
}

const RESPOND = {
  status: integer(200, 599),
  code: integer(-INT32_MAX, INT32_MAX),
  subcode: integer(-INT32_MAX, INT32_MAX),
  message: text(0, 10_000),
  is_transient: flag,
  user_title: text(0, 10_000),
  user_msg: text(0, 10_000),
  body: text(0, BODY_LENGTH_MAX),
  headers: checkHeaders,
}

const RULE = {
  edge: oneOf('events', 'stats', 'dataset_quality'),
  match: object(MATCH),
  times: integer(1, INT32_MAX),
  probability: number(0, 1),
  seed: integer(0, 2 ** 32 - 1),
  respond: object(RESPOND, ['status']),
  headers: checkHeaders,
  keep_events: integer(0, EVENTS_MAX),
  delay_ms: integer(1, DELAY_MS_MAX),
  abort: oneOf('before_response', 'after_store'),
  truncate: integer(0, INT32_MAX),
}

const EFFECTS = ['respond', 'headers', 'keep_events', 'delay_ms', 'abort', 'truncate'] as const

const BODY = { rules: list(checkRule, RULES_MAX) }

/** Reads the body of POST /_simulator/faults; names every wrong field by its dotted path. */
export function parseFaultRules(body: unknown): { rules: FaultRule[] } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  checkObject(body, { path: '', members: BODY, required: ['rules'] }, errors)
  if (Object.keys(errors).length > 0) return { errors }
  return body as { rules: FaultRule[] }
}

function checkRule(value: unknown, path: string, errors: FieldErrors): void {
  checkObject(value, { path, members: RULE, required: [] }, errors)
  if (typeof value !== 'object' || value === null) return
  const effects = value as FaultRule
  const { respond, abort, truncate, keep_events } = effects
  if (EFFECTS.every(name => effects[name] === undefined))
    errors[path] = [`Say what happens: one of ${EFFECTS.join(', ')}.`]
  if (abort !== undefined && (respond ?? effects.headers ?? truncate) !== undefined)
    errors[`${path}.abort`] = [
      'An aborted request has no answer: leave out respond, headers and truncate.',
    ]
  if (keep_events !== undefined && (respond !== undefined || abort === 'before_response'))
    errors[`${path}.keep_events`] = ['Nothing of this request is kept: leave out keep_events.']
  if (effects.edge !== undefined && effects.edge !== 'events')
    checkReportRule(effects, path, errors)
}

/** Requests to the other edges carry no events and leave nothing behind. */
function checkReportRule(
  { match, keep_events, abort }: FaultRule,
  path: string,
  errors: FieldErrors,
) {
  for (const name of ['event_name', 'event_id', 'test'] as const) {
    if (match?.[name] !== undefined)
      errors[`${path}.match.${name}`] = ['Requests to this edge carry no events: leave it out.']
  }
  if (keep_events !== undefined)
    errors[`${path}.keep_events`] = ['Requests to this edge carry no events: leave it out.']
  if (abort === 'after_store')
    errors[`${path}.abort`] = ['This edge stores nothing: say before_response.']
}

function checkHeaders(value: unknown, path: string, errors: FieldErrors): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors[path] = ['Must be an object of header names and values.']
    return
  }
  const entries = Object.entries(value)
  if (entries.length > HEADERS_MAX) errors[path] = [`At most ${HEADERS_MAX} headers.`]
  for (const [name, content] of entries.slice(0, HEADERS_MAX)) {
    const sentence = findHeaderError(name, content)
    if (sentence) errors[`${path}.${name}`] = [sentence]
  }
}

function findHeaderError(name: string, content: unknown): string | undefined {
  if (!HEADER_NAME.test(name)) return 'Is no header name.'
  if (FRAMING_HEADERS.includes(name.toLowerCase())) return 'Is written by the simulator itself.'
  if (typeof content !== 'string' || !HEADER_VALUE.test(content))
    return 'Must be a string of printable ASCII, at most 4096 characters.'
  return undefined
}
