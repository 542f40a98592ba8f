import type { BatchColumn } from '../db/row-arrays.ts'
import { eventIdDigest, SPACE_NUMBERS } from './event-space.ts'
import { identifiersOf, indexKey } from './identifiers.ts'
import { BODY_DIGEST_BYTES, type LedgerEntry } from './ledger-entry.ts'
import {
  ORDINARY,
  type OrdinaryColumn,
  packedClickIds,
  packedConsent,
  packedPage,
  packedUserData,
  packedValue,
} from './packed-columns.ts'

/** An entry, and its visitor as seen up to and with it: earlier sightings are merged into it. */
export interface EntryRow {
  entry: LedgerEntry
  sighting: Sighting | null
}

interface Sighting {
  /** Counts the visitor's events in the group; the last that is new speaks for all. */
  ordinal: number
  firstSeenAt: Date
  landingSource: string | null
  clickIds: Record<string, string>
}

export const EVENT_COLUMNS: BatchColumn<EntryRow>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ entry }) => entry.trackerId },
  { name: 'event_id', type: 'text', text: ({ entry }) => entry.eventId },
  { name: 'space', type: 'smallint', text: ({ entry }) => String(SPACE_NUMBERS[entry.space]) },
  { name: 'created_at', type: 'timestamptz', text: ({ entry }) => entry.createdAt.toISOString() },
  { name: 'event_time', type: 'timestamptz', text: eventTimeText },
  { name: 'event_name', type: 'text', text: ({ entry }) => entry.eventName },
  unlessOrdinary('event_class', entry => entry.eventClass),
  unlessOrdinary('action_source', entry => entry.actionSource),
  unlessOrdinary('consent_basis', entry => entry.consentBasis),
  unlessOrdinary('measurement_class', entry => entry.measurementClass),
  unlessOrdinary('attribution_join', entry => entry.attributionJoin),
  unlessOrdinary('enforcement_scope', entry => entry.enforcementScope),
  unlessOrdinary('consent_normalization_version', entry => entry.consentNormalizationVersion),
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
  { name: 'value_data', type: 'json', text: ({ entry }) => packedValue(entry) },
  { name: 'consent', type: 'json', text: ({ entry }) => packedConsent(entry) },
  { name: 'notes', type: 'json', text: notesText },
  {
    name: 'body_digest',
    type: 'bytea',
    text: ({ entry }) => `\\x${entry.bodyDigest.toString('hex', 0, BODY_DIGEST_BYTES)}`,
  },
]

/** Beside the event's own columns: its key, payload and session. */
const BESIDE_COLUMNS: BatchColumn<EntryRow>[] = [
  { name: 'id_digest', type: 'uuid', text: ({ entry }) => eventIdDigest(entry.eventId) },
  {
    name: 'user_data',
    type: 'json',
    text: ({ entry: { payload } }) => payload && packedUserData(payload),
  },
  { name: 'visitor_id', type: 'text', text: ({ entry }) => entry.payload?.visitorId ?? null },
  {
    name: 'payload_click_ids',
    type: 'json',
    text: ({ entry: { payload } }) => payload && packedClickIds(payload),
  },
  {
    name: 'page_url',
    type: 'text',
    text: ({ entry }) => packedPage(entry.payload?.pageUrl, entry.eventSource),
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

export const ENTRY_COLUMNS = [...EVENT_COLUMNS, ...BESIDE_COLUMNS]

export function entryColumns(...names: string[]): BatchColumn<EntryRow>[] {
  return ENTRY_COLUMNS.filter(({ name }) => names.includes(name))
}

function unlessOrdinary(
  name: OrdinaryColumn,
  read: (entry: LedgerEntry) => string,
): BatchColumn<EntryRow> {
  const text = ({ entry }: EntryRow) => (read(entry) === ORDINARY[name] ? null : read(entry))
  return { name, type: 'text', text }
}

/** Null: the event happened when it came. To write and read a time costs 1 µs in both programs. */
function eventTimeText({ entry: { eventTime, createdAt } }: EntryRow): string | null {
  return eventTime.getTime() === createdAt.getTime() ? null : eventTime.toISOString()
}

function identifierKeysText({ entry: { trackerId, payload } }: EntryRow): string | null {
  if (payload === null) return null
  return `{${identifiersOf(payload)
    .map(digest => indexKey(trackerId, digest))
    .join(',')}}`
}

function sessionVisitorText({ entry, sighting }: EntryRow): string | null {
  return sighting === null ? null : (entry.session?.visitorId ?? null)
}

/** A statement may not update a row twice, so each row of a visitor holds the ones before it. */
export function entryRows(entries: readonly LedgerEntry[]): EntryRow[] {
  const latest = new Map<string, Sighting>()
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

function notesText({ entry: { notes } }: EntryRow): string | null {
  if (notes.dropped.length === 0 && notes.unknownMembers.length === 0) return null
  return JSON.stringify({ dropped: notes.dropped, unknown_members: notes.unknownMembers })
}
