import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'
import { findEventError, findRequestError, type SnapEvent } from './validate-snap-events.ts'

/** Snapchat's Conversions API, version 3: one status for a request, and one event in a refusal. */
export const SNAPCHAT: ConversionPlatform = {
  name: 'snapchat',
  path: /^\/v3\/([^/]+)\/events(?:\/validate)?$/,
  refuse: (status, message, code) => createRefusal(status, { message, code }),
  listEvents: body => {
    const { data } = (body ?? {}) as { data?: unknown }
    return Array.isArray(data) ? data : []
  },
  eventIdOf: event => (event as Partial<SnapEvent> | null)?.event_id,
  isTest: isValidation,
  readToken: (_, query) => query.get('access_token') ?? '',
  receive: receiveEvents,
  dedupKeyOf: event => (event as SnapEvent).event_id ?? null,
}

function isValidation({ path }: ConversionPost): boolean {
  return path.endsWith('/validate')
}

interface Refusal {
  message: string
  code?: number | undefined
  event?: number
}

/** The form of Snap's library. Its codes are not published: ours are the status. */
function createRefusal(status: number, { message, code, event }: Refusal): HttpResponse {
  const errors = { codes: [`E${code ?? status}`], error_msgs: [message] }
  const named = event === undefined ? {} : { event }
  return jsonResponse(status, { status: 'INVALID', reason: message, ...named, errors })
}

const ASSET_ID = /^[0-9A-Za-z-]{8,64}$/

function receiveEvents(post: ConversionPost) {
  const { account, body, at } = post
  const refuse = (status: number, refusal: Refusal) => ({
    reply: createRefusal(status, refusal),
    kept: [],
  })
  if (!ASSET_ID.test(account)) return refuse(404, { message: 'The asset is unknown.' })
  const message = findRequestError(body)
  if (message !== undefined) return refuse(400, { message })
  const { data } = body as { data: SnapEvent[] }
  const errors = data.map(event => findEventError(event, at))
  const event = errors.findIndex(error => error !== undefined)
  if (event >= 0) return refuse(400, { message: errors[event] ?? '', event })
  const reason = 'Events have been processed successfully.'
  const answer = isValidation(post) ? toValidation(reason, data) : { status: 'VALID', reason }
  return { reply: jsonResponse(200, answer), kept: data }
}

function toValidation(reason: string, data: readonly SnapEvent[]) {
  const logs = data.map(({ event_id }, event) => ({
    event,
    status: 'VALID',
    warnings: event_id === undefined ? ['event_id is recommended'] : [],
  }))
  return { status: 'VALID', test_event: true, reason, event_logs: logs }
}
