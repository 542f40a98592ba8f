import { randomUUID } from 'node:crypto'
import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'
import { listEventErrors, type UetDetail, type UetEvent } from './validate-uet.ts'

/** Microsoft's UET Conversions API, which names invalid events by their place. */
export const MICROSOFT_ADS: ConversionPlatform = {
  name: 'microsoft_ads',
  path: /^\/v1\/(\d{1,20})\/events$/,
  refuse: createError,
  listEvents,
  eventIdOf: event => (event as Partial<UetEvent> | null)?.eventId,
  isTest: () => false,
  receive: receiveEvents,
  dedupKeyOf: event => {
    const { eventName = '', eventId } = event as UetEvent
    return `${eventName} ${eventId}`
  },
}

function listEvents(body: unknown): unknown[] {
  const { data } = (body ?? {}) as { data?: unknown }
  return Array.isArray(data) ? data : []
}

const CODES: Record<number, string> = { 401: 'Unauthorized', 403: 'Forbidden', 429: 'Throttled' }

function createError(status: number, message: string): HttpResponse {
  const code = CODES[status] ?? 'BadRequest'
  return jsonResponse(status, { error: { code, message }, traceId: randomUUID() })
}

const EVENTS_MAX = 1_000

function receiveEvents({ body, at }: ConversionPost) {
  const refuse = (message: string, details?: UetDetail[]) => {
    const error = { code: 'ValidationError', message, ...(details && { details }) }
    return { reply: jsonResponse(400, { error, traceId: randomUUID() }), kept: [] }
  }
  const data = listEvents(body)
  if (data.length === 0 || data.length > EVENTS_MAX)
    return refuse('data must have 1 to 1000 events')
  const details = data.flatMap((event, index) => listEventErrors(event, { index, at }))
  const invalid = new Set(details.flatMap(({ index, isWarning }) => (isWarning ? [] : index)))
  const kept = data.filter((_, index) => !invalid.has(index))
  const isPartial = (body as { continueOnValidationError?: unknown }).continueOnValidationError
  if (invalid.size > 0 && isPartial !== true) return refuse('One event is not valid.', details)
  const error = { code: 'ValidationError', message: 'Some events are not valid.', details }
  const answer = { eventsReceived: kept.length, ...(details.length > 0 && { error }) }
  return { reply: jsonResponse(200, { ...answer, traceId: randomUUID() }), kept }
}
