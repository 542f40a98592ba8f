import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'
import { defineMember } from '../../runtime/util/is-object.ts'
import { containsIdentifier } from './redact-submission.ts'

type EventIdResolution =
  | { eventId: string | null }
  | { error: { field: 'event_id' | 'Idempotency-Key'; message: string; rule: RefusalRule } }

/**
 * Resolves the event ID from the body or from `Idempotency-Key` (bare or quoted, as in the IETF
 * draft). Null when the request has neither. If it has both, they must match. `idempotencyKey` is
 * the header value from Node: trimmed, one character per byte.
 */
export function resolveEventId(
  eventId: string | undefined,
  idempotencyKey: string | undefined,
): EventIdResolution {
  const key = idempotencyKey === undefined ? undefined : parseIdempotencyKey(idempotencyKey)
  const keyError = key === undefined ? null : findKeyError(key)
  if (keyError !== null) {
    return invalidEventId('Idempotency-Key', `The Idempotency-Key header ${keyError}.`)
  }
  if (key !== undefined && eventId !== undefined && key !== eventId) {
    const message = 'The event_id field and the Idempotency-Key header must match.'
    return invalidEventId('event_id', message, 'event_ids_differ')
  }
  const resolved = eventId ?? key ?? null
  const idError = resolved === null ? null : findEventIdError(resolved)
  if (idError === null) return { eventId: resolved }
  const rule = idError === HOLDS_IDENTIFIER ? 'identifier_not_allowed' : 'invalid_event_id'
  return eventId === undefined
    ? invalidEventId('Idempotency-Key', `The Idempotency-Key header ${idError}.`, rule)
    : invalidEventId('event_id', `The event_id field ${idError}.`, rule)
}

/**
 * Formats an event ID as a header value for Node: its UTF-8 bytes, one character each. Quoted if
 * the bare form would be read as another ID.
 */
export function formatIdempotencyKey(eventId: string): string {
  const isPlain = !/^["\s]|\s$/.test(eventId)
  const text = isPlain ? eventId : `"${eventId.replace(/["\\]/g, '\\$&')}"`
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** Null for invalid UTF-8. Replacement characters would make different keys equal. */
export function parseIdempotencyKey(header: string): string | null {
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

const HOLDS_IDENTIFIER = 'must hold no email address or phone number'

function findEventIdError(id: string): string | null {
  if (/\p{Cc}/u.test(id)) return 'must not contain control characters'
  if (containsIdentifier(id)) return HOLDS_IDENTIFIER
  // URL parsers remove dot segments, percent-encoded or not: the event would have no URL.
  return id === '.' || id === '..' ? 'must not be a path segment of dots' : null
}

function invalidEventId(
  field: 'event_id' | 'Idempotency-Key',
  message: string,
  rule: RefusalRule = 'invalid_event_id',
): EventIdResolution {
  return { error: { field, message, rule } }
}

/**
 * SHA-256 of the canonical body (members sorted by name), to detect a different body under the same
 * event ID. `event_id` is left out, because the header may carry it instead. The tracker and the ID
 * come first, so that equal bodies of two events have different digests.
 *
 * 4.6 µs for a purchase of 1.2 KB. Building the text without `JSON.stringify` took 9 µs.
 */
export function digestBody(
  body: Record<string, unknown>,
  { trackerId, eventId }: { trackerId: string; eventId: string },
): Buffer {
  const text = JSON.stringify(sortMembers(body, 'event_id'))
  // Hexadecimal first: a buffer from `hash` takes 0.5 µs more, for memory off the heap.
  return Buffer.from(hash('sha256', `${trackerId}\n${eventId}\n${text}`, 'hex'), 'hex')
}

/** Sorts members by name, without `omitted`. The HTTP layer limits the depth of the body. */
function sortMembers(object: object, omitted?: string): Record<string, unknown> {
  const source = object as Record<string, unknown>
  const members: Record<string, unknown> = {}
  for (const name of sortNames(Object.keys(source))) {
    if (name === omitted) continue
    const value = sortNestedMembers(source[name])
    if (name === '__proto__') defineMember(members, name, value)
    else members[name] = value
  }
  return members
}

function sortNestedMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? value.map(sortNestedMembers) : sortMembers(value)
}

const INSERTION_SORT_MAX = 16

/** Sorts in place. For few names, an insertion sort takes half the time of `sort`. */
function sortNames(names: string[]): string[] {
  if (names.length > INSERTION_SORT_MAX) return names.sort()
  for (let next = 1; next < names.length; next += 1) {
    const name = names[next] as string
    let at = next
    for (; at > 0 && (names[at - 1] as string) > name; at -= 1) names[at] = names[at - 1] as string
    names[at] = name
  }
  return names
}
