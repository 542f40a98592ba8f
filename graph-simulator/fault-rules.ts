import { type FieldErrors, flag, integer, object, oneOf, text } from './field-check.ts'
import {
  createRuleParser,
  INT32_MAX,
  RESPONSE_MEMBERS,
  type RuleBase,
  TIME_MEMBERS,
  type TimeRange,
} from './rule-parser.ts'
import { EVENTS_MAX } from './validate-events.ts'

/** The simulated edges of the Graph API. */
export type FaultEdge = 'events' | 'stats' | 'dataset_quality'

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

export interface FaultMatch extends TimeRange {
  dataset?: string
  /** Matches a request with an event of this name (and of this ID, when both are given). */
  event_name?: string
  event_id?: string
  /** True: only requests with a test_event_code. False: only those without. */
  test?: boolean
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

const MATCH = {
  dataset: text(1, 64),
  event_name: text(1, 1_000),
  event_id: text(1, 1_000),
  test: flag,
  ...TIME_MEMBERS,
}

const RESPOND = {
  ...RESPONSE_MEMBERS,
  code: integer(-INT32_MAX, INT32_MAX),
  subcode: integer(-INT32_MAX, INT32_MAX),
  message: text(0, 10_000),
  is_transient: flag,
  user_title: text(0, 10_000),
  user_msg: text(0, 10_000),
}

const RULE = {
  edge: oneOf('events', 'stats', 'dataset_quality'),
  match: object(MATCH),
  respond: object(RESPOND, ['status']),
  keep_events: integer(0, EVENTS_MAX),
}

/** Parses the body of POST /_simulator/faults; errors name every invalid field. */
export const parseFaultRules = createRuleParser<FaultRule>({
  members: RULE,
  effects: ['respond', 'headers', 'keep_events', 'delay_ms', 'abort', 'truncate'],
  check: checkGraphRule,
})

function checkGraphRule(rule: FaultRule, path: string, errors: FieldErrors): void {
  const { respond, abort, keep_events } = rule
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
