import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { SendAnswer } from '../platform.ts'
import {
  type Advice,
  classifyStatus,
  describeUnreadable,
  toRefusedAnswer,
} from '../refused-answer.ts'
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
function readRefusal(response: ApiResponse, error: Record<string, unknown> | null): SendAnswer {
  const outcome = classifyStatus(response.status, error !== null)
  const code = Number.isSafeInteger(error?.code) ? (error?.code as number) : null
  const message = error === null ? describeUnreadable(response) : describeError(error)
  const answer = error === null ? null : { code }
  return toRefusedAnswer(response, { outcome, message, advice: ADVICE, code, answer })
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

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Advice = {
  auth: 'Generate a new conversion access token in Reddit Events Manager.',
  config: 'Check the pixel ID, and that the token is of the same business.',
}
