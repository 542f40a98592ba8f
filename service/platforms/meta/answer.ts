import type { SendAnswer, SendError, SendOutcome } from '../send-outcome.ts'

const TEXT_CHARACTERS_MAX = 500

export interface MetaResponse {
  status: number
  body: string
  /** How long the rate-limit headers ask us to wait, in seconds; 0 when they say nothing. */
  waitSeconds: number
}

/** Reads Meta's answer to a batch of `sentCount` events (Meta: Graph API, Handling Errors). */
export function readMetaAnswer(response: MetaResponse, sentCount: number): SendAnswer {
  const body = parseObject(response.body)
  const error = objectMember(body, 'error')
  if (error) return refused(response, error)
  if (response.status === 200 && body?.events_received === sentCount) {
    return {
      outcome: { kind: 'accepted' },
      httpStatus: 200,
      traceId: textMember(body, 'fbtrace_id'),
      answer: { events_received: sentCount, messages: body.messages ?? [] },
      error: null,
    }
  }
  return unreadable(response, body)
}

/** The request went out, or not even that, and no answer came back. */
export function noAnswer(kind: 'retry' | 'unknown', message: string): SendAnswer {
  return {
    outcome: { kind },
    httpStatus: null,
    traceId: null,
    answer: null,
    error: errorOf(kind, { message }),
  }
}

function refused(response: MetaResponse, error: Record<string, unknown>): SendAnswer {
  const code = integerMember(error, 'code')
  const subcode = integerMember(error, 'error_subcode')
  const isTransient = error.is_transient === true
  const outcome = outcomeOf({ code, subcode, isTransient, waitSeconds: response.waitSeconds })
  return {
    outcome,
    httpStatus: response.status,
    traceId: textMember(error, 'fbtrace_id'),
    answer: { error: publicMembers(error) },
    error: errorOf(outcome.kind, {
      code,
      subcode,
      message: textMember(error, 'message') ?? 'The platform gave no reason.',
      user_title: textMember(error, 'error_user_title'),
      user_message: textMember(error, 'error_user_msg'),
      http_status: response.status,
    }),
  }
}

interface MetaCode {
  code: number | null
  subcode: number | null
  isTransient: boolean
  waitSeconds: number
}

const ACCESS_SUBCODE = 33
const THROTTLE_WAIT_SECONDS_MIN = 60
const THROTTLE_CODES = new Set([4, 17, 32, 613])
const RETRY_CODES = new Set([1, 2, 341, 368, 5_000])
const AUTH_CODES = new Set([102, 190])
const CONFIG_CODES = new Set([3, 10, 104, 803, 2_500, 2_635])

/** By code and subcode alone: text, `type` and the HTTP status mean nothing reliable at Meta. */
function outcomeOf({ code, subcode, isTransient, waitSeconds }: MetaCode): SendOutcome {
  if (code === null) return { kind: 'unknown' }
  if (AUTH_CODES.has(code)) return { kind: 'auth' }
  if (THROTTLE_CODES.has(code) || (code >= 80_000 && code <= 80_014)) {
    return { kind: 'throttle', waitSeconds: Math.max(waitSeconds, THROTTLE_WAIT_SECONDS_MIN) }
  }
  if (isTransient || code < 0 || RETRY_CODES.has(code)) return { kind: 'retry' }
  if (CONFIG_CODES.has(code) || (code >= 200 && code <= 299)) return { kind: 'config' }
  if (code === 100 && subcode === ACCESS_SUBCODE) return { kind: 'config' }
  if (code === 100) return { kind: 'permanent', divisible: true }
  if (code === 506) return { kind: 'permanent', divisible: false }
  return { kind: 'unknown' }
}

/** HTML from a proxy, an empty or cut body, or fewer events received than were sent. */
function unreadable(response: MetaResponse, body: Record<string, unknown> | null): SendAnswer {
  const received = body?.events_received
  const message =
    received === undefined
      ? `The platform answered HTTP ${response.status} without a readable body.`
      : `The platform reports ${JSON.stringify(received)} events received, not as many as sent.`
  return {
    outcome: { kind: 'unknown' },
    httpStatus: response.status,
    traceId: textMember(body, 'fbtrace_id'),
    answer: received === undefined ? null : { events_received: received },
    error: errorOf('unknown', { message, http_status: response.status }),
  }
}

function errorOf(
  kind: SendOutcome['kind'],
  known: Partial<SendError> & { message: string },
): SendError {
  return {
    class: kind === 'accepted' ? 'unknown' : kind,
    code: null,
    subcode: null,
    user_title: null,
    user_message: null,
    http_status: null,
    ...known,
  }
}

const PUBLIC_MEMBERS = [
  'message',
  'type',
  'code',
  'error_subcode',
  'is_transient',
  'error_user_title',
  'error_user_msg',
  'fbtrace_id',
  'error_data',
]

function publicMembers(error: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    PUBLIC_MEMBERS.filter(name => error[name] !== undefined).map(name => {
      const value = error[name]
      return [name, typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : value]
    }),
  )
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function objectMember(body: Record<string, unknown> | null, name: string) {
  const value = body?.[name]
  return isObject(value) ? value : null
}

function textMember(body: Record<string, unknown> | null, name: string): string | null {
  const value = body?.[name]
  return typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : null
}

function integerMember(body: Record<string, unknown>, name: string): number | null {
  const value = body[name]
  return Number.isSafeInteger(value) ? (value as number) : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
