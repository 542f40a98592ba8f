import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { SendAnswer, SendOutcome } from '../platform.ts'
import { toSendError } from '../send-answer.ts'

/**
 * Reads the answer to a batch. Reddit takes all of its events or none, and says how many it
 * processed.
 */
export function readConversionAnswer(response: ApiResponse, eventCount: number): SendAnswer {
  const body = parseJsonObject(response.body)
  const data = isObject(body?.data) ? body.data : null
  const isSuccess = response.status >= 200 && response.status < 300
  if (isSuccess && typeof data?.message === 'string') {
    return readSuccess(response, { message: data.message, eventCount })
  }
  return readRefusal(response, isObject(body?.error) ? body.error : null)
}

const PROCESSED = /\bprocessed (\d{1,9})\b/i

/**
 * `Successfully processed 3 conversion events.` If it names fewer than were sent, no one knows
 * which: the batch is halved until they are alone. Reddit counts a `conversion_id` once.
 */
function readSuccess(
  { status: httpStatus, waitSeconds }: ApiResponse,
  { message, eventCount }: { message: string; eventCount: number },
): SendAnswer {
  const processed = Number(PROCESSED.exec(message)?.[1] ?? eventCount)
  const isComplete = processed >= eventCount
  const error = toSendError('permanent', { message: PARTLY_MESSAGE, http_status: httpStatus })
  return {
    outcome: isComplete ? 'accepted' : 'permanent',
    waitSeconds,
    httpStatus,
    traceId: null,
    answer: { events_received: eventCount, ...(!isComplete && { events_processed: processed }) },
    error: isComplete ? null : error,
  }
}

const PARTLY_MESSAGE = 'Reddit took the request, and says that it did not process all of it.'
const THROTTLE_SECONDS_MIN = 60

function readRefusal(response: ApiResponse, error: Record<string, unknown> | null): SendAnswer {
  const { status: httpStatus } = response
  const outcome = classify(httpStatus, error !== null)
  const code = Number.isSafeInteger(error?.code) ? (error?.code as number) : null
  const message =
    error === null
      ? `The platform answered HTTP ${httpStatus} without a readable body.`
      : describeError(error)
  return {
    outcome,
    waitSeconds: Math.max(response.waitSeconds, outcome === 'throttle' ? THROTTLE_SECONDS_MIN : 0),
    httpStatus,
    traceId: null,
    answer: error === null ? null : { code },
    error: toSendError(outcome, {
      code,
      message,
      user_message: ADVICE[outcome] ?? null,
      http_status: httpStatus,
    }),
  }
}

const TEXT_CHARACTERS_MAX = 500
const FIELDS_MAX = 5

/** `{code, message, fields: [{field, message}]}`. Identifiers in it are redacted later. */
function describeError({ message, fields }: Record<string, unknown>): string {
  const listed = Array.isArray(fields) ? fields.slice(0, FIELDS_MAX).filter(isObject) : []
  const texts = listed.map(one => [one.field, one.message].filter(isText).join(': '))
  const all = [message, ...texts].filter(isText).join(' ')
  return all.slice(0, TEXT_CHARACTERS_MAX) || 'Reddit gave no reason.'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** A proxy's page says nothing about the events: Reddit may have them. */
function classify(status: number, isReddits: boolean): Exclude<SendOutcome, 'accepted'> {
  if (status === 429) return 'throttle'
  if (status === 413) return 'permanent'
  if (!isReddits) return 'unknown'
  if (status === 401) return 'auth'
  if (status === 403 || status === 404) return 'config'
  if (status === 503) return 'retry'
  // 408: it gave up while it read the request.
  return status >= 400 && status < 500 && status !== 408 ? 'permanent' : 'unknown'
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Partial<Record<SendOutcome, string>> = {
  auth: 'Generate a new conversion access token in Reddit Events Manager.',
  config: 'Check the pixel ID, and that the token is of the same business.',
}
