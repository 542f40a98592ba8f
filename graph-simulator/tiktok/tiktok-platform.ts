import { randomBytes } from 'node:crypto'
import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'
import { findTrackError, type TrackEvent, type TrackRequest } from './validate-track.ts'

/** TikTok's Events API 2.0, which answers HTTP 200 also where it refuses. */
export const TIKTOK: ConversionPlatform = {
  name: 'tiktok',
  path: /^\/open_api\/v1\.\d\/event\/track\/?$/,
  accountOf: body => String((body as Partial<TrackRequest> | null)?.event_source_id ?? ''),
  refuse: (status, message, code) => createAnswer(status, code ?? CODES[status] ?? 50_000, message),
  listEvents: body => {
    const { data } = (body ?? {}) as { data?: unknown }
    return Array.isArray(data) ? data : []
  },
  eventIdOf: event => (event as Partial<TrackEvent> | null)?.event_id,
  isTest: ({ body }) => (body as Partial<TrackRequest> | null)?.test_event_code !== undefined,
  readToken: ({ headers }) => String(headers['access-token'] ?? ''),
  receive: receiveTrack,
  dedupKeyOf: event => {
    const { event: name, event_id } = event as TrackEvent
    return `${name} ${event_id}`
  },
}

/** TikTok's own code in place of a status. */
const CODES: Record<number, number> = { 200: 0, 400: 40_002, 401: 40_105, 403: 40_001, 429: 40_100 }
/** Those that travel as HTTP statuses: they are not the API's. */
const HTTP_STATUSES = [405, 413, 500, 502, 503, 504]

function createAnswer(status: number, code: number, message: string): HttpResponse {
  const request_id = randomBytes(12).toString('hex').toUpperCase()
  const httpStatus = HTTP_STATUSES.includes(status) ? status : 200
  return jsonResponse(httpStatus, { code, message, request_id, data: {} })
}

const SOURCE_ID = /^[A-Za-z0-9]{4,64}$/

function receiveTrack({ body, account, at }: ConversionPost) {
  const error = findTrackError(body, at)
  if (error !== undefined) return { reply: createAnswer(200, 40_002, error), kept: [] }
  if (!SOURCE_ID.test(account)) {
    const message = `No permission to operate pixel code: ${account}`
    return { reply: createAnswer(200, 40_001, message), kept: [] }
  }
  return { reply: createAnswer(200, 0, 'OK'), kept: (body as TrackRequest).data }
}
