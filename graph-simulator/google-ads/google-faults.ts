import { flag, object, oneOf, text } from '../field-check.ts'
import { type HttpResponse, withHeaders } from '../http-messages.ts'
import {
  createRuleParser,
  isWithin,
  RESPONSE_MEMBERS,
  type RuleBase,
  TIME_MEMBERS,
  type TimeRange,
} from '../rule-parser.ts'
import { googleErrorResponse, newRequestId, statusOf } from './google-errors.ts'
import { isObject } from './json-numbers.ts'

export type GoogleEdge = 'ingest' | 'request_status' | 'token'

/** One fault rule, as posted to /_simulator/google/faults. Wire names throughout. */
export interface GoogleFaultRule extends RuleBase {
  /** The address of the requests. Default: `ingest`. */
  edge?: GoogleEdge
  match?: GoogleMatch
  respond?: GoogleFaultResponse
}

interface GoogleMatch extends TimeRange {
  account?: string
  conversion_action?: string
  transaction_id?: string
  /** True: only requests with `validateOnly`. False: only those without. */
  validate_only?: boolean
}

interface GoogleFaultResponse {
  status: number
  /** `ErrorInfo.reason`. Default: the status of Google's body. */
  reason?: string
  message?: string
  /** Raw text instead of Google's error body, such as a proxy's HTML page. */
  body?: string
  headers?: Record<string, string>
}

/** The parts of a request that a rule can match. */
export interface GoogleCandidate {
  edge: GoogleEdge
  /** The parsed body, not yet validated. */
  body: unknown
  at: Date
}

const MATCH = {
  account: text(1, 20),
  conversion_action: text(1, 20),
  transaction_id: text(1, 512),
  validate_only: flag,
  ...TIME_MEMBERS,
}

const RESPOND = {
  ...RESPONSE_MEMBERS,
  reason: text(1, 200),
  message: text(0, 10_000),
}

/** Parses the body of POST /_simulator/google/faults; errors name every invalid field. */
export const parseGoogleFaultRules = createRuleParser<GoogleFaultRule>({
  members: {
    edge: oneOf('ingest', 'request_status', 'token'),
    match: object(MATCH),
    respond: object(RESPOND, ['status']),
  },
})

export function matchesGoogleRequest(rule: GoogleFaultRule, candidate: GoogleCandidate): boolean {
  const { edge, body, at } = candidate
  if ((rule.edge ?? 'ingest') !== edge) return false
  const { validate_only, ...named } = rule.match ?? {}
  if (!isWithin(named, at)) return false
  const request = isObject(body) ? body : {}
  if (validate_only !== undefined && validate_only !== (request.validateOnly === true)) return false
  return matchesNames(named, request)
}

type NamedMatch = Pick<GoogleMatch, 'account' | 'conversion_action' | 'transaction_id'>

function matchesNames(match: NamedMatch, request: Record<string, unknown>): boolean {
  const { account, conversion_action: action, transaction_id: transaction } = match
  const destinations = objectsOf(request.destinations)
  const isAccount = (one: Record<string, unknown>) =>
    isObject(one.operatingAccount) && one.operatingAccount.accountId === account
  return (
    (account === undefined || destinations.some(isAccount)) &&
    (action === undefined || destinations.some(one => one.productDestinationId === action)) &&
    (transaction === undefined ||
      objectsOf(request.events).some(one => one.transactionId === transaction))
  )
}

function objectsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** The response of a fault rule. Its headers override ours. */
export function scriptedGoogleResponse({
  status,
  reason = statusOf(status),
  message = 'Scripted failure.',
  body,
  headers,
}: GoogleFaultResponse): HttpResponse {
  const error = { code: status, status: statusOf(status), message, reason }
  const scripted = googleErrorResponse(error, newRequestId())
  return withHeaders({ ...scripted, ...(body !== undefined && { body }) }, headers)
}
