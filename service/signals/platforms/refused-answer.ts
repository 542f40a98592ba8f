import type { SendOutcome } from '@signalbox/contract/reasons.ts'
import type { ApiResponse } from './client.ts'
import { type SendAnswer, type SendError, toSendError } from './send-answer.ts'

type RefusedOutcome = Exclude<SendOutcome, 'accepted'>

/** What a person can do about a refusal, by its outcome. */
export type Advice = Partial<Record<SendOutcome, string>>

interface Refused {
  outcome: RefusedOutcome
  /** Of the platform, without its token. */
  message: string
  advice: Advice
  code?: number | null
  traceId?: string | null
  answer?: Record<string, unknown> | null
}

const THROTTLE_SECONDS_MIN = 60

/** A platform that throttles is left alone for a minute, also where it names no time. */
export function waitOf({ waitSeconds }: Pick<ApiResponse, 'waitSeconds'>, outcome: SendOutcome) {
  return outcome === 'throttle' ? Math.max(waitSeconds, THROTTLE_SECONDS_MIN) : waitSeconds
}

/** The refusal of a whole request. */
export function toRefusedAnswer(response: ApiResponse, refused: Refused): SendAnswer {
  const { outcome, traceId = null, answer = null } = refused
  return {
    outcome,
    waitSeconds: waitOf(response, outcome),
    httpStatus: response.status,
    traceId,
    answer,
    error: toRefusedError(response, refused),
  }
}

function toRefusedError(
  { status }: ApiResponse,
  { outcome, message, advice, code = null }: Refused,
): SendError {
  const user_message = advice[outcome] ?? null
  return toSendError(outcome, { code, message, user_message, http_status: status })
}

/** The message where the platform's own cannot be read. */
export function describeUnreadable({ status }: Pick<ApiResponse, 'status'>): string {
  return `The platform answered HTTP ${status} without a readable body.`
}

/**
 * What the status of a refusal says where a platform documents nothing else. Without a body of the
 * platform's own, a proxy may have answered, and the platform may have the events.
 */
export function classifyStatus(status: number, isReadable: boolean): RefusedOutcome {
  if (status === 429) return 'throttle'
  if (status === 413) return 'permanent'
  if (!isReadable) return 'unknown'
  if (status === 401) return 'auth'
  if (status === 403 || status === 404) return 'config'
  if (status === 503) return 'retry'
  // 408: it gave up while it read the request.
  return status >= 400 && status < 500 && status !== 408 ? 'permanent' : 'unknown'
}
