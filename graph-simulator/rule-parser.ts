import {
  checkObject,
  type FieldCheck,
  type FieldErrors,
  integer,
  list,
  number,
  oneOf,
  text,
  timestamp,
} from './field-check.ts'

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

/** The times at which a rule matches. ISO 8601 with offset. */
export interface TimeRange {
  /** From this time on. */
  from?: string
  /** Before this time. */
  until?: string
}

const RULES_MAX = 100
const DELAY_MS_MAX = 600_000
const BODY_LENGTH_MAX = 512 * 1_024
const HEADERS_MAX = 50
export const INT32_MAX = 2 ** 31 - 1

/** Node writes these itself; another value would break the framing of the connection. */
const FRAMING_HEADERS = ['content-length', 'transfer-encoding', 'trailer']
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/
const HEADER_VALUE = /^[\t\x20-\x7e]{0,4096}$/

export const TIME_MEMBERS = { from: timestamp, until: timestamp }

/** Of a response that a rule gives, with its status required. */
export const RESPONSE_MEMBERS = {
  status: integer(200, 599),
  body: text(0, BODY_LENGTH_MAX),
  headers: checkHeaders,
}

const BASE_MEMBERS = {
  times: integer(1, INT32_MAX),
  probability: number(0, 1),
  seed: integer(0, 2 ** 32 - 1),
  headers: checkHeaders,
  delay_ms: integer(1, DELAY_MS_MAX),
  abort: oneOf('before_response', 'after_store'),
  truncate: integer(0, INT32_MAX),
}

interface RuleForm<Rule> {
  /** Those of the platform. */
  members: Record<string, FieldCheck>
  /** Of which a rule needs one. */
  effects?: readonly string[]
  /** What else a rule of the platform must not be. */
  check?(rule: Rule, path: string, errors: FieldErrors): void
}

const EFFECTS = ['respond', 'headers', 'delay_ms', 'abort', 'truncate']

/** A parser of the body that sets the rules of a platform; errors name every invalid field. */
export function createRuleParser<Rule extends RuleBase>({
  members,
  effects = EFFECTS,
  check,
}: RuleForm<Rule>): (body: unknown) => { rules: Rule[] } | { errors: FieldErrors } {
  const own = { ...BASE_MEMBERS, ...members }
  const rules = list((value: unknown, path: string, errors: FieldErrors) => {
    checkObject(value, { path, members: own, required: [] }, errors)
    if (typeof value !== 'object' || value === null) return
    checkEffects(value as RuleBase, { effects, path }, errors)
    check?.(value as Rule, path, errors)
  }, RULES_MAX)
  return body => {
    const errors: FieldErrors = {}
    checkObject(body, { path: '', members: { rules }, required: ['rules'] }, errors)
    return Object.keys(errors).length > 0 ? { errors } : (body as { rules: Rule[] })
  }
}

function checkEffects(
  rule: RuleBase & { respond?: unknown },
  { effects, path }: { effects: readonly string[]; path: string },
  errors: FieldErrors,
): void {
  const { respond, abort, headers, truncate } = rule
  const given: Record<string, unknown> = { ...rule }
  if (effects.every(name => given[name] === undefined))
    errors[path] = [`Requires an effect: one of ${effects.join(', ')}.`]
  if (abort !== undefined && (respond ?? headers ?? truncate) !== undefined)
    errors[`${path}.abort`] = [
      'An aborted request has no response: omit respond, headers and truncate.',
    ]
}

/** Whether a rule with this range matches at a time. */
export function isWithin({ from, until }: TimeRange, at: Date): boolean {
  if (from !== undefined && at.getTime() < Date.parse(from)) return false
  return until === undefined || at.getTime() < Date.parse(until)
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
