import { isUtf8 } from 'node:buffer'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'

export type EventIdentity =
  | { eventId: string | null }
  | { conflict: { field: 'event_id' | 'Idempotency-Key'; sentence: string } }

/**
 * The id that the caller gave, from the body or from `Idempotency-Key` (bare or quoted, as in the
 * IETF draft); null when it gave none. When both are given they must match (spec: createEvent).
 * `idempotencyKey` is the header's value as Node gives it: trimmed, one character a byte.
 */
export function eventIdentity(
  eventId: string | undefined,
  idempotencyKey: string | undefined,
): EventIdentity {
  const key = idempotencyKey === undefined ? undefined : readKey(idempotencyKey)
  const fault = key === undefined ? null : keyFault(key)
  if (fault !== null) return conflictOf('Idempotency-Key', `The Idempotency-Key header ${fault}.`)
  if (key !== undefined && eventId !== undefined && key !== eventId) {
    const sentence = 'The event_id field and the Idempotency-Key header must match.'
    return conflictOf('event_id', sentence)
  }
  const given = eventId ?? key ?? null
  const idFault = given === null ? null : formFault(given)
  if (idFault === null) return { eventId: given }
  return eventId === undefined
    ? conflictOf('Idempotency-Key', `The Idempotency-Key header ${idFault}.`)
    : conflictOf('event_id', `The event_id field ${idFault}.`)
}

/**
 * How an id travels in a header: its UTF-8 bytes, one character each, as Node writes them. Quoted
 * where a reader of the bare form would see another id.
 */
export function headerText(eventId: string): string {
  const isPlain = !/^["\s]|\s$/.test(eventId)
  const text = isPlain ? eventId : `"${eventId.replace(/["\\]/g, '\\$&')}"`
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** Null when the bytes are no UTF-8: replaced by marks, two unlike keys would be one event. */
function readKey(header: string): string | null {
  const bytes = Buffer.from(header, 'latin1')
  if (!isUtf8(bytes)) return null
  const text = bytes.toString('utf8')
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)
  return quoted ? (quoted[1] ?? '').replace(/\\(["\\])/g, '$1') : text
}

function keyFault(key: string | null): string | null {
  if (key === null) return 'must be valid UTF-8'
  if (key.trim() === '') return 'must not be empty'
  if ([...key].length <= EVENT_ID_CHARACTERS_MAX) return null
  return `must not be greater than ${EVENT_ID_CHARACTERS_MAX} characters`
}

function formFault(id: string): string | null {
  if (/\p{Cc}/u.test(id)) return 'must not contain control characters'
  // Every URL parser removes these two, percent-encoded or not: such an event could not be read.
  return id === '.' || id === '..' ? 'must not be a path segment of dots' : null
}

function conflictOf(field: 'event_id' | 'Idempotency-Key', sentence: string): EventIdentity {
  return { conflict: { field, sentence } }
}
