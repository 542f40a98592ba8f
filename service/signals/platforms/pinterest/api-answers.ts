import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { EventAnswer, OutboundEvent, SendAnswer, SendOutcome } from '../platform.ts'
import {
  type Advice,
  classifyStatus,
  describeUnreadable,
  toRefusedAnswer,
} from '../refused-answer.ts'
import { toSendError } from '../send-answer.ts'
import { isDeduplicated } from './payload.ts'

/**
 * Reads the answer to a batch. Pinterest processes a part of it: 422 says that some events failed
 * and the others were processed. The result of each event is by position, where there is one.
 */
export function readConversionAnswer(
  response: ApiResponse,
  events: readonly OutboundEvent[],
): SendAnswer {
  const body = parseJsonObject(response.body)
  const results = response.status === 200 || response.status === 422 ? listResults(body) : null
  if (results?.length === events.length) return readResults(response, results)
  // Any other 422 is of a proxy, and says nothing.
  const isPinterests = Number.isSafeInteger(body?.code)
  if (response.status === 422 && isPinterests) return readUnnamedFailure(response, events)
  return readRefusal(response, body)
}

interface EventResult {
  status: 'processed' | 'failed'
  error: string | null
  warning: string | null
}

/** Published for 200 only; `details` of a 422 is any object. */
function listResults(body: Record<string, unknown> | null): EventResult[] | null {
  const details = isObject(body?.details) ? body.details : null
  const listed = [body?.events, details?.events].find(Array.isArray)
  const results = listed?.map(readResult) ?? []
  return results.length > 0 && results.every(result => result !== null) ? results : null
}

function readResult(listed: unknown): EventResult | null {
  if (!isObject(listed)) return null
  const { status, error_message, warning_message } = listed
  if (status !== 'processed' && status !== 'failed') return null
  return { status, error: readMessage(error_message), warning: readMessage(warning_message) }
}

const TEXT_CHARACTERS_MAX = 500
const WARNINGS_MAX = 20

function readMessage(text: unknown): string | null {
  return typeof text === 'string' && text !== '' ? text.slice(0, TEXT_CHARACTERS_MAX) : null
}

function readResults(response: ApiResponse, results: readonly EventResult[]): SendAnswer {
  const { status: httpStatus, waitSeconds } = response
  const warnings = [...new Set(results.flatMap(({ warning }) => warning ?? []))]
  const events = results.map(({ status, error }): EventAnswer => {
    if (status === 'processed') return { outcome: 'accepted', error: null }
    const message = error ?? 'Pinterest gave no reason.'
    const failed = toSendError('permanent', { message, http_status: httpStatus })
    return { outcome: 'permanent', error: failed }
  })
  const failures = events.flatMap(({ error }) => error ?? [])
  const isNoneProcessed = failures.length === events.length
  return {
    outcome: isNoneProcessed ? 'permanent' : 'accepted',
    waitSeconds,
    httpStatus,
    traceId: null,
    answer: {
      events_received: events.length,
      ...(failures.length > 0 && { events_processed: events.length - failures.length }),
      ...(warnings.length > 0 && { warnings: warnings.slice(0, WARNINGS_MAX) }),
    },
    error: (isNoneProcessed && failures[0]) || null,
    ...(failures.length > 0 && { events }),
  }
}

const WHICH_MESSAGE = 'Pinterest processed a part of the request, and does not say which events.'

/**
 * Some events failed, and no one knows which. Where Pinterest removes copies, the batch is halved
 * until the failed events are alone. An offline event of the others may have been counted, and a
 * copy would count again.
 */
function readUnnamedFailure(response: ApiResponse, events: readonly OutboundEvent[]): SendAnswer {
  const { status: httpStatus, waitSeconds, body } = response
  const message = readMessage(parseJsonObject(body)?.message) ?? WHICH_MESSAGE
  const error = toSendError('permanent', { message, http_status: httpStatus })
  const answer = {
    outcome: 'permanent',
    waitSeconds,
    httpStatus,
    traceId: null,
    answer: null,
  } as const
  if (events.length === 1 || events.every(isDeduplicated)) return { ...answer, error }
  const unknown = toSendError('unknown', { message: WHICH_MESSAGE, http_status: httpStatus })
  const waiting = toSendError('retry', { message: WHICH_MESSAGE, http_status: httpStatus })
  const settled = events.map((event): EventAnswer => {
    if (!isDeduplicated(event)) return { outcome: 'unknown', error: unknown }
    return { outcome: 'retry', error: waiting }
  })
  return { ...answer, outcome: 'unknown', error: unknown, events: settled }
}

function readRefusal(response: ApiResponse, body: Record<string, unknown> | null): SendAnswer {
  const code = Number.isSafeInteger(body?.code) ? (body?.code as number) : null
  const stated = readMessage(body?.message) ?? 'Pinterest gave no reason.'
  return toRefusedAnswer(response, {
    outcome: classify(response.status, code),
    message: code === null ? describeUnreadable(response) : stated,
    advice: ADVICE,
    code,
    answer: code === null ? null : { code },
  })
}

/** The endpoint takes no traffic for a while: nothing was read. */
const RAMPED_DOWN = 4_197

function classify(status: number, code: number | null): Exclude<SendOutcome, 'accepted'> {
  if (status === 503 && code !== RAMPED_DOWN) return 'unknown'
  return classifyStatus(status, code !== null)
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Advice = {
  auth: 'Generate a new conversion access token in Pinterest Ads Manager.',
  config: 'Check the ad account ID, and that the owner of the token may use this account.',
}
