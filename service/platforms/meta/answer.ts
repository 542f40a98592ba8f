import { isObject, parseJsonObject } from '../../util/is-object.ts'
import type { SendAnswer, SendError } from '../platform.ts'
import { classifyErrorCode, classifyHttpStatus } from './error-codes.ts'

const TEXT_CHARACTERS_MAX = 500

export interface MetaResponse {
  status: number
  body: string
  /** How long the headers ask the client to wait, in seconds; 0 without a request. */
  waitSeconds: number
  /** The trace id from the headers, for answers whose body names none. */
  traceId: string | null
}

/** Reads Meta's answer to a batch of `sentCount` events (Meta: Graph API, Handling Errors). */
export function readMetaAnswer(response: MetaResponse, sentCount: number): SendAnswer {
  const body = parseJsonObject(response.body)
  const error = objectMember(body, 'error')
  if (error) return readRefusal(response, error)
  if (response.status === 200 && body?.events_received === sentCount) {
    return {
      ...commonMembers(response, body),
      outcome: 'accepted',
      answer: { events_received: sentCount, messages: body.messages ?? [] },
      error: null,
    }
  }
  return readUnreadable(response, body)
}

/** No answer came back, whether or not the request went out. */
export function noAnswer(outcome: 'retry' | 'config' | 'unknown', message: string): SendAnswer {
  return {
    outcome,
    waitSeconds: 0,
    httpStatus: null,
    traceId: null,
    answer: null,
    error: toSendError(outcome, { message }),
  }
}

function readRefusal(response: MetaResponse, error: Record<string, unknown>): SendAnswer {
  const code = integerMember(error, 'code')
  const subcode = integerMember(error, 'error_subcode')
  const isTransient = error.is_transient === true
  const { outcome, waitSecondsMin } =
    code === null
      ? classifyHttpStatus(response.status)
      : classifyErrorCode({ code, subcode, isTransient })
  return {
    ...commonMembers(response, error),
    outcome,
    waitSeconds: Math.max(response.waitSeconds, waitSecondsMin),
    answer: { error: publicMembers(error) },
    error: toSendError(outcome, {
      code,
      subcode,
      message: textMember(error, 'message') || 'The platform gave no reason.',
      user_title: textMember(error, 'error_user_title'),
      user_message: textMember(error, 'error_user_msg'),
      http_status: response.status,
    }),
  }
}

/** HTML from a proxy, an empty or cut body, or fewer events received than were sent. */
function readUnreadable(response: MetaResponse, body: Record<string, unknown> | null): SendAnswer {
  const received = body?.events_received
  const message =
    received === undefined
      ? `The platform answered HTTP ${response.status} without a readable body.`
      : `The platform reports ${toShortJson(received)} events received, not as many as sent.`
  const { outcome, waitSecondsMin } = classifyHttpStatus(response.status)
  return {
    ...commonMembers(response, body),
    outcome,
    waitSeconds: Math.max(response.waitSeconds, waitSecondsMin),
    answer: received === undefined ? null : { events_received: received },
    error: toSendError(outcome, { message, http_status: response.status }),
  }
}

/** The members that every answer has. */
function commonMembers(response: MetaResponse, named: Record<string, unknown> | null) {
  return {
    waitSeconds: response.waitSeconds,
    httpStatus: response.status,
    traceId: traceMember(named) ?? response.traceId,
  }
}

function toSendError(
  outcome: SendError['class'],
  known: Partial<SendError> & { message: string },
): SendError {
  return {
    class: outcome,
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

function objectMember(body: Record<string, unknown> | null, name: string) {
  const value = body?.[name]
  return isObject(value) ? value : null
}

/** The store takes no NUL; a trace id that is not plain visible text is not one. */
function traceMember(named: Record<string, unknown> | null): string | null {
  const text = textMember(named, 'fbtrace_id')
  return text !== null && /^[!-~]+$/.test(text) ? text : null
}

function textMember(body: Record<string, unknown> | null, name: string): string | null {
  const value = body?.[name]
  return typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : null
}

function integerMember(body: Record<string, unknown>, name: string): number | null {
  const value = body[name]
  return Number.isSafeInteger(value) ? (value as number) : null
}

function toShortJson(value: unknown): string {
  return JSON.stringify(value).slice(0, TEXT_CHARACTERS_MAX)
}

/** System calls before there is a connection. */
const UNCONNECTED_STEPS = new Set(['getaddrinfo', 'connect'])
const UNCONNECTED_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ERR_TLS_HANDSHAKE_TIMEOUT'])

/** OpenSSL's errors about a certificate, and Node's when it names another host. */
const CERTIFICATE_ERROR =
  /CERT|LEAF_SIGNATURE|HOSTNAME_MISMATCH|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/
/** The TLS handshake failed. Other TLS errors can also come after the request. */
const TLS_PROTOCOL_ERROR =
  /^ERR_SSL_.*(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|PROTOCOL|HANDSHAKE_FAILURE)/

/**
 * Classifies what `fetch` threw. Before there is a trusted connection nothing has been sent, so the
 * batch is retried. After that the platform may have the events, so the outcome is unknown.
 */
export function classifyTransportError(error: unknown): SendAnswer {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return noAnswer('unknown', 'The platform did not answer in time.')
  }
  const { name, code = name ?? 'no reason', syscall = '' } = causeOf(error)
  if (UNCONNECTED_STEPS.has(syscall) || UNCONNECTED_CODES.has(code)) {
    return noAnswer('retry', `The platform could not be reached (${code}).`)
  }
  if (CERTIFICATE_ERROR.test(code) || TLS_PROTOCOL_ERROR.test(code)) {
    return noAnswer('retry', `No secure connection to the platform was possible (${code}).`)
  }
  return noAnswer('unknown', `The connection to the platform broke (${code}).`)
}

interface Cause {
  name?: string
  code?: string | undefined
  syscall?: string
  /** One for each address that was tried. */
  errors?: Cause[]
}

function causeOf(error: unknown): Cause {
  const { cause = error as Cause } = error as { cause?: Cause }
  return cause.errors?.[0] ?? cause
}
