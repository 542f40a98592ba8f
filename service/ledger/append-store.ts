import { COUNT_SLOT, utcDay } from '../db/count-slot.ts'
import { arraysOf, type BatchColumn, unnestOf } from '../db/row-arrays.ts'
import { identifiersOf, indexKey } from './identifiers.ts'
import type { LedgerEntry, SessionSighting } from './ledger-entry.ts'
import {
  misjudgedExpression,
  PRESUMPTION_PARAMETERS,
  presumptionValues,
} from './presumption-store.ts'

const EVENT_COLUMNS: BatchColumn<LedgerEntry>[] = [
  { name: 'tracker_id', type: 'uuid', text: entry => entry.trackerId },
  { name: 'event_id', type: 'text', text: entry => entry.eventId },
  { name: 'created_at', type: 'timestamptz', text: entry => entry.createdAt.toISOString() },
  { name: 'event_time', type: 'timestamptz', text: eventTimeText },
  { name: 'event_name', type: 'text', text: entry => entry.eventName },
  { name: 'event_class', type: 'text', text: entry => entry.eventClass },
  { name: 'action_source', type: 'text', text: entry => entry.actionSource },
  { name: 'consent_basis', type: 'text', text: entry => entry.consentBasis },
  { name: 'measurement_class', type: 'text', text: entry => entry.measurementClass },
  { name: 'attribution_join', type: 'text', text: entry => entry.attributionJoin },
  { name: 'enforcement_scope', type: 'text', text: entry => entry.enforcementScope },
  {
    name: 'consent_normalization_version',
    type: 'text',
    text: entry => entry.consentNormalizationVersion,
  },
  {
    name: 'consent_captured_at',
    type: 'timestamptz',
    text: entry => entry.consentCapturedAt?.toISOString() ?? null,
  },
  { name: 'event_source', type: 'text', text: entry => entry.eventSource },
  { name: 'parent_event_id', type: 'text', text: entry => entry.parentEventId },
  { name: 'order_id', type: 'text', text: entry => entry.orderId },
  { name: 'value_amount', type: 'numeric', text: entry => entry.valueAmount },
  { name: 'value_currency', type: 'text', text: entry => entry.valueCurrency },
  { name: 'value_data', type: 'json', text: entry => entry.valueData },
  { name: 'consent', type: 'json', text: entry => entry.consent },
  { name: 'notes', type: 'json', text: notesText },
  { name: 'body_digest', type: 'bytea', text: entry => `\\x${entry.bodyDigest.toString('hex')}` },
]

const PAYLOAD_COLUMNS: BatchColumn<LedgerEntry>[] = [
  { name: 'tracker_id', type: 'uuid', text: entry => entry.trackerId },
  { name: 'event_id', type: 'text', text: entry => entry.eventId },
  { name: 'visitor_id', type: 'text', text: ({ payload }) => payload?.visitorId ?? null },
  {
    name: 'user_data',
    type: 'json',
    text: ({ payload }) =>
      JSON.stringify({ digests: payload?.digests ?? {}, plain: payload?.plain ?? {} }),
  },
  {
    name: 'click_ids',
    type: 'json',
    text: ({ payload }) => JSON.stringify(payload?.clickIds ?? {}),
  },
  { name: 'page_url', type: 'text', text: ({ payload }) => payload?.pageUrl ?? null },
  // A list a row: an array of arrays would be flattened, so it travels as text.
  { name: 'identifier_keys', type: 'text', text: identifierKeysText },
]

/** A visitor as seen up to and with one event of the group: earlier ones are merged into it. */
interface Sighting extends SessionSighting {
  trackerId: string
  eventId: string
  /** Counts the visitor's events in the group; the last that is new speaks for all. */
  ordinal: number
  firstSeenAt: Date
  createdAt: Date
}

const SESSION_COLUMNS: BatchColumn<Sighting>[] = [
  { name: 'tracker_id', type: 'uuid', text: sighting => sighting.trackerId },
  { name: 'event_id', type: 'text', text: sighting => sighting.eventId },
  { name: 'visitor_id', type: 'text', text: sighting => sighting.visitorId },
  { name: 'ordinal', type: 'integer', text: sighting => String(sighting.ordinal) },
  {
    name: 'first_seen_at',
    type: 'timestamptz',
    text: ({ firstSeenAt, createdAt }) =>
      firstSeenAt === createdAt ? null : firstSeenAt.toISOString(),
  },
  { name: 'landing_source', type: 'text', text: sighting => sighting.landingSource },
  { name: 'click_ids', type: 'json', text: sighting => JSON.stringify(sighting.clickIds) },
]

/** One of the keys under which a withdrawal names the person of an event. */
interface PersonKey {
  entry: LedgerEntry
  visitorId: string
}

const WITHDRAWAL_COLUMNS: BatchColumn<PersonKey>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ entry }) => entry.trackerId },
  { name: 'event_id', type: 'text', text: ({ entry }) => entry.eventId },
  { name: 'visitor_id', type: 'text', text: ({ visitorId }) => visitorId },
]

/** Null: the event happened when it came. To write and read a time costs 1 µs in both programs. */
function eventTimeText({ eventTime, createdAt }: LedgerEntry): string | null {
  return eventTime.getTime() === createdAt.getTime() ? null : eventTime.toISOString()
}

/** How many parameters the fragment below takes. */
export const APPEND_PARAMETERS =
  EVENT_COLUMNS.length +
  PAYLOAD_COLUMNS.length +
  SESSION_COLUMNS.length +
  WITHDRAWAL_COLUMNS.length +
  PRESUMPTION_PARAMETERS

/**
 * The ledger's part of the acceptance statement, as common table expressions. `inserted` holds the
 * keys of the events that are new; everything that belongs to an event joins it, so a repeated
 * event leaves no trace. `misjudged` holds the events that were made as if their person had neither
 * withdrawn consent nor been erased, and wrongly so (presumption-store.ts); they are not stored.
 * Rows are written in order of their keys, so that two processes with the same events or visitors
 * wait for each other instead of dead-locking. A click that is seen again keeps the time at which
 * it was first seen (domain reference B3). What belongs to an event takes the time of receipt from
 * `inserted`, so that a time is written and read once.
 */
export function appendExpressions(firstParameter: number): string {
  const payloadParameter = firstParameter + EVENT_COLUMNS.length
  const sessionParameter = payloadParameter + PAYLOAD_COLUMNS.length
  const withdrawalParameter = sessionParameter + SESSION_COLUMNS.length
  const withdrawals = unnestOf(WITHDRAWAL_COLUMNS, {
    alias: 'withdrawal',
    firstParameter: withdrawalParameter,
  })
  const presumptionParameter = withdrawalParameter + WITHDRAWAL_COLUMNS.length
  const entryKeys = `unnest($${firstParameter}::uuid[], $${firstParameter + 1}::text[])`
  const eventNames = EVENT_COLUMNS.map(({ name }) => name).join(', ')
  const eventValues = eventNames.replace('event_time', 'coalesce(event_time, created_at)')
  return `
    ${misjudgedExpression(entryKeys, presumptionParameter)},
    inserted as (
      insert into events (${eventNames})
      select ${eventValues} from ${unnestOf(EVENT_COLUMNS, { alias: 'entry', firstParameter })}
      where not exists (
        select from misjudged
        where misjudged.tracker_id = entry.tracker_id and misjudged.event_id = entry.event_id
      )
      on conflict (tracker_id, event_id) do nothing
      returning tracker_id, event_id, created_at
    ),
    payloads as (
      insert into event_payloads
        (tracker_id, event_id, received_on, visitor_id, user_data, click_ids, page_url,
         identifier_keys)
      select tracker_id, event_id, ${utcDay('created_at')}, visitor_id, user_data, click_ids,
        page_url, identifier_keys::integer[]
      from ${unnestOf(PAYLOAD_COLUMNS, { alias: 'payload', firstParameter: payloadParameter })}
      join inserted using (tracker_id, event_id)
    ),
    sightings as (
      insert into sessions
        (tracker_id, visitor_id, first_seen_at, last_seen_at, landing_source, click_ids)
      select distinct on (tracker_id, visitor_id)
        tracker_id, visitor_id, coalesce(first_seen_at, created_at), created_at, landing_source,
        click_ids
      from ${unnestOf(SESSION_COLUMNS, { alias: 'sighting', firstParameter: sessionParameter })}
      join inserted using (tracker_id, event_id)
      order by tracker_id, visitor_id, ordinal desc
      on conflict (tracker_id, visitor_id) do update set
        last_seen_at = greatest(sessions.last_seen_at, excluded.last_seen_at),
        landing_source = coalesce(sessions.landing_source, excluded.landing_source),
        click_ids = (sessions.click_ids::jsonb || excluded.click_ids::jsonb || case
          when split_part(sessions.click_ids ->> 'fbc', '.', 4) =
               split_part(excluded.click_ids ->> 'fbc', '.', 4)
          then jsonb_build_object('fbc', sessions.click_ids ->> 'fbc') else '{}' end)::json
    ),
    withdrawals as (
      insert into consent_withdrawals (tracker_id, visitor_id, withdrawn_at)
      select tracker_id, visitor_id, max(created_at)
      from ${withdrawals}
      join inserted using (tracker_id, event_id)
      group by tracker_id, visitor_id order by tracker_id, visitor_id
      on conflict (tracker_id, visitor_id) do update
        set withdrawn_at = greatest(consent_withdrawals.withdrawn_at, excluded.withdrawn_at)
    ),
    counted as (
      insert into event_counts (tracker_id, received_on, slot, events)
      select tracker_id, ${utcDay('created_at')}, ${COUNT_SLOT}, count(*)
      from inserted group by 1, 2 order by 1, 2
      on conflict (tracker_id, received_on, slot) do update
        set events = event_counts.events + excluded.events
    )`
}

/** The values for `appendExpressions`. Entries are distinct and in order of their keys. */
export function appendValues(entries: readonly LedgerEntry[]): string[] {
  const withPayload = entries.filter(({ payload }) => payload !== null)
  return [
    ...arraysOf(EVENT_COLUMNS, entries),
    ...arraysOf(PAYLOAD_COLUMNS, withPayload),
    ...arraysOf(SESSION_COLUMNS, sightingsOf(entries)),
    ...arraysOf(
      WITHDRAWAL_COLUMNS,
      entries.flatMap(entry => entry.withdrawalOf.map(visitorId => ({ entry, visitorId }))),
    ),
    ...presumptionValues(entries),
  ]
}

function identifierKeysText({ payload }: LedgerEntry): string {
  return payload === null ? '{}' : `{${identifiersOf(payload).map(indexKey).join(',')}}`
}

/** A statement may not update a row twice, so each row of a visitor holds the ones before it. */
function sightingsOf(entries: readonly LedgerEntry[]): Sighting[] {
  const latest = new Map<string, Sighting>()
  return entries.flatMap(({ trackerId, eventId, createdAt, session }) => {
    if (!session) return []
    const key = `${trackerId} ${session.visitorId}`
    const earlier = latest.get(key)
    const sighting = {
      trackerId,
      eventId,
      visitorId: session.visitorId,
      ordinal: (earlier?.ordinal ?? 0) + 1,
      firstSeenAt: earlier?.firstSeenAt ?? createdAt,
      createdAt,
      landingSource: earlier?.landingSource ?? session.landingSource,
      clickIds: earlier ? { ...earlier.clickIds, ...session.clickIds } : session.clickIds,
    }
    latest.set(key, sighting)
    return [sighting]
  })
}

function notesText({ notes }: LedgerEntry): string | null {
  if (notes.dropped.length === 0 && notes.unknownMembers.length === 0) return null
  return JSON.stringify({ dropped: notes.dropped, unknown_members: notes.unknownMembers })
}
