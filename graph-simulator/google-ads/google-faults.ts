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
import type { HttpResponse } from '../http-messages.ts'
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

interface GoogleMatch {
  account?: string
  conversion_action?: string
  transaction_id?: string
  /** True: only requests with `validateOnly`. False: only those without. */
  validate_only?: boolean
  from?: string
  until?: string
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

const INT32_MAX = 2 ** 31 - 1

const MATCH = {
  account: text(1, 20),
  conversion_action: text(1, 20),
  transaction_id: text(1, 512),
  validate_only: flag,
  from: timestamp,
  until: timestamp,
}

const RESPOND = {
  status: integer(200, 599),
  reason: text(1, 200),
  message: text(0, 10_000),
  body: text(0, BODY_LENGTH_MAX),
  headers: checkHeaders,
}

const RULE = {
  edge: oneOf('ingest', 'request_status', 'token'),
  match: object(MATCH),
  times: integer(1, INT32_MAX),
  probability: number(0, 1),
  seed: integer(0, 2 ** 32 - 1),
  respond: object(RESPOND, ['status']),
  headers: checkHeaders,
  delay_ms: integer(1, DELAY_MS_MAX),
  abort: oneOf('before_response', 'after_store'),
  truncate: integer(0, INT32_MAX),
}

const EFFECTS = ['respond', 'headers', 'delay_ms', 'abort', 'truncate'] as const

/** Parses the body of POST /_simulator/google/faults; errors name every invalid field. */
export function parseGoogleFaultRules(
  body: unknown,
): { rules: GoogleFaultRule[] } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  const members = { rules: list(checkRule, RULES_MAX) }
  checkObject(body, { path: '', members, required: ['rules'] }, errors)
  return Object.keys(errors).length > 0 ? { errors } : (body as { rules: GoogleFaultRule[] })
}

function checkRule(value: unknown, path: string, errors: FieldErrors): void {
  checkObject(value, { path, members: RULE, required: [] }, errors)
  const rule = (value ?? {}) as GoogleFaultRule
  if (EFFECTS.every(name => rule[name] === undefined))
    errors[path] = [`Requires an effect: one of ${EFFECTS.join(', ')}.`]
  const { respond, abort, headers, truncate } = rule
  if (abort !== undefined && (respond ?? headers ?? truncate) !== undefined)
    errors[`${path}.abort`] = [
      'An aborted request has no response: omit respond, headers and truncate.',
    ]
}

export function matchesGoogleRequest(rule: GoogleFaultRule, candidate: GoogleCandidate): boolean {
  const { edge, body, at } = candidate
  if ((rule.edge ?? 'ingest') !== edge) return false
  const { from, until, validate_only, ...named } = rule.match ?? {}
  if (from !== undefined && at.getTime() < Date.parse(from)) return false
  if (until !== undefined && at.getTime() >= Date.parse(until)) return false
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
  headers = {},
}: GoogleFaultResponse): HttpResponse {
  const error = { code: status, status: statusOf(status), message, reason }
  const scripted = googleErrorResponse(error, newRequestId())
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    ...scripted,
    ...(body !== undefined && { body }),
    headers: { ...scripted.headers, ...Object.fromEntries(named) },
  }
}
