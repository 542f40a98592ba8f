import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'
import { findEventError, findRequestError, type OpenaiEvent } from './validate-openai-events.ts'

/** The Conversions API of OpenAI Ads: one invalid event refuses its request. */
export const OPENAI_ADS: ConversionPlatform = {
  name: 'openai_ads',
  path: /^\/v1\/events$/,
  refuse: (status, message) => createRefusal(status, message),
  accountOf: (_, query) => query.get('pid') ?? '',
  listEvents: body => {
    const { events } = (body ?? {}) as { events?: unknown }
    return Array.isArray(events) ? events : []
  },
  eventIdOf: event => (event as Partial<OpenaiEvent> | null)?.id,
  isTest: ({ body }) => (body as { validate_only?: unknown } | null)?.validate_only === true,
  receive: receiveEvents,
  dedupKeyOf: event => {
    const { id, type } = event as OpenaiEvent
    return `${type} ${id}`
  },
}

/** OpenAI documents no body of an answer: this form is our choice. */
function createRefusal(status: number, message: string): HttpResponse {
  return jsonResponse(status, { error: { message } })
}

function receiveEvents({ account, body, at }: ConversionPost) {
  const refuse = (status: number, message: string) => ({
    reply: createRefusal(status, message),
    kept: [],
  })
  if (!/^[0-9A-Za-z_-]{4,80}$/.test(account)) return refuse(400, 'Unknown pid.')
  const error = findRequestError(body)
  if (error !== undefined) return refuse(400, error)
  const { events } = body as { events: OpenaiEvent[] }
  const errors = events.map((event, index) => {
    const message = findEventError(event, at)
    return message && `events.${index}: ${message}`
  })
  const refused = errors.find(message => message !== undefined)
  if (refused !== undefined) return refuse(400, refused)
  return { reply: jsonResponse(200, { accepted_events: events.length }), kept: events }
}
