import { utcDay } from '../db/count-slot.ts'
import { arraysOf, type BatchColumn, type BatchWrite, unnestOf } from '../db/row-arrays.ts'
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
import { countInserted } from './position-store.ts'
import { misjudgedEntries, PRESUMPTION_PARAMETERS, presumptionValues } from './presumption-store.ts'
import { WITHDRAWAL_WRITE } from './withdrawal-store.ts'

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

const EVENT_COLUMNS: BatchColumn<EntryRow>[] = [
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

const ENTRY_COLUMNS = [...EVENT_COLUMNS, ...BESIDE_COLUMNS]
const EVENT_NAMES = EVENT_COLUMNS.map(({ name }) => name).join(', ')

function entryColumns(...names: string[]): BatchColumn<EntryRow>[] {
  return ENTRY_COLUMNS.filter(({ name }) => names.includes(name))
}

/** One of the keys under which a withdrawal names the person of an event. */
interface PersonKey {
  number: number
  visitorId: string
}

const WITHDRAWAL_COLUMNS: BatchColumn<PersonKey>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'visitor_id', type: 'text', text: ({ visitorId }) => visitorId },
]

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

/** The number of an entry's parameters: those of its row, of withdrawals and of presumptions. */
export const APPEND_PARAMETERS =
  ENTRY_COLUMNS.length + WITHDRAWAL_COLUMNS.length + PRESUMPTION_PARAMETERS

/**
 * Takes the ids of entries. Answers with those that were free: a repeated event leaves no trace.
 * Keys are taken in their order, so that two processes with the same events wait for each other
 * instead of dead-locking; the same holds for the visitors and withdrawals below.
 */
export const KEY_WRITE: BatchWrite<EntryRow> = {
  columns: entryColumns('tracker_id', 'space', 'id_digest', 'created_at'),
  from: source => `
    insert into event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, space, id_digest, created_at from ${source}
    order by tracker_id, space, id_digest
    on conflict (tracker_id, space, id_digest) do nothing
    returning tracker_id, space, id_digest`,
}

/** What is written of entries whose ids were free. */
export const ENTRY_WRITES = {
  events: {
    columns: EVENT_COLUMNS,
    from: source => `
    insert into events (${EVENT_NAMES})
    select ${EVENT_NAMES.replace('event_time', 'coalesce(event_time, created_at)')}
    from ${source}`,
  },
  payloads: {
    columns: entryColumns(
      'tracker_id',
      'event_id',
      'space',
      'created_at',
      'visitor_id',
      'user_data',
      'payload_click_ids',
      'page_url',
      'identifier_keys',
    ),
    from: source => `
    insert into event_payloads
      (tracker_id, event_id, space, created_at, received_on, visitor_id, user_data, click_ids,
       page_url, identifier_keys)
    select tracker_id, event_id, space, created_at, ${utcDay('created_at')}, visitor_id,
      user_data, payload_click_ids, page_url, identifier_keys::integer[]
    from ${source} where user_data is not null`,
  },
  // A click that is seen again keeps the time at which it was first seen (domain reference B3).
  sightings: {
    columns: entryColumns(
      'tracker_id',
      'created_at',
      'session_visitor_id',
      'session_ordinal',
      'first_seen_at',
      'landing_source',
      'session_click_ids',
    ),
    from: source => `
    insert into sessions
      (tracker_id, visitor_id, first_seen_at, last_seen_at, landing_source, click_ids)
    select distinct on (tracker_id, session_visitor_id)
      tracker_id, session_visitor_id, coalesce(first_seen_at, created_at), created_at,
      landing_source, session_click_ids
    from ${source} where session_visitor_id is not null
    order by tracker_id, session_visitor_id, session_ordinal desc
    on conflict (tracker_id, visitor_id) do update set
      last_seen_at = greatest(sessions.last_seen_at, excluded.last_seen_at),
      landing_source = coalesce(sessions.landing_source, excluded.landing_source),
      click_ids = (sessions.click_ids::jsonb || excluded.click_ids::jsonb || case
        when split_part(sessions.click_ids ->> 'fbc', '.', 4) =
             split_part(excluded.click_ids ->> 'fbc', '.', 4)
        then jsonb_set('{}', '{fbc}', coalesce(sessions.click_ids::jsonb -> 'fbc', 'null'))
        else '{}' end)::json`,
  },
  counted: { columns: entryColumns('tracker_id', 'created_at'), from: countInserted },
} satisfies Record<string, BatchWrite<EntryRow>>

/**
 * The ledger's part of the acceptance statement, as common table expressions. `entry` has a row
 * for each entry with its `number`, from 1 on; `misjudged` holds the numbers of those that were
 * made as if their person had neither withdrawn consent nor been erased, and wrongly so
 * (presumption-store.ts), which are not stored; `accepted` holds the entries whose id was not
 * taken: everything is inserted from it. `is true` keeps PostgreSQL from making a join of the
 * look-up in `keyed`: it takes both lists for ten rows, and compared a thousand with each other.
 */
export function appendExpressions(firstParameter: number): string {
  const withdrawalParameter = firstParameter + ENTRY_COLUMNS.length
  const withdrawals = unnestOf(WITHDRAWAL_COLUMNS, {
    alias: 'withdrawal',
    firstParameter: withdrawalParameter,
  })
  const presumptionParameter = withdrawalParameter + WITHDRAWAL_COLUMNS.length
  return `
    misjudged as materialized (${misjudgedEntries(`$${firstParameter}`, presumptionParameter)}),
    entry as materialized (
      select * from ${unnestOf(ENTRY_COLUMNS, { alias: 'given', firstParameter, number: 'number' })}
    ),
    keyed as (${KEY_WRITE.from('entry where number <> all(array(select number from misjudged))')}),
    accepted as materialized (
      select * from entry
      where ((tracker_id, space, id_digest) in (
        select tracker_id, space, id_digest from keyed
      )) is true
    ),
    withdrawn as (
      select accepted.tracker_id, withdrawal.visitor_id, accepted.created_at
      from ${withdrawals}
      join accepted using (number)
    ),
    withdrawals as (${WITHDRAWAL_WRITE.from('withdrawn')}),
    ${Object.entries(ENTRY_WRITES)
      .map(([name, { from }]) => `${name} as (${from('accepted')})`)
      .join(',')}`
}

/** The values for `appendExpressions`. Entries are distinct, best in order of receipt. */
export function appendValues(entries: readonly LedgerEntry[]): string[] {
  return [
    ...arraysOf(ENTRY_COLUMNS, entryRows(entries)),
    ...arraysOf(
      WITHDRAWAL_COLUMNS,
      entries.flatMap(({ withdrawalOf }, index) =>
        withdrawalOf.map(visitorId => ({ number: index + 1, visitorId })),
      ),
    ),
    ...presumptionValues(entries),
  ]
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
