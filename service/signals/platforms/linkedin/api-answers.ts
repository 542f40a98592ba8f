import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { EventAnswer, SendAnswer, SendError, SendOutcome } from '../platform.ts'
import { type Advice, classifyStatus, describeUnreadable, waitOf } from '../refused-answer.ts'
import { toSendError } from '../send-answer.ts'

/**
 * Reads the answer to a batch: a status for each event by position, or a refusal of all of them.
 * A refusal names the first bad events by position, and perhaps not all: the batch is halved.
 */
export function readConversionAnswer(response: ApiResponse, eventCount: number): SendAnswer {
  const body = parseJsonObject(response.body)
  const isSuccess = response.status >= 200 && response.status < 300
  const elements = isSuccess && Array.isArray(body?.elements) ? body.elements : []
  const results = elements.flatMap(element => readResult(element) ?? [])
  if (eventCount > 0 && results.length === eventCount && elements.length === eventCount) {
    return readResults(response, results)
  }
  return readRefusal(response, isSuccess ? null : body)
}

function readResult(element: unknown): EventAnswer | null {
  if (!isObject(element) || !Number.isSafeInteger(element.status)) return null
  const status = element.status as number
  if (status >= 200 && status < 300) return { outcome: 'accepted', error: null }
  const reason = isObject(element.error) ? element.error : element
  const outcome = classify(status, true)
  return { outcome, error: toError(outcome, { status, body: reason }) }
}

function readResults(response: ApiResponse, events: readonly EventAnswer[]): SendAnswer {
  const failures = events.filter(({ outcome }) => outcome !== 'accepted')
  const [first] = failures
  const isNoneAccepted = failures.length === events.length
  return {
    outcome: isNoneAccepted && first ? first.outcome : 'accepted',
    waitSeconds: response.waitSeconds,
    httpStatus: response.status,
    traceId: null,
    answer: {
      events_received: events.length,
      ...(failures.length > 0 && { events_processed: events.length - failures.length }),
    },
    error: (isNoneAccepted && first?.error) || null,
    ...(failures.length > 0 && { events }),
  }
}

function readRefusal(response: ApiResponse, body: Record<string, unknown> | null): SendAnswer {
  const isLinkedins = typeof body?.message === 'string' || Number.isSafeInteger(body?.status)
  const outcome = classify(response.status, isLinkedins)
  const code = typeof body?.code === 'string' && CODE.test(body.code) ? body.code : null
  return {
    outcome,
    waitSeconds: waitOf(response, outcome),
    httpStatus: response.status,
    traceId: null,
    answer: code === null ? null : { code },
    error: toError(outcome, { status: response.status, body: isLinkedins ? body : null }),
  }
}

/** Such as `REVOKED_ACCESS_TOKEN`. */
const CODE = /^[A-Z_]{1,60}$/
const TEXT_CHARACTERS_MAX = 500

interface Failure {
  status: number
  body: Record<string, unknown> | null
}

/** Identifiers that the message repeats are redacted later. */
function toError(outcome: Exclude<SendOutcome, 'accepted'>, { status, body }: Failure): SendError {
  const { message, serviceErrorCode } = body ?? {}
  const text = typeof message === 'string' ? message.slice(0, TEXT_CHARACTERS_MAX) : ''
  return toSendError(outcome, {
    code: Number.isSafeInteger(serviceErrorCode) ? (serviceErrorCode as number) : null,
    message: text || (body === null ? describeUnreadable({ status }) : 'LinkedIn gave no reason.'),
    user_message: status === VERSION_ENDED ? VERSION_ADVICE : (ADVICE[outcome] ?? null),
    http_status: status,
  })
}

/** `NONEXISTENT_VERSION`: LinkedIn ended the version. */
const VERSION_ENDED = 426
const VERSION_ADVICE =
  'LinkedIn does not serve this version any more: set SIGNALBOX_LINKEDIN_VERSION to a newer one.'

function classify(status: number, isLinkedins: boolean): Exclude<SendOutcome, 'accepted'> {
  return isLinkedins && status === VERSION_ENDED ? 'config' : classifyStatus(status, isLinkedins)
}

/** What a person can do about a refusal. */
const ADVICE: Advice = {
  auth: 'Grant the application access again: tokens of LinkedIn end after a time.',
  config:
    'Check that the person of the token may use the ad account, and the scope rw_conversions.',
  permanent:
    'Check the conversion rule: it must be active, with the Conversions API as its method.',
}
