import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import {
  ATTRIBUTION_JOINS,
  type AttributionJoin,
  CONSENT_BASES,
  type ConsentBasis,
  ENFORCEMENT_SCOPES,
  type EnforcementScope,
  EVENT_CLASSES,
  type EventClass,
  MEASUREMENT_CLASSES,
  type MeasurementClass,
} from '@signalbox/contract/events.ts'
import { type Database, queryByTracker } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import {
  COLUMN_DEFAULTS,
  type DefaultedColumn,
  decodeConsent,
  decodeIdentity,
  decodePageUrl,
  decodeValueData,
} from './column-encoding.ts'
import {
  type EventRef,
  eventRefValues,
  payloadCreatedAt,
  unnestEventRefs,
} from './event-columns.ts'
import {
  BODY_DIGEST_BYTES,
  BOTH_SPACES,
  type EventSpace,
  type IdentityPayload,
  SPACE_NUMBERS,
} from './event-record.ts'
import type { StoredSession } from './session-store.ts'

/** A stored event with its payload and session. */
export interface StoredEvent extends EventRef {
  eventTime: Date
  eventName: string
  eventClass: Stored<EventClass>
  actionSource: string
  consentBasis: Stored<ConsentBasis>
  measurementClass: Stored<MeasurementClass>
  attributionJoin: Stored<AttributionJoin>
  enforcementScope: Stored<EnforcementScope>
  consentNormalizationVersion: string
  consentCapturedAt: Date | null
  /** The full page URL while the payload exists, then the URL without its query. */
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
  /** Identity was erased, rather than expired. */
  isErased: boolean
}

export interface StoredNotes {
  dropped: { field: string; reason: string }[]
  unknown_members: string[]
  /** Absent without redactions, and in events from before there were any. */
  redacted?: string[]
}

/** The page URL of a stored event is its `eventSource`. */
export type StoredPayload = Omit<IdentityPayload, 'pageUrl'>

/**
 * The SQL condition that joins `event_payloads` to an event or delivery of the tracker `$1`. Every
 * table of a statement names the tracker by its parameter: Citus then routes the statement to one
 * shard unchanged, where it may look up one key at a time with a limit (docs/decisions/0024).
 */
export function payloadCondition(event: string): string {
  return `tracker_id = $1::uuid
      and created_at = ${payloadCreatedAt(event)}
      and event_id = ${event}.event_id and space = ${event}.space
      and received_on = (${event}.created_at at time zone 'UTC')::date`
}

/** SQL for the events of `source`, which has the columns of `events`. */
export const selectEvents = (source: string) => `
  select events.*,
    payload.event_id is not null as has_payload,
    payload.visitor_id, payload.user_data, payload.click_ids, payload.page_url,
    session.first_seen_at, session.last_seen_at, session.landing_source,
    session.click_ids as session_click_ids, session.secret_click_ids,
    session.page_click_ignored_at
  from ${source} events
  left join lateral (
    select * from event_payloads where ${payloadCondition('events')} limit 1
  ) payload on true
  left join lateral (
    select * from sessions
    where tracker_id = $1::uuid and visitor_id = payload.visitor_id limit 1
  ) session on true`

/** `$3` lists the spaces to search; when both have the ID, the first one wins. */
const EVENTS_OF_IDS = selectEvents(`
  unnest($2::text[]) as requested(event_id)
  cross join lateral (
    select created_at, space from event_keys
    where tracker_id = $1::uuid and space = any($3::smallint[])
      and id_digest = event_id_digest(requested.event_id)
    order by space <> ($3::smallint[])[1] limit 1
  ) key
  cross join lateral (
    select * from events
    where tracker_id = $1::uuid and created_at = key.created_at and event_id = requested.event_id
      and space in (key.space, ${BOTH_SPACES})
    limit 1
  )`)

const EVENTS_AT = selectEvents(`
  ${unnestEventRefs('ref', 2)}
  cross join lateral (
    select * from events
    where tracker_id = $1::uuid and created_at = ref.created_at and event_id = ref.event_id
      and space = ref.space
    limit 1
  )`)

export const ALL_SPACES: readonly EventSpace[] = ['secret', 'publishable']

/** Events by ID, unordered. When both spaces have the ID, the first of `spaces` wins. */
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
  return rows.map(row => toStoredEvent(row))
}

/** Events by reference, unordered. */
export async function findEventsByRef(
  { pool }: Database,
  trackerId: string,
  refs: readonly EventRef[],
): Promise<StoredEvent[]> {
  const values = [trackerId, ...eventRefValues(refs)]
  const { rows } = await pool.query({ text: EVENTS_AT, values })
  return rows.map(row => toStoredEvent(row))
}

export interface Submission {
  trackerId: string
  space: EventSpace
  eventId: string
  bodyDigest: Buffer
  /** The digest that an earlier version would have stored, if it is another one. */
  earlierBodyDigest?: Buffer | null
  at: Date
}

/**
 * Counts submissions that repeat an event ID with a different body, and returns them. The first
 * body is kept. Events of erased people have no digest and are not compared. The count is taken
 * before the update, because an update changes each row once, even when several match it.
 */
export function recordDifferingSubmissions<Given extends Submission>(
  database: Database,
  submissions: readonly Given[],
): Promise<Given[]> {
  return queryByTracker(database, submissions, async (batch, own) => {
    const isOwn = (table: string) => own.condition(`${table}.tracker_id`, 7)
    const { rows } = await database.pool.query({
      text: `update events set
             differing_submissions = differing_submissions + differing.times,
             last_differing_at = differing.at
           from (
             select first.tracker_id, first.created_at, first.event_id, first.space,
               count(*)::integer as times, max(repeated.at) as at
             from unnest($1::uuid[], $2::text[], $3::bytea[], $4::timestamptz[], $5::smallint[],
                 $6::bytea[])
               as repeated(tracker_id, event_id, body_digest, at, space, earlier_digest)
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
               and substring(first.body_digest for ${BODY_DIGEST_BYTES})
                 not in (repeated.body_digest, repeated.earlier_digest)
             group by 1, 2, 3, 4
           ) differing
           where events.tracker_id = differing.tracker_id
             and events.created_at = differing.created_at
             and events.event_id = differing.event_id and events.space = differing.space
             ${isOwn('events')}
           returning events.tracker_id, events.event_id, events.space, events.body_digest`,
      values: [
        arrayLiteral(batch.map(({ trackerId }) => trackerId)),
        arrayLiteral(batch.map(({ eventId }) => eventId)),
        arrayLiteral(batch.map(({ bodyDigest }) => digestText(bodyDigest))),
        arrayLiteral(batch.map(({ at }) => at.toISOString())),
        arrayLiteral(batch.map(({ space }) => String(SPACE_NUMBERS[space]))),
        arrayLiteral(batch.map(one => digestText(one.earlierBodyDigest ?? one.bodyDigest))),
        ...own.values,
      ],
    })
    return rows.length === 0 ? [] : selectDiffering(batch, rows)
  })
}

function digestText(digest: Buffer): string {
  return `\\x${digest.toString('hex', 0, BODY_DIGEST_BYTES)}`
}

/** The submissions whose body differs from that of their stored event. */
function selectDiffering<Given extends Submission>(
  submissions: readonly Given[],
  stored: readonly { tracker_id: string; event_id: string; space: number; body_digest: Buffer }[],
): Given[] {
  const firsts = Map.groupBy(stored, row => `${row.tracker_id} ${row.event_id}`)
  return submissions.filter(({ trackerId, eventId, space, bodyDigest, earlierBodyDigest }) =>
    firsts.get(`${trackerId} ${eventId}`)?.some(first => {
      if (first.space !== BOTH_SPACES && first.space !== SPACE_NUMBERS[space]) return false
      const known = [bodyDigest, earlierBodyDigest ?? bodyDigest].map(digestText)
      return !known.includes(digestText(first.body_digest))
    }),
  )
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
export function toStoredEvent(row: any, decode = decodeIdentity): StoredEvent {
  return {
    eventId: row.event_id,
    createdAt: row.created_at,
    space: row.space,
    eventTime: row.event_time,
    eventName: row.event_name,
    ...readClassification(row),
    consentCapturedAt: row.consent_captured_at,
    eventSource: decodePageUrl(row),
    parentEventId: row.parent_event_id,
    orderId: row.order_id,
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    valueData: decodeValueData(row),
    consent: decodeConsent(row),
    notes: row.notes,
    isErased: row.body_digest.length === 0,
    differingSubmissions: row.differing_submissions,
    lastDifferingAt: row.last_differing_at,
    payload: row.has_payload ? { visitorId: row.visitor_id, ...decode(row) } : null,
    session: row.first_seen_at
      ? {
          visitorId: row.visitor_id,
          firstSeenAt: row.first_seen_at,
          lastSeenAt: row.last_seen_at,
          landingSource: row.landing_source,
          clickIds: row.session_click_ids,
          secretClickIds: row.secret_click_ids ?? {},
          pageClickIgnoredAt: row.page_click_ignored_at,
        }
      : null,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function readClassification(row: any) {
  const textOf = (name: DefaultedColumn): string => row[name] ?? COLUMN_DEFAULTS[name]
  return {
    eventClass: parseStored(EVENT_CLASSES, textOf('event_class')),
    actionSource: textOf('action_source'),
    consentBasis: parseStored(CONSENT_BASES, textOf('consent_basis')),
    measurementClass: parseStored(MEASUREMENT_CLASSES, textOf('measurement_class')),
    attributionJoin: parseStored(ATTRIBUTION_JOINS, textOf('attribution_join')),
    enforcementScope: parseStored(ENFORCEMENT_SCOPES, textOf('enforcement_scope')),
    consentNormalizationVersion: textOf('consent_normalization_version'),
  }
}
