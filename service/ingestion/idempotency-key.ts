import { isUtf8 } from 'node:buffer'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'

export type EventIdResolution =
  | { eventId: string | null }
  | { conflict: { field: 'event_id' | 'Idempotency-Key'; sentence: string } }

/**
 * The id that the caller gave, from the body or from `Idempotency-Key` (bare or quoted, as in the
 * IETF draft); null when it gave none. When both are given they must match (spec: createEvent).
 * `idempotencyKey` is the header's value as Node gives it: trimmed, one character a byte.
 */
export function resolveEventId(
  eventId: string | undefined,
  idempotencyKey: string | undefined,
): EventIdResolution {
  const key = idempotencyKey === undefined ? undefined : parseIdempotencyKey(idempotencyKey)
  const fault = key === undefined ? null : findKeyError(key)
  if (fault !== null)
    return invalidEventId('Idempotency-Key', `The Idempotency-Key header ${fault}.`)
  if (key !== undefined && eventId !== undefined && key !== eventId) {
    const sentence = 'The event_id field and the Idempotency-Key header must match.'
    return invalidEventId('event_id', sentence)
  }
  const given = eventId ?? key ?? null
  const idFault = given === null ? null : findEventIdError(given)
  if (idFault === null) return { eventId: given }
  return eventId === undefined
    ? invalidEventId('Idempotency-Key', `The Idempotency-Key header ${idFault}.`)
    : invalidEventId('event_id', `The event_id field ${idFault}.`)
}

/**
 * How an id travels in a header: its UTF-8 bytes, one character each, as Node writes them. Quoted
 * where a reader of the bare form would see another id.
 */
export function formatIdempotencyKey(eventId: string): string {
  const isPlain = !/^["\s]|\s$/.test(eventId)
  const text = isPlain ? eventId : `"${eventId.replace(/["\\]/g, '\\$&')}"`
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** Null when the bytes are no UTF-8: replaced by marks, two unlike keys would be one event. */
function parseIdempotencyKey(header: string): string | null {
  const bytes = Buffer.from(header, 'latin1')
  if (!isUtf8(bytes)) return null
  const text = bytes.toString('utf8')
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)
  return quoted ? (quoted[1] ?? '').replace(/\\(["\\])/g, '$1') : text
}

function findKeyError(key: string | null): string | null {
  if (key === null) return 'must be valid UTF-8'
  if (key.trim() === '') return 'must not be empty'
  if ([...key].length <= EVENT_ID_CHARACTERS_MAX) return null
  return `must not be greater than ${EVENT_ID_CHARACTERS_MAX} characters`
}

function findEventIdError(id: string): string | null {
  if (/\p{Cc}/u.test(id)) return 'must not contain control characters'
  // Every URL parser removes these two, percent-encoded or not: such an event could not be read.
  return id === '.' || id === '..' ? 'must not be a path segment of dots' : null
}

function invalidEventId(
  field: 'event_id' | 'Idempotency-Key',
  sentence: string,
): EventIdResolution {
  return { conflict: { field, sentence } }
}
