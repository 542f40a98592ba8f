import { hash } from 'node:crypto'
import {
  type BatchColumn,
  timeColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import {
  COLUMN_DEFAULTS,
  type DefaultedColumn,
  encodeClickIds,
  encodeConsent,
  encodePageUrl,
  encodeUserData,
  encodeValueData,
} from './column-encoding.ts'
import { BODY_DIGEST_BYTES, BOTH_SPACES, type EventRecord, SPACE_NUMBERS } from './event-record.ts'
import { listFreeTextDigests } from './free-text.ts'
import { indexKey, listIdentifierDigests } from './person-identifiers.ts'
import { type MergedClickIds, mergeSessionClickIds } from './session-store.ts'

/** An event with the session of its visitor, merged from the visitor's events up to this one. */
export interface EventRow {
  event: EventRecord
  session: MergedSession | null
}

interface MergedSession extends MergedClickIds {
  /** The position among the visitor's events of the batch. The last new event is written. */
  ordinal: number
  firstSeenAt: Date
  landingSource: string | null
  isDue: boolean
}

export const EVENT_COLUMNS: BatchColumn<EventRow>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ event }) => event.trackerId },
  { name: 'event_id', type: 'text', text: ({ event }) => event.eventId },
  { name: 'space', type: 'smallint', text: ({ event }) => String(SPACE_NUMBERS[event.space]) },
  timeColumn('created_at', ({ event }) => event.createdAt),
  timeColumn('event_time', readEventTime),
  { name: 'event_name', type: 'text', text: ({ event }) => event.eventName },
  unlessDefault('event_class', event => event.eventClass),
  unlessDefault('action_source', event => event.actionSource),
  unlessDefault('consent_basis', event => event.consentBasis),
  unlessDefault('measurement_class', event => event.measurementClass),
  unlessDefault('attribution_join', event => event.attributionJoin),
  unlessDefault('enforcement_scope', event => event.enforcementScope),
  unlessDefault('consent_normalization_version', event => event.consentNormalizationVersion),
  timeColumn('consent_captured_at', ({ event }) => event.consentCapturedAt),
  { name: 'event_source', type: 'text', text: ({ event }) => event.eventSource },
  { name: 'parent_event_id', type: 'text', text: ({ event }) => event.parentEventId },
  { name: 'order_id', type: 'text', text: ({ event }) => event.orderId },
  { name: 'value_amount', type: 'numeric', text: ({ event }) => event.valueAmount },
  { name: 'value_currency', type: 'text', text: ({ event }) => event.valueCurrency },
  { name: 'value_data', type: 'json', text: ({ event }) => encodeValueData(event) },
  { name: 'consent', type: 'json', text: ({ event }) => encodeConsent(event) },
  { name: 'notes', type: 'json', text: notesText },
  {
    name: 'body_digest',
    type: 'bytea',
    text: ({ event }) => `\\x${event.bodyDigest.toString('hex', 0, BODY_DIGEST_BYTES)}`,
  },
]

/** Columns of the event's key, payload and session. */
const RELATED_COLUMNS: BatchColumn<EventRow>[] = [
  {
    name: 'order_digest',
    type: 'uuid',
    text: ({ event: { orderKey } }) => (orderKey == null ? null : digestEventId(orderKey)),
  },
  {
    name: 'refund_digest',
    type: 'uuid',
    text: ({ event: { refundKey } }) => (refundKey == null ? null : digestEventId(refundKey)),
  },
  { name: 'id_digest', type: 'uuid', text: ({ event }) => digestEventId(event.eventId) },
  {
    name: 'user_data',
    type: 'json',
    text: ({ event: { payload } }) => payload && encodeUserData(payload),
  },
  { name: 'visitor_id', type: 'text', text: ({ event }) => event.payload?.visitorId ?? null },
  {
    name: 'payload_click_ids',
    type: 'json',
    text: ({ event: { payload } }) => payload && encodeClickIds(payload),
  },
  {
    name: 'page_url',
    type: 'text',
    text: ({ event }) => encodePageUrl(event.payload?.pageUrl, event.eventSource),
  },
  // One list per row: `unnest` flattens an array of arrays, so the list is sent as text.
  { name: 'identifier_keys', type: 'text', text: identifierKeysText },
  { name: 'session_visitor_id', type: 'text', text: sessionVisitorText },
  {
    name: 'session_ordinal',
    type: 'integer',
    text: ({ session }) => (session ? String(session.ordinal) : null),
  },
  timeColumn('first_seen_at', ({ event, session }) =>
    session === null || session.firstSeenAt === event.createdAt ? null : session.firstSeenAt,
  ),
  { name: 'landing_source', type: 'text', text: ({ session }) => session?.landingSource ?? null },
  {
    name: 'session_click_ids',
    type: 'json',
    text: ({ session }) => session && JSON.stringify(session.clickIds),
  },
  {
    name: 'session_secret_click_ids',
    type: 'json',
    text: ({ session }) =>
      session === null || Object.keys(session.secretClickIds).length === 0
        ? null
        : JSON.stringify(session.secretClickIds),
  },
  timeColumn('page_click_ignored_at', ({ session }) => session?.pageClickIgnoredAt ?? null),
  // Null for no: a column without a value costs nothing.
  { name: 'session_is_due', type: 'boolean', text: ({ session }) => (session?.isDue ? 't' : null) },
]

export const APPEND_COLUMNS = [...EVENT_COLUMNS, ...RELATED_COLUMNS]

export function pickAppendColumns(...names: string[]): BatchColumn<EventRow>[] {
  return APPEND_COLUMNS.filter(({ name }) => names.includes(name))
}

function unlessDefault(
  name: DefaultedColumn,
  read: (event: EventRecord) => string,
): BatchColumn<EventRow> {
  const text = ({ event }: EventRow) => (read(event) === COLUMN_DEFAULTS[name] ? null : read(event))
  return { name, type: 'text', text }
}

/** Null when the event happened on receipt. */
function readEventTime({ event: { eventTime, createdAt } }: EventRow): Date | null {
  return eventTime.getTime() === createdAt.getTime() ? null : eventTime
}

function identifierKeysText({ event: { trackerId, payload } }: EventRow): string | null {
  if (payload === null) return null
  const digests = listIdentifierDigests(payload)
  const freeText = listFreeTextDigests(payload)
  const all = freeText.length === 0 ? digests : [...digests, ...freeText]
  return `{${all.map(digest => indexKey(trackerId, digest)).join(',')}}`
}

function sessionVisitorText({ event, session }: EventRow): string | null {
  return session === null ? null : (event.session?.visitorId ?? null)
}

/** One statement cannot update a row twice, so each row includes the visitor's earlier events. */
export function toEventRows(events: readonly EventRecord[]): EventRow[] {
  const latest = new Map<string, MergedSession>()
  return events.map(event => {
    const { trackerId, createdAt, session: update } = event
    if (!update) return { event, session: null }
    const key = `${trackerId} ${update.visitorId}`
    const earlier = latest.get(key)
    const session = {
      ordinal: (earlier?.ordinal ?? 0) + 1,
      firstSeenAt: earlier?.firstSeenAt ?? createdAt,
      landingSource: earlier?.landingSource ?? update.landingSource,
      isDue: earlier?.isDue || (update.isDue ?? false),
      ...mergeSessionClickIds(earlier, event, update),
    }
    latest.set(key, session)
    return { event, session }
  })
}

function notesText({ event: { notes } }: EventRow): string | null {
  const { dropped, unknownMembers, redacted } = notes
  if (dropped.length + unknownMembers.length + redacted.length === 0) return null
  return JSON.stringify({
    dropped,
    unknown_members: unknownMembers,
    redacted: redacted.length === 0 ? undefined : redacted,
  })
}

const DIGEST_HEX_DIGITS = 32

/** The first 128 bits of SHA-256 of an event id; `signalbox_store.event_id_digest` in SQL. */
export function digestEventId(eventId: string): string {
  return hash('sha256', eventId, 'hex').slice(0, DIGEST_HEX_DIGITS)
}

/** The primary key of an event within its tracker. */
export interface EventRef {
  eventId: string
  createdAt: Date
  /** The column `space`. */
  space: number
}

export const EVENT_REF_COLUMNS: readonly BatchColumn<EventRef>[] = [
  { name: 'created_at', type: 'timestamptz', text: ({ createdAt }) => createdAt.toISOString() },
  { name: 'event_id', type: 'text', text: ({ eventId }) => eventId },
  { name: 'space', type: 'smallint', text: ({ space }) => String(space) },
]

/** SQL for a table of references from three parameters: created_at, event_id, space. */
export function unnestEventRefs(alias: string, firstParameter: number): string {
  return unnestColumns(EVENT_REF_COLUMNS, { alias, firstParameter })
}

/** The three parameters of `unnestEventRefs`. */
export function eventRefValues(refs: readonly EventRef[]): string[] {
  return toArrayParameters(EVENT_REF_COLUMNS, refs)
}

/**
 * The time in the key of an event's payload, as SQL. Payloads from before there were spaces have no
 * time.
 */
export function payloadCreatedAt(event: string): string {
  return `case ${event}.space when ${BOTH_SPACES} then '-infinity' else ${event}.created_at end`
}

/** Whether a publishable key sent a stored event. */
export function isOfPage({ space }: { space: number }): boolean {
  return space === SPACE_NUMBERS.publishable
}

/** A key that is unique among the events of one tracker. */
export function eventRefKey({ eventId, space }: Pick<EventRef, 'eventId' | 'space'>): string {
  return `${space} ${eventId}`
}
