import { isUtf8 } from 'node:buffer'
import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'
import { memberSlice } from './json-slice.ts'

export interface EventsRequest {
  /** The token sent inside the body, if any. */
  accessToken: string | undefined
  testEventCode: string | null
  partnerAgent: string | null
  /** The parsed elements of `data`; empty when the request could not be read. */
  events: unknown[]
  /** The JSON text in which the array `data` begins at `dataStart`, byte for byte as received. */
  bytes: Buffer
  dataStart: number
  /** Why the body could not be read. */
  error?: GraphError
}

/**
 * Reads a request body as Meta does: JSON with `data` as an array, or form fields (or JSON) with
 * `data` as a JSON string. Never throws; what cannot be read is a refusal.
 */
export function parseEventsRequest(body: Buffer, contentType: string): EventsRequest {
  const fields = parseFields(body, contentType)
  if (!fields) return unreadable({}, 'The request body is not valid JSON.')

  const { data, test_event_code, partner_agent } = fields
  if (!isTextOrAbsent(test_event_code))
    return unreadable(fields, 'The parameter test_event_code must be a string.')
  if (!isTextOrAbsent(partner_agent))
    return unreadable(fields, 'The parameter partner_agent must be a string.')
  if (Array.isArray(data))
    return readable(fields, data, {
      bytes: body,
      dataStart: memberSlice(body, 0, 'data')?.start ?? 0,
    })
  if (typeof data === 'string') {
    const events = parseJson(data)
    if (Array.isArray(events))
      return readable(fields, events, { bytes: Buffer.from(data), dataStart: 0 })
  }
  return unreadable(fields, 'The parameter data must be an array of events.')
}

type Fields = Record<string, unknown>

function parseFields(body: Buffer, contentType: string): Fields | undefined {
  // Bytes that are no UTF-8 would be shown otherwise than they came.
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
    // The parser's message quotes the text, which may hold a token or a person's data.
    return undefined
  }
}

function readable(
  fields: Fields,
  events: unknown[],
  place: { bytes: Buffer; dataStart: number },
): EventsRequest {
  return { ...envelope(fields), events, ...place }
}

function unreadable(fields: Fields, message: string): EventsRequest {
  const refusal = invalidParameter(EVENT_SUBCODES.malformed, ['data'], {
    title: 'Malformed Request',
    message,
  })
  return { ...envelope(fields), events: [], bytes: Buffer.alloc(0), dataStart: 0, error: refusal }
}

function envelope({ access_token, test_event_code, partner_agent }: Fields) {
  return {
    accessToken: typeof access_token === 'string' ? access_token : undefined,
    testEventCode: textOrNull(test_event_code),
    partnerAgent: textOrNull(partner_agent),
  }
}

function isTextOrAbsent(member: unknown): boolean {
  return member === undefined || member === null || typeof member === 'string'
}

function textOrNull(member: unknown): string | null {
  return typeof member === 'string' && member !== '' ? member : null
}
