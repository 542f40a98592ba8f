import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { SendAnswer, SendOutcome } from '../platform.ts'
import {
  type Advice,
  classifyStatus,
  describeUnreadable,
  toRefusedAnswer,
} from '../refused-answer.ts'

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

function readRefusal(response: ApiResponse, body: Record<string, unknown> | null): SendAnswer {
  const isSnaps = body?.status === 'VALID' || body?.status === 'INVALID'
  const details = isSnaps ? listDetails(body) : { codes: [], messages: [] }
  const stated = details.messages.join(' ') || 'Snapchat gave no reason.'
  return toRefusedAnswer(response, {
    outcome: classify(response.status, isSnaps),
    message: isSnaps ? stated.slice(0, TEXT_CHARACTERS_MAX) : describeUnreadable(response),
    advice: ADVICE,
    answer: isSnaps ? { status: body.status, codes: details.codes } : null,
  })
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
  // Snap publishes no body for a token that it refuses.
  if (status === 401) return 'auth'
  return isSnaps && status === 200 ? 'permanent' : classifyStatus(status, isSnaps)
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Advice = {
  auth: 'Generate a new Conversions API token in Snapchat Ads Manager.',
  config: 'Check the ID of the Snap Pixel or app, and that the token is of the same organization.',
}
