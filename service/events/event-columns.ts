import type { BatchColumn } from '../db/sql-fragments.ts'
import {
  COLUMN_DEFAULTS,
  type DefaultedColumn,
  encodeClickIds,
  encodeConsent,
  encodePageUrl,
  encodeUserData,
  encodeValueData,
} from './column-encoding.ts'
import { BODY_DIGEST_BYTES, type EventRecord } from './event-record.ts'
import { digestEventId, SPACE_NUMBERS } from './event-ref.ts'
import { indexKey, listIdentifierDigests } from './person-identifiers.ts'

/** An entry, and its visitor as seen up to and with it: earlier sightings are merged into it. */
export interface EventRow {
  entry: EventRecord
  sighting: MergedSession | null
}

interface MergedSession {
  /** Counts the visitor's events in the group; the last that is new speaks for all. */
  ordinal: number
  firstSeenAt: Date
  landingSource: string | null
  clickIds: Record<string, string>
}

export const EVENT_COLUMNS: BatchColumn<EventRow>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ entry }) => entry.trackerId },
  { name: 'event_id', type: 'text', text: ({ entry }) => entry.eventId },
  { name: 'space', type: 'smallint', text: ({ entry }) => String(SPACE_NUMBERS[entry.space]) },
  { name: 'created_at', type: 'timestamptz', text: ({ entry }) => entry.createdAt.toISOString() },
  { name: 'event_time', type: 'timestamptz', text: eventTimeText },
  { name: 'event_name', type: 'text', text: ({ entry }) => entry.eventName },
  unlessDefault('event_class', entry => entry.eventClass),
  unlessDefault('action_source', entry => entry.actionSource),
  unlessDefault('consent_basis', entry => entry.consentBasis),
  unlessDefault('measurement_class', entry => entry.measurementClass),
  unlessDefault('attribution_join', entry => entry.attributionJoin),
  unlessDefault('enforcement_scope', entry => entry.enforcementScope),
  unlessDefault('consent_normalization_version', entry => entry.consentNormalizationVersion),
  {
    name: 'consent_captured_at',
    type: 'timestamptz',
    text: ({ entry }) => entry.consentCapturedAt?.toISOString() ?? null,
  },
  { name: 'event_source', type: 'text', text: ({ entry }) => entry.eventSource },
  { name: 'parent_event_id', type: 'text', text: ({ entry }) => entry.parentEventId },
  { name: 'order_id', type: 'text', text: ({ entry }) => entry.orderId },
  { name: 'value_amount', type: 'numeric', text: ({ entry }) => entry.valueAmount },
  { name: 'value_currency', type: 'text', text: ({ entry }) => entry.valueCurrency },
  { name: 'value_data', type: 'json', text: ({ entry }) => encodeValueData(entry) },
  { name: 'consent', type: 'json', text: ({ entry }) => encodeConsent(entry) },
  { name: 'notes', type: 'json', text: notesText },
  {
    name: 'body_digest',
    type: 'bytea',
    text: ({ entry }) => `\\x${entry.bodyDigest.toString('hex', 0, BODY_DIGEST_BYTES)}`,
  },
]

/** Beside the event's own columns: its key, payload and session. */
const RELATED_COLUMNS: BatchColumn<EventRow>[] = [
  { name: 'id_digest', type: 'uuid', text: ({ entry }) => digestEventId(entry.eventId) },
  {
    name: 'user_data',
    type: 'json',
    text: ({ entry: { payload } }) => payload && encodeUserData(payload),
  },
  { name: 'visitor_id', type: 'text', text: ({ entry }) => entry.payload?.visitorId ?? null },
  {
    name: 'payload_click_ids',
    type: 'json',
    text: ({ entry: { payload } }) => payload && encodeClickIds(payload),
  },
  {
    name: 'page_url',
    type: 'text',
    text: ({ entry }) => encodePageUrl(entry.payload?.pageUrl, entry.eventSource),
  },
  // A list a row: an array of arrays would be flattened, so it travels as text.
  { name: 'identifier_keys', type: 'text', text: identifierKeysText },
  { name: 'session_visitor_id', type: 'text', text: sessionVisitorText },
  {
    name: 'session_ordinal',
    type: 'integer',
    text: ({ sighting }) => (sighting ? String(sighting.ordinal) : null),
  },
  {
    name: 'first_seen_at',
    type: 'timestamptz',
    text: ({ entry, sighting }) =>
      sighting === null || sighting.firstSeenAt === entry.createdAt
        ? null
        : sighting.firstSeenAt.toISOString(),
  },
  { name: 'landing_source', type: 'text', text: ({ sighting }) => sighting?.landingSource ?? null },
  {
    name: 'session_click_ids',
    type: 'json',
    text: ({ sighting }) => sighting && JSON.stringify(sighting.clickIds),
  },
]

export const APPEND_COLUMNS = [...EVENT_COLUMNS, ...RELATED_COLUMNS]

export function pickAppendColumns(...names: string[]): BatchColumn<EventRow>[] {
  return APPEND_COLUMNS.filter(({ name }) => names.includes(name))
}

function unlessDefault(
  name: DefaultedColumn,
  read: (entry: EventRecord) => string,
): BatchColumn<EventRow> {
  const text = ({ entry }: EventRow) => (read(entry) === COLUMN_DEFAULTS[name] ? null : read(entry))
  return { name, type: 'text', text }
}

/** Null: the event happened when it came. To write and read a time costs 1 µs in both programs. */
function eventTimeText({ entry: { eventTime, createdAt } }: EventRow): string | null {
  return eventTime.getTime() === createdAt.getTime() ? null : eventTime.toISOString()
}

function identifierKeysText({ entry: { trackerId, payload } }: EventRow): string | null {
  if (payload === null) return null
  return `{${listIdentifierDigests(payload)
    .map(digest => indexKey(trackerId, digest))
    .join(',')}}`
}

function sessionVisitorText({ entry, sighting }: EventRow): string | null {
  return sighting === null ? null : (entry.session?.visitorId ?? null)
}

/** A statement may not update a row twice, so each row of a visitor holds the ones before it. */
export function toEventRows(entries: readonly EventRecord[]): EventRow[] {
  const latest = new Map<string, MergedSession>()
  return entries.map(entry => {
    const { trackerId, createdAt, session } = entry
    if (!session) return { entry, sighting: null }
    const key = `${trackerId} ${session.visitorId}`
    const earlier = latest.get(key)
    const sighting = {
      ordinal: (earlier?.ordinal ?? 0) + 1,
      firstSeenAt: earlier?.firstSeenAt ?? createdAt,
      landingSource: earlier?.landingSource ?? session.landingSource,
      clickIds: earlier ? { ...earlier.clickIds, ...session.clickIds } : session.clickIds,
    }
    latest.set(key, sighting)
    return { entry, sighting }
  })
}

function notesText({ entry: { notes } }: EventRow): string | null {
  if (notes.dropped.length === 0 && notes.unknownMembers.length === 0) return null
  return JSON.stringify({ dropped: notes.dropped, unknown_members: notes.unknownMembers })
}
