import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type ConversionState, takeCall } from '../conversion-state.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'
import {
  type ConversionEvent,
  findEventError,
  findRequestError,
  TEST_EVENTS_MAX,
} from './validate-conversions.ts'

const CALLS_PER_MINUTE = 5_000

/** Pinterest's API for Conversions, which processes a part of a request. */
export const PINTEREST: ConversionPlatform = {
  name: 'pinterest',
  path: /^\/v5\/ad_accounts\/([^/]+)\/events$/,
  refuse: (status, message, code) => createError(status, { message, code }),
  listEvents: body => {
    const { data } = (body ?? {}) as { data?: unknown }
    return Array.isArray(data) ? data : []
  },
  eventIdOf: event => (event as Partial<ConversionEvent> | null)?.event_id,
  isTest: ({ query }) => query.get('test') === 'true',
  receive: receiveConversions,
  dedupKeyOf: event => {
    const { action_source, event_id } = event as ConversionEvent
    return action_source === 'offline' ? null : event_id
  },
  omitResults: reply => ({ ...reply, ...createError(422, { message: PARTLY_PROCESSED }) }),
}

const PARTLY_PROCESSED = 'Not all events were successfully processed.'

/** The codes that Pinterest's OpenAPI gives for each status. */
const CODES: Record<number, number> = { 400: 4_196, 401: 2, 403: 29, 429: 8, 503: 4_197 }

interface ErrorBody {
  message: string
  code?: number | undefined
  details?: Record<string, unknown>
}

function createError(status: number, { code, ...more }: ErrorBody): HttpResponse {
  return jsonResponse(status, { code: code ?? CODES[status] ?? 0, ...more })
}

function receiveConversions(post: ConversionPost, part: ConversionState) {
  const refuse = (status: number, message: string) => ({
    reply: createError(status, { message }),
    kept: [],
  })
  if (!/^\d{1,20}$/.test(post.account)) return refuse(404, 'This ad account does not exist.')
  if (!takeCall(part, post, CALLS_PER_MINUTE)) {
    return refuse(429, 'This request exceeded a rate limit.')
  }
  const error = findRequestError(post.body)
  if (error !== undefined) return refuse(400, error)
  const { data } = post.body as { data: ConversionEvent[] }
  if (PINTEREST.isTest(post) && data.length > TEST_EVENTS_MAX) {
    return refuse(400, `Invalid request: a test has at most ${TEST_EVENTS_MAX} events.`)
  }
  const kept: ConversionEvent[] = []
  const events = data.map(event => {
    const message = findEventError(event, post.at)
    if (message !== undefined) return { status: 'failed', error_message: message }
    kept.push(event)
    return { status: 'processed', error_message: null, warning_message: null }
  })
  const processed = kept.length
  const results = { num_events_received: data.length, num_events_processed: processed, events }
  if (processed === data.length) return { reply: jsonResponse(200, results), kept }
  return { reply: createError(422, { message: PARTLY_PROCESSED, details: results }), kept }
}
