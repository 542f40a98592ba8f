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

/** The simulated edges of the Graph API. */
export type FaultEdge = 'events' | 'stats' | 'dataset_quality'

/** When a fault rule fires and what it does to a response, for every simulated platform. */
export interface RuleBase {
  /** How often the rule may fire. Default: no limit. */
  times?: number
  /** Probability from 0 to 1 that the rule fires for a matching request. Default: 1. */
  probability?: number
  /** Seed of the rule's random sequence, so that a run can be repeated. Default: 1. */
  seed?: number
  /** Added to every response, ordinary ones included; they override all other headers. */
  headers?: Record<string, string>
  /** Delay of the response. Events are stored on arrival, before the delay. */
  delay_ms?: number
  /** Close the connection without a response, before or after the events are stored. */
  abort?: 'before_response' | 'after_store'
  /** Send the content-length of the whole response, but only this many bytes of its body. */
  truncate?: number
}

/** One fault rule, as posted to /_simulator/faults. Wire names throughout. */
export interface FaultRule extends RuleBase {
  /** The edge of the requests. Default: `events`. */
  edge?: FaultEdge
  /** Conditions that must all be true. Default: the rule matches every request. */
  match?: FaultMatch
  /** Return this response instead of processing the request; nothing is stored. */
  respond?: FaultResponse
  /** Store only the first events of a valid request, and return this `events_received`. */
  keep_events?: number
}

export interface FaultMatch {
  dataset?: string
  /** Matches a request with an event of this name (and of this ID, when both are given). */
  event_name?: string
  event_id?: string
  /** True: only requests with a test_event_code. False: only those without. */
  test?: boolean
  /** ISO 8601 with offset: the rule matches from this time on. */
  from?: string
  /** ISO 8601 with offset: the rule matches before this time. */
  until?: string
}

export interface FaultResponse {
  status: number
  /** Members of Graph's error body; omitted members are omitted there too. */
  code?: number
  subcode?: number
  message?: string
  is_transient?: boolean
  user_title?: string
  user_msg?: string
  /** Raw text instead of Graph's error body, such as a proxy's HTML page. */
  body?: string
  headers?: Record<string, string>
}

export const RULES_MAX = 100
export const DELAY_MS_MAX = 600_000
export const BODY_LENGTH_MAX = 512 * 1_024
const HEADERS_MAX = 50
const INT32_MAX = 2 ** 31 - 1

/** Node writes these itself; another value would break the framing of the connection. */
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

/** Parses the body of POST /_simulator/faults; errors name every invalid field. */
export function parseFaultRules(body: unknown): { rules: FaultRule[] } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  checkObject(body, { path: '', members: BODY, required: ['rules'] }, errors)
  if (Object.keys(errors).length > 0) return { errors }
  return body as { rules: FaultRule[] }
}

function checkRule(value: unknown, path: string, errors: FieldErrors): void {
  checkObject(value, { path, members: RULE, required: [] }, errors)
  if (typeof value !== 'object' || value === null) return
  const rule = value as FaultRule
  const { respond, abort, truncate, keep_events } = rule
  if (EFFECTS.every(name => rule[name] === undefined))
    errors[path] = [`Requires an effect: one of ${EFFECTS.join(', ')}.`]
  if (abort !== undefined && (respond ?? rule.headers ?? truncate) !== undefined)
    errors[`${path}.abort`] = [
      'An aborted request has no response: omit respond, headers and truncate.',
    ]
  if (keep_events !== undefined && (respond !== undefined || abort === 'before_response'))
    errors[`${path}.keep_events`] = ['This request stores nothing: omit keep_events.']
  if (rule.edge !== undefined && rule.edge !== 'events') checkReportRule(rule, path, errors)
}

/** Requests to the read-only edges contain no events and store nothing. */
function checkReportRule(
  { match, keep_events, abort }: FaultRule,
  path: string,
  errors: FieldErrors,
) {
  for (const name of ['event_name', 'event_id', 'test'] as const) {
    if (match?.[name] !== undefined)
      errors[`${path}.match.${name}`] = ['Requests to this edge contain no events: omit it.']
  }
  if (keep_events !== undefined)
    errors[`${path}.keep_events`] = ['Requests to this edge contain no events: omit it.']
  if (abort === 'after_store')
    errors[`${path}.abort`] = ['This edge stores nothing: use before_response.']
}

export function checkHeaders(value: unknown, path: string, errors: FieldErrors): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors[path] = ['Must be an object of header names and values.']
    return
  }
  const entries = Object.entries(value)
  if (entries.length > HEADERS_MAX) errors[path] = [`At most ${HEADERS_MAX} headers.`]
  for (const [name, content] of entries.slice(0, HEADERS_MAX)) {
    const message = findHeaderError(name, content)
    if (message) errors[`${path}.${name}`] = [message]
  }
}

function findHeaderError(name: string, content: unknown): string | undefined {
  if (!HEADER_NAME.test(name)) return 'Is not a header name.'
  if (FRAMING_HEADERS.includes(name.toLowerCase())) return 'Is set by the simulator.'
  if (typeof content !== 'string' || !HEADER_VALUE.test(content))
    return 'Must be a string of printable ASCII, at most 4096 characters.'
  return undefined
}
