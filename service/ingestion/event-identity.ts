import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'

export type EventIdentity =
  | { eventId: string | null }
  | { conflict: { field: 'event_id' | 'Idempotency-Key'; sentence: string }[] }

/**
 * The id that the caller gave, from the body or from `Idempotency-Key` (bare or quoted, as in the
 * IETF draft); null when it gave none. When both are given they must match (spec: createEvent).
 */
export function eventIdentity(
  eventId: string | undefined,
  idempotencyKey: string | undefined,
): EventIdentity {
  const key = idempotencyKey === undefined ? undefined : readKey(idempotencyKey)
  if (key !== undefined && (key.trim() === '' || [...key].length > EVENT_ID_CHARACTERS_MAX)) {
    const rule = key.trim() === '' ? 'not be empty' : 'not be greater than 128 characters'
    return conflictOf('Idempotency-Key', `The Idempotency-Key header must ${rule}.`)
  }
  if (key !== undefined && eventId !== undefined && key !== eventId) {
    const sentence = 'The event_id field and the Idempotency-Key header must match.'
    return {
      conflict: [
        { field: 'event_id', sentence },
        { field: 'Idempotency-Key', sentence },
      ],
    }
  }
  const given = eventId ?? key ?? null
  if (given !== null && hasControlCharacters(given)) {
    const field = eventId === undefined ? 'Idempotency-Key' : 'event_id'
    return conflictOf(field, `The ${field} must not contain control characters.`)
  }
  return { eventId: given }
}

/** How an id travels in a header: its UTF-8 bytes, one character each, as Node reads them. */
export function headerText(eventId: string): string {
  return Buffer.from(eventId, 'utf8').toString('latin1')
}

function readKey(header: string): string {
  const text = Buffer.from(header.trim(), 'latin1').toString('utf8')
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)
  return quoted ? (quoted[1] ?? '').replace(/\\(["\\])/g, '$1') : text
}

function hasControlCharacters(text: string): boolean {
  return /\p{Cc}/u.test(text)
}

function conflictOf(field: 'event_id' | 'Idempotency-Key', sentence: string): EventIdentity {
  return { conflict: [{ field, sentence }] }
}
