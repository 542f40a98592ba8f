import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'
import { queryByTracker } from '../db/tracker-sharding.ts'
import {
  COLUMN_DEFAULTS,
  decodeConsent,
  decodeIdentity,
  decodePageUrl,
  decodeValueData,
} from './column-encoding.ts'
import { BODY_DIGEST_BYTES } from './event-record.ts'
import {
  BOTH_SPACES,
  type EventRef,
  type EventSpace,
  eventRefValues,
  payloadCreatedAt,
  SPACE_NUMBERS,
  unnestEventRefs,
} from './event-ref.ts'

/** An event with its payload and session, as it lies in the store. */
export interface StoredEvent extends EventRef {
  eventTime: Date
  eventName: string
  eventClass: string
  actionSource: string
  consentBasis: string
  measurementClass: string
  attributionJoin: string
  enforcementScope: string
  consentNormalizationVersion: string
  consentCapturedAt: Date | null
  /** The whole page while the payload is there, then its address alone. */
  eventSource: string | null
  parentEventId: string | null
  orderId: string | null
  valueAmount: string | null
  valueCurrency: string | null
  valueData: Record<string, unknown> | null
  consent: Record<string, unknown> | null
  notes: StoredNotes | null
  differingSubmissions: number
  lastDifferingAt: Date | null
  payload: StoredPayload | null
  session: StoredSession | null
}

export interface StoredNotes {
  dropped: { field: string; reason: string }[]
  unknown_members: string[]
}

export interface StoredPayload {
  visitorId: string | null
  digests: Record<string, string[]>
  plain: Record<string, string>
  clickIds: Record<string, string>
}

export interface StoredSession {
  visitorId: string
  firstSeenAt: Date
  lastSeenAt: Date
  landingSource: string | null
  clickIds: Record<string, string>
}

const CHILDREN_MAX = 100

/**
 * That a row of `event_payloads` belongs to an event or a delivery of the tracker `$1`, as SQL.
 * Every table of a statement names the tracker by its parameter: on Citus the statement then goes
 * to one shard as it is, and may look up one key at a time with a limit (docs/decisions/0024).
 */
export function payloadCondition(event: string): string {
  return `tracker_id = $1::uuid
      and created_at = ${payloadCreatedAt(event)}
      and event_id = ${event}.event_id and space = ${event}.space
      and received_on = (${event}.created_at at time zone 'UTC')::date`
}

/** Each event of `source`, which has the columns of `events` under that name. */
const selectEvents = (source: string) => `
  select events.*,
    payload.event_id is not null as has_payload,
    payload.visitor_id, payload.user_data, payload.click_ids, payload.page_url,
    session.first_seen_at, session.last_seen_at, session.landing_source,
    session.click_ids as session_click_ids
  from ${source} events
  left join lateral (
    select * from event_payloads where ${payloadCondition('events')} limit 1
  ) payload on true
  left join lateral (
    select * from sessions
    where tracker_id = $1::uuid and visitor_id = payload.visitor_id limit 1
  ) session on true`

/** `$3` are the spaces that are looked into; where both have the id, the first of them counts. */
const EVENTS_OF_IDS = selectEvents(`
  unnest($2::text[]) as asked(event_id)
  cross join lateral (
    select created_at, space from event_keys
    where tracker_id = $1::uuid and space = any($3::smallint[])
      and id_digest = event_id_digest(asked.event_id)
    order by space <> ($3::smallint[])[1] limit 1
  ) key
  cross join lateral (
    select * from events
    where tracker_id = $1::uuid and created_at = key.created_at and event_id = asked.event_id
      and space in (key.space, ${BOTH_SPACES})
    limit 1
  )`)

const EVENTS_AT = selectEvents(`
  ${unnestEventRefs('asked', 2)}
  cross join lateral (
    select * from events
    where tracker_id = $1::uuid and created_at = asked.created_at and event_id = asked.event_id
      and space = asked.space
    limit 1
  )`)

/** A child means the event of its own space, and that of the other one where there is none. */
const EVENTS_OF_PARENT = selectEvents(`(
    select events.* from events
    where tracker_id = $1::uuid and parent_event_id = $2::text
      and ($3::smallint = ${BOTH_SPACES} or (space = 1) = ($3::smallint = 1) or not exists (
        select 1 from event_keys
        where tracker_id = $1::uuid and space = 1 - $3::smallint
          and id_digest = event_id_digest($2::text)))
    order by created_at, event_id limit ${CHILDREN_MAX}
  )`)

const ALL_SPACES: readonly EventSpace[] = ['secret', 'publishable']

/** Events by id, in no order. Where both spaces have the id, the first of `spaces` counts. */
export async function findEventsById(
  { pool }: Database,
  trackerId: string,
  eventIds: readonly string[],
  spaces: readonly EventSpace[] = ALL_SPACES,
): Promise<StoredEvent[]> {
  const numbers = arrayLiteral(spaces.map(space => String(SPACE_NUMBERS[space])))
  const { rows } = await pool.query({
    text: EVENTS_OF_IDS,
    values: [trackerId, arrayLiteral(eventIds), numbers],
  })
  return rows.map(toStoredEvent)
}

/** Events whose places are known, in no order. */
export async function findEventsByRef(
  { pool }: Database,
  trackerId: string,
  places: readonly EventRef[],
): Promise<StoredEvent[]> {
  const values = [trackerId, ...eventRefValues(places)]
  const { rows } = await pool.query({ text: EVENTS_AT, values })
  return rows.map(toStoredEvent)
}

/** The events that name this one as their parent, the oldest first, up to a hundred. */
export async function findChildEvents(
  { pool }: Database,
  trackerId: string,
  parent: Pick<EventRef, 'eventId' | 'space'>,
): Promise<StoredEvent[]> {
  const { rows } = await pool.query({
    text: `${EVENTS_OF_PARENT} order by events.created_at, events.event_id`,
    values: [trackerId, parent.eventId, parent.space],
  })
  return rows.map(toStoredEvent)
}

export interface Submission {
  trackerId: string
  space: EventSpace
  eventId: string
  bodyDigest: Buffer
  at: Date
}

/**
 * Records how often an id came again with another body. The first body stays; that of an erased
 * person's event has no digest any more and is not compared. Counted before the update, because an
 * update takes each row once, however many submissions match it.
 */
export async function recordDifferingSubmissions(
  database: Database,
  submissions: readonly Submission[],
): Promise<void> {
  await queryByTracker(database, submissions, async (asked, own) => {
    const isOwn = (table: string) => own.condition(`${table}.tracker_id`, 6)
    await database.pool.query({
      text: `update events set
             differing_submissions = differing_submissions + differing.times,
             last_differing_at = differing.at
           from (
             select first.tracker_id, first.created_at, first.event_id, first.space,
               count(*)::integer as times, max(repeated.at) as at
             from unnest($1::uuid[], $2::text[], $3::bytea[], $4::timestamptz[], $5::smallint[])
               as repeated(tracker_id, event_id, body_digest, at, space)
             cross join lateral (
               select tracker_id, created_at, space from event_keys
               where tracker_id = repeated.tracker_id and space = repeated.space
                 and id_digest = event_id_digest(repeated.event_id)
                 ${isOwn('event_keys')}
               limit 1
             ) key
             cross join lateral (
               select tracker_id, created_at, event_id, space, body_digest from events
               where tracker_id = key.tracker_id and created_at = key.created_at
                 and event_id = repeated.event_id and space in (key.space, ${BOTH_SPACES})
                 ${isOwn('events')}
               limit 1
             ) first
             where first.body_digest <> ''
               and substring(first.body_digest for ${BODY_DIGEST_BYTES}) <> repeated.body_digest
             group by 1, 2, 3, 4
           ) differing
           where events.tracker_id = differing.tracker_id
             and events.created_at = differing.created_at
             and events.event_id = differing.event_id and events.space = differing.space
             ${isOwn('events')}`,
      values: [
        arrayLiteral(asked.map(({ trackerId }) => trackerId)),
        arrayLiteral(asked.map(({ eventId }) => eventId)),
        arrayLiteral(
          asked.map(({ bodyDigest }) => `\\x${bodyDigest.toString('hex', 0, BODY_DIGEST_BYTES)}`),
        ),
        arrayLiteral(asked.map(({ at }) => at.toISOString())),
        arrayLiteral(asked.map(({ space }) => String(SPACE_NUMBERS[space]))),
        ...own.values,
      ],
    })
    return []
  })
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function toStoredEvent(row: any): StoredEvent {
  return {
    eventId: row.event_id,
    createdAt: row.created_at,
    space: row.space,
    eventTime: row.event_time,
    eventName: row.event_name,
    eventClass: row.event_class ?? COLUMN_DEFAULTS.event_class,
    actionSource: row.action_source ?? COLUMN_DEFAULTS.action_source,
    consentBasis: row.consent_basis ?? COLUMN_DEFAULTS.consent_basis,
    measurementClass: row.measurement_class ?? COLUMN_DEFAULTS.measurement_class,
    attributionJoin: row.attribution_join ?? COLUMN_DEFAULTS.attribution_join,
    enforcementScope: row.enforcement_scope ?? COLUMN_DEFAULTS.enforcement_scope,
    consentNormalizationVersion:
      row.consent_normalization_version ?? COLUMN_DEFAULTS.consent_normalization_version,
    consentCapturedAt: row.consent_captured_at,
    eventSource: decodePageUrl(row),
    parentEventId: row.parent_event_id,
    orderId: row.order_id,
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    valueData: decodeValueData(row),
    consent: decodeConsent(row),
    notes: row.notes,
    differingSubmissions: row.differing_submissions,
    lastDifferingAt: row.last_differing_at,
    payload: row.has_payload ? { visitorId: row.visitor_id, ...decodeIdentity(row) } : null,
    session: row.first_seen_at
      ? {
          visitorId: row.visitor_id,
          firstSeenAt: row.first_seen_at,
          lastSeenAt: row.last_seen_at,
          landingSource: row.landing_source,
          clickIds: row.session_click_ids,
        }
      : null,
  }
}
