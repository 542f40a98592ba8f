import {
  BODY_LENGTH_MAX,
  checkHeaders,
  DELAY_MS_MAX,
  RULES_MAX,
  type RuleBase,
} from '../fault-rules.ts'
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
} from '../field-check.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'

/** One fault rule, as posted to /_simulator/pinterest/faults. Wire names throughout. */
export interface PinterestFaultRule extends RuleBase {
  match?: PinterestMatch
  respond?: PinterestFaultResponse
  /** Process the request, and answer 422 without the results of its events. */
  omit_results?: boolean
}

interface PinterestMatch {
  ad_account?: string
  event_id?: string
  /** True: only requests with `?test=true`. False: only those without. */
  test?: boolean
  from?: string
  until?: string
}

interface PinterestFaultResponse {
  status: number
  /** Default: the code that Pinterest documents for the status, else 0. */
  code?: number
  message?: string
  /** Raw text instead of Pinterest's error body, such as a proxy's HTML page. */
  body?: string
  headers?: Record<string, string>
}

/** The parts of a request that a rule can match. */
export interface PinterestCandidate {
  adAccount: string
  isTest: boolean
  /** The parsed elements of `data`, not yet validated. */
  events: unknown[]
  at: Date
}

const INT32_MAX = 2 ** 31 - 1

const MATCH = {
  ad_account: text(1, 20),
  event_id: text(1, 1_000),
  test: flag,
  from: timestamp,
  until: timestamp,
}

const RESPOND = {
  status: integer(200, 599),
  code: integer(0, INT32_MAX),
  message: text(0, 10_000),
  body: text(0, BODY_LENGTH_MAX),
  headers: checkHeaders,
}

const RULE = {
  match: object(MATCH),
  times: integer(1, INT32_MAX),
  probability: number(0, 1),
  seed: integer(0, 2 ** 32 - 1),
  respond: object(RESPOND, ['status']),
  omit_results: flag,
  headers: checkHeaders,
  delay_ms: integer(1, DELAY_MS_MAX),
  abort: oneOf('before_response', 'after_store'),
  truncate: integer(0, INT32_MAX),
}

const EFFECTS = ['respond', 'omit_results', 'headers', 'delay_ms', 'abort', 'truncate'] as const

/** Parses the body of POST /_simulator/pinterest/faults; errors name every invalid field. */
export function parsePinterestFaultRules(
  body: unknown,
): { rules: PinterestFaultRule[] } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  const members = { rules: list(checkRule, RULES_MAX) }
  checkObject(body, { path: '', members, required: ['rules'] }, errors)
  return Object.keys(errors).length > 0 ? { errors } : (body as { rules: PinterestFaultRule[] })
}

function checkRule(value: unknown, path: string, errors: FieldErrors): void {
  checkObject(value, { path, members: RULE, required: [] }, errors)
  const rule = (value ?? {}) as PinterestFaultRule
  if (EFFECTS.every(name => rule[name] === undefined))
    errors[path] = [`Requires an effect: one of ${EFFECTS.join(', ')}.`]
  const { respond, abort, headers, truncate } = rule
  if (abort !== undefined && (respond ?? headers ?? truncate) !== undefined)
    errors[`${path}.abort`] = [
      'An aborted request has no response: omit respond, headers and truncate.',
    ]
}

export function matchesPinterestRequest(
  { match = {} }: PinterestFaultRule,
  { adAccount, isTest, events, at }: PinterestCandidate,
): boolean {
  const { ad_account, event_id, test, from, until } = match
  if (ad_account !== undefined && ad_account !== adAccount) return false
  if (test !== undefined && test !== isTest) return false
  if (from !== undefined && at.getTime() < Date.parse(from)) return false
  if (until !== undefined && at.getTime() >= Date.parse(until)) return false
  if (event_id === undefined) return true
  return events.some(event => (event as { event_id?: unknown } | null)?.event_id === event_id)
}

/** The codes that Pinterest's OpenAPI gives for each status. */
const CODES: Record<number, number> = { 400: 4_196, 401: 2, 403: 29, 429: 8, 503: 4_197 }

export function pinterestError(
  status: number,
  message: string,
  more: Record<string, unknown> = {},
): HttpResponse {
  return jsonResponse(status, { code: CODES[status] ?? 0, message, ...more })
}

/** The response of a fault rule. Its headers override ours. */
export function scriptedPinterestResponse({
  status,
  code,
  message = 'Scripted failure.',
  body,
  headers = {},
}: PinterestFaultResponse): HttpResponse {
  const scripted = pinterestError(status, message, code === undefined ? {} : { code })
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    ...scripted,
    ...(body !== undefined && { body }),
    headers: { ...scripted.headers, ...Object.fromEntries(named) },
  }
}
