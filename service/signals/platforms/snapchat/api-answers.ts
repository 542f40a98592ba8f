import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { SendAnswer, SendOutcome } from '../platform.ts'
import { toSendError } from '../send-answer.ts'

/**
 * Reads the answer to a batch: one `status` for all of it. `INVALID` also comes with 200. Snap says
 * neither what the number in `event` counts, nor whether it took the other events, so a refused
 * batch is halved until the bad event is alone: Snap counts an `event_id` once.
 */
export function readEventsAnswer(response: ApiResponse): SendAnswer {
  const body = parseJsonObject(response.body)
  const { status: httpStatus, waitSeconds } = response
  if (httpStatus === 200 && body?.status === 'VALID') {
    const warnings = listWarnings(body)
    return {
      outcome: 'accepted',
      waitSeconds,
      httpStatus,
      traceId: null,
      answer: warnings.length === 0 ? null : { warnings },
      error: null,
    }
  }
  return readRefusal(response, body)
}

const TEXT_CHARACTERS_MAX = 500
const TEXTS_MAX = 20

/** What the validation says about events that it takes. */
function listWarnings({ event_logs: logs }: Record<string, unknown>): string[] {
  const warnings = (Array.isArray(logs) ? logs : []).flatMap(log =>
    isObject(log) ? listTexts(log.warnings) : [],
  )
  return [...new Set(warnings)].slice(0, TEXTS_MAX)
}

function listTexts(listed: unknown): string[] {
  return (Array.isArray(listed) ? listed : []).flatMap(text => readText(text) ?? [])
}

function readText(text: unknown): string | null {
  return typeof text === 'string' && text !== '' ? text.slice(0, TEXT_CHARACTERS_MAX) : null
}

const THROTTLE_SECONDS_MIN = 60

function readRefusal(response: ApiResponse, body: Record<string, unknown> | null): SendAnswer {
  const { status: httpStatus } = response
  const isSnaps = body?.status === 'VALID' || body?.status === 'INVALID'
  const outcome = classify(httpStatus, isSnaps)
  const details = isSnaps ? listDetails(body) : { codes: [], messages: [] }
  const message = isSnaps
    ? (details.messages.join(' ') || 'Snapchat gave no reason.').slice(0, TEXT_CHARACTERS_MAX)
    : `The platform answered HTTP ${httpStatus} without a readable body.`
  return {
    outcome,
    waitSeconds: Math.max(response.waitSeconds, outcome === 'throttle' ? THROTTLE_SECONDS_MIN : 0),
    httpStatus,
    traceId: null,
    answer: isSnaps ? { status: body.status, codes: details.codes } : null,
    error: toSendError(outcome, {
      message,
      user_message: ADVICE[outcome] ?? null,
      http_status: httpStatus,
    }),
  }
}

/** The reason, and the errors of the request or of its events. */
function listDetails(body: Record<string, unknown>): { codes: string[]; messages: string[] } {
  const logs = Array.isArray(body.event_logs) ? body.event_logs : []
  const errors = [body, ...logs].flatMap(one =>
    isObject(one) && isObject(one.errors) ? [one.errors] : [],
  )
  const messages = [
    readText(body.reason) ?? [],
    ...errors.flatMap(({ error_msgs }) => listTexts(error_msgs)),
  ].flat()
  const codes = errors.flatMap(one => listTexts(one.codes))
  const unique = (texts: string[]) => [...new Set(texts)].slice(0, TEXTS_MAX)
  return { codes: unique(codes), messages: unique(messages) }
}

function classify(status: number, isSnaps: boolean): Exclude<SendOutcome, 'accepted'> {
  if (status === 429) return 'throttle'
  if (status === 413) return 'permanent'
  // Snap publishes no body for a token that it refuses.
  if (status === 401) return 'auth'
  // A proxy's page says nothing about the events: Snap may have them.
  if (!isSnaps) return 'unknown'
  if (status === 403 || status === 404) return 'config'
  if (status === 503) return 'retry'
  if (status === 200) return 'permanent'
  // 408: it gave up while it read the request.
  return status >= 400 && status < 500 && status !== 408 ? 'permanent' : 'unknown'
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Partial<Record<SendOutcome, string>> = {
  auth: 'Generate a new Conversions API token in Snapchat Ads Manager.',
  config: 'Check the ID of the Snap Pixel or app, and that the token is of the same organization.',
}
