import { isUtf8 } from 'node:buffer'
import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'
import { memberSlice } from './json-slice.ts'

export interface EventsRequest {
  /** The token in the body, if any. */
  accessToken: string | undefined
  testEventCode: string | null
  partnerAgent: string | null
  /** The parsed elements of `data`; empty when the body is malformed. */
  events: unknown[]
  /** The JSON text in which the array `data` begins at `dataStart`, byte for byte as received. */
  bytes: Buffer
  dataStart: number
  /** Why the body is malformed. */
  error?: GraphError
}

/**
 * Parses a request body as Meta does: JSON with `data` as an array, or form fields (or JSON) with
 * `data` as a JSON string. Never throws: a malformed body is an `error`.
 */
export function parseEventsRequest(body: Buffer, contentType: string): EventsRequest {
  const fields = parseFields(body, contentType)
  if (!fields) return malformedRequest({}, 'The request body is not valid JSON.')

  const { data, test_event_code, partner_agent } = fields
  if (!isStringOrMissing(test_event_code))
    return malformedRequest(fields, 'The parameter test_event_code must be a string.')
  if (!isStringOrMissing(partner_agent))
    return malformedRequest(fields, 'The parameter partner_agent must be a string.')
  if (Array.isArray(data))
    return parsedRequest(fields, data, {
      bytes: body,
      dataStart: memberSlice(body, 0, 'data')?.start ?? 0,
    })
  if (typeof data === 'string') {
    const events = parseJson(data)
    if (Array.isArray(events))
      return parsedRequest(fields, events, { bytes: Buffer.from(data), dataStart: 0 })
  }
  return malformedRequest(fields, 'The parameter data must be an array of events.')
}

type Fields = Record<string, unknown>

function parseFields(body: Buffer, contentType: string): Fields | undefined {
  // Bytes that are not UTF-8 could not be shown as received.
  if (!isUtf8(body)) return undefined
  const text = body.toString('utf8')
  if (contentType.toLowerCase().includes('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(text))
  const parsed = parseJson(text)
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  return isObject ? (parsed as Fields) : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may contain a token or personal data.
    return undefined
  }
}

function parsedRequest(
  fields: Fields,
  events: unknown[],
  source: { bytes: Buffer; dataStart: number },
): EventsRequest {
  return { ...requestFields(fields), events, ...source }
}

function malformedRequest(fields: Fields, message: string): EventsRequest {
  const error = invalidParameter(EVENT_SUBCODES.malformed, ['data'], {
    title: 'Malformed Request',
    message,
  })
  return {
    ...requestFields(fields),
    events: [],
    bytes: Buffer.alloc(0),
    dataStart: 0,
    error: error,
  }
}

function requestFields({ access_token, test_event_code, partner_agent }: Fields) {
  return {
    accessToken: typeof access_token === 'string' ? access_token : undefined,
    testEventCode: stringOrNull(test_event_code),
    partnerAgent: stringOrNull(partner_agent),
  }
}

function isStringOrMissing(member: unknown): boolean {
  return member === undefined || member === null || typeof member === 'string'
}

function stringOrNull(member: unknown): string | null {
  return typeof member === 'string' && member !== '' ? member : null
}
