import { flag, integer, object, text } from './field-check.ts'
import { type HttpResponse, withHeaders } from './http-messages.ts'
import {
  createRuleParser,
  INT32_MAX,
  isWithin,
  RESPONSE_MEMBERS,
  type RuleBase,
  TIME_MEMBERS,
  type TimeRange,
} from './rule-parser.ts'

/** One rule, as posted to `/_simulator/<name>/faults`. Wire names throughout. */
export interface ConversionFaultRule extends RuleBase {
  match?: TimeRange & { account?: string; event_id?: string; test?: boolean }
  respond?: {
    status: number
    code?: number
    message?: string
    /** Raw text instead of the platform's error, such as a proxy's HTML page. */
    body?: string
    headers?: Record<string, string>
  }
  /** Process the request, and answer without the results of its events. */
  omit_results?: boolean
}

export interface FaultCandidate {
  account: string
  isTest: boolean
  eventIds: unknown[]
  at: Date
}

const MATCH = { account: text(1, 100), event_id: text(1, 1_000), test: flag, ...TIME_MEMBERS }
const RESPOND = { ...RESPONSE_MEMBERS, code: integer(0, INT32_MAX), message: text(0, 10_000) }
const EFFECTS = ['respond', 'headers', 'delay_ms', 'abort', 'truncate']

export function createRules({ canOmitResults }: { canOmitResults: boolean }) {
  const members = { match: object(MATCH), respond: object(RESPOND, ['status']) }
  if (!canOmitResults) return createRuleParser<ConversionFaultRule>({ members })
  return createRuleParser<ConversionFaultRule>({
    members: { ...members, omit_results: flag },
    effects: [...EFFECTS, 'omit_results'],
  })
}

export function matchesRequest(
  { match = {} }: ConversionFaultRule,
  candidate: FaultCandidate,
): boolean {
  if (match.account !== undefined && match.account !== candidate.account) return false
  if (match.test !== undefined && match.test !== candidate.isTest) return false
  if (!isWithin(match, candidate.at)) return false
  return match.event_id === undefined || candidate.eventIds.includes(match.event_id)
}

/** The response of a fault rule. Its headers override ours. */
export function scriptedResponse(
  refuse: (status: number, message: string, code?: number) => HttpResponse,
  { respond = { status: 500 } }: ConversionFaultRule,
): HttpResponse {
  const { status, code, message = 'Scripted failure.', body, headers } = respond
  const scripted = refuse(status, message, code)
  return withHeaders({ ...scripted, ...(body !== undefined && { body }) }, headers)
}
