import { flag, integer, object, text } from '../field-check.ts'
import { type HttpResponse, jsonResponse, withHeaders } from '../http-messages.ts'
import {
  createRuleParser,
  INT32_MAX,
  isWithin,
  RESPONSE_MEMBERS,
  type RuleBase,
  TIME_MEMBERS,
  type TimeRange,
} from '../rule-parser.ts'

/** One fault rule, as posted to /_simulator/pinterest/faults. Wire names throughout. */
export interface PinterestFaultRule extends RuleBase {
  match?: PinterestMatch
  respond?: PinterestFaultResponse
  /** Process the request, and answer 422 without the results of its events. */
  omit_results?: boolean
}

interface PinterestMatch extends TimeRange {
  ad_account?: string
  event_id?: string
  /** True: only requests with `?test=true`. False: only those without. */
  test?: boolean
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

const MATCH = {
  ad_account: text(1, 20),
  event_id: text(1, 1_000),
  test: flag,
  ...TIME_MEMBERS,
}

const RESPOND = {
  ...RESPONSE_MEMBERS,
  code: integer(0, INT32_MAX),
  message: text(0, 10_000),
}

/** Parses the body of POST /_simulator/pinterest/faults; errors name every invalid field. */
export const parsePinterestFaultRules = createRuleParser<PinterestFaultRule>({
  members: {
    match: object(MATCH),
    respond: object(RESPOND, ['status']),
    omit_results: flag,
  },
  effects: ['respond', 'omit_results', 'headers', 'delay_ms', 'abort', 'truncate'],
})

export function matchesPinterestRequest(
  { match = {} }: PinterestFaultRule,
  { adAccount, isTest, events, at }: PinterestCandidate,
): boolean {
  const { ad_account, event_id, test } = match
  if (ad_account !== undefined && ad_account !== adAccount) return false
  if (test !== undefined && test !== isTest) return false
  if (!isWithin(match, at)) return false
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
  headers,
}: PinterestFaultResponse): HttpResponse {
  const scripted = pinterestError(status, message, code === undefined ? {} : { code })
  return withHeaders({ ...scripted, ...(body !== undefined && { body }) }, headers)
}
