import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type ConversionState, takeCall } from '../conversion-state.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'
import { findRequestError, type RedditEvent } from './validate-conversions.ts'

/** A thousand in a second. */
const CALLS_PER_MINUTE = 60_000

/** Reddit's Conversions API, which takes a whole request or nothing. */
export const REDDIT: ConversionPlatform = {
  name: 'reddit',
  path: /^\/api\/v3\/pixels\/([^/]+)\/conversion_events$/,
  refuse: (status, message, code) => createError(status, message, code),
  listEvents: body => {
    const { events } = readData(body)
    return Array.isArray(events) ? events : []
  },
  eventIdOf: event => (event as Partial<RedditEvent> | null)?.metadata?.conversion_id,
  isTest: ({ body }) => typeof readData(body).test_id === 'string',
  receive: receiveConversions,
  dedupKeyOf: event => {
    const { type, metadata } = event as RedditEvent
    return `${type.tracking_type} ${type.custom_event_name ?? ''} ${metadata.conversion_id}`
  },
}

function readData(body: unknown): { events?: unknown; test_id?: unknown } {
  const { data } = (body ?? {}) as { data?: object | null }
  return data ?? {}
}

function createError(status: number, message: string, code = status): HttpResponse {
  return jsonResponse(status, { error: { code, message } })
}

function receiveConversions(post: ConversionPost, part: ConversionState) {
  const refuse = (status: number, message: string) => ({
    reply: createError(status, message),
    kept: [],
  })
  if (!/^[A-Za-z0-9_]{1,64}$/.test(post.account)) return refuse(404, 'pixel not found')
  if (!takeCall(part, post, CALLS_PER_MINUTE)) return refuse(429, 'too many requests')
  const error = findRequestError(post.body, post.at)
  if (error !== undefined) return refuse(400, error)
  const kept = REDDIT.listEvents(post.body)
  const message = `Successfully processed ${kept.length} conversion events.`
  return { reply: jsonResponse(200, { data: { message } }), kept }
}
