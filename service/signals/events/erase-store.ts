import type { Database } from '../../runtime/db/database.ts'
import {
  arrayLiteral,
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import { decodeDigests } from './column-encoding.ts'
import {
  EVENT_REF_COLUMNS,
  type EventRef,
  eventRefKey,
  eventRefValues,
  payloadCreatedAt,
  unnestEventRefs,
} from './event-columns.ts'
import { BOTH_SPACES } from './event-record.ts'
import { payloadCondition } from './event-store.ts'
import { eraseTokensInSql } from './free-text.ts'
import { erasePageWithdrawals } from './page-withdrawal-store.ts'
import {
  digestVisitorId,
  indexKey,
  legacyIndexKey,
  listWithdrawalKeysOfDigest,
  type PersonIdentifiers,
} from './person-identifiers.ts'

/** A payload that may be erased: its key and the person it identifies. */
export interface ErasablePayload extends PersonIdentifiers, EventRef {
  /** The partition, YYYY-MM-DD. */
  receivedOn: string
  /** An earlier version stored it without index keys: see payload-index-store.ts. */
  isUnindexed: boolean
}

export interface DigestSearch {
  trackerId: string
  digest: string
  /** The keyed digest of the same identifier, for events that name it in free text. */
  freeTextDigest?: string
  limit: number
  /** The last payload of the previous page; null for the first page. */
  after: ErasablePayload | null
}

/**
 * Payloads that may have the digest, in order. The index holds 32 bits of a digest, so the caller
 * filters the result with `matchesPerson`.
 */
export async function findPayloadsByDigest(
  { pool }: Database,
  { trackerId, digest, freeTextDigest, limit, after }: DigestSearch,
): Promise<ErasablePayload[]> {
  const { rows } = await pool.query(
    `select ${FOUND_COLUMNS}
     from ${selectPayloadsByIndexKeys({ trackerId: '$1', keys: '$2', legacyKeys: '$3' })}
     where (payload.received_on, payload.event_id, payload.space)
       > ($4::date, $5::text, $6::smallint)
     order by payload.received_on, payload.event_id, payload.space limit $7::integer`,
    [
      trackerId,
      [digest, freeTextDigest ?? digest].map(one => indexKey(trackerId, one)),
      [legacyIndexKey(digest)],
      after?.receivedOn ?? '-infinity',
      after?.eventId ?? '',
      after?.space ?? 0,
      limit,
    ],
  )
  return rows.map(toErasablePayload)
}

/**
 * Payloads of a visitor, unordered. A visitor with more than the limit is not one person. Earlier
 * versions stored visitor IDs with the spaces around them.
 */
export async function findPayloadsByVisitor(
  { pool }: Database,
  { trackerId, visitorId, limit }: { trackerId: string; visitorId: string; limit: number },
): Promise<ErasablePayload[]> {
  const { rows } = await pool.query(
    `select ${FOUND_COLUMNS}
     from ${selectPayloadsByIndexKeys({ trackerId: '$1', keys: '$3', legacyKeys: '$4' })}
     where $2::text in (payload.visitor_id, btrim(payload.visitor_id, E' \\t\\r\\n'))
     limit $5::integer`,
    [
      trackerId,
      visitorId,
      [indexKey(trackerId, digestVisitorId(visitorId))],
      [legacyIndexKey(digestVisitorId(visitorId))],
      limit,
    ],
  )
  return rows.map(toErasablePayload)
}

/**
 * SQL for the payloads of a tracker that have one of the index keys, as a table `payload`, with the
 * time of their event as `event_created_at`. `offset 0` keeps other conditions out of the scan.
 * Payloads up to the day of the upgrade may have a legacy key, or 0 when they are not indexed.
 * Callers do not name the statement: a plan that was prepared while today's partition was empty
 * reads all of it.
 */
export function selectPayloadsByIndexKeys({
  trackerId,
  keys,
  legacyKeys,
}: IndexKeyParameters): string {
  const found = (searched: string) => `
    select * from event_payloads
    where identifier_keys && ${searched} and tracker_id = ${trackerId}::uuid`
  return `(
    select payload.*, case when payload.space <> ${BOTH_SPACES} then payload.created_at
      else coalesce(legacy.created_at, payload.received_on::timestamp at time zone 'UTC')
      end as event_created_at
    from (
      ${found(`${keys}::integer[]`)}
      union all
      ${found(`(${legacyKeys}::integer[] || 0)`)}
        and received_on <= (select (until at time zone 'UTC')::date from legacy_events)
        and not identifier_keys && ${keys}::integer[]
    ) payload
    left join lateral (
      select created_at from event_keys
      where payload.space = ${BOTH_SPACES} and tracker_id = ${trackerId}::uuid and space = 0
        and id_digest = event_id_digest(payload.event_id)
      limit 1
    ) legacy on true
    offset 0
  ) payload`
}

/** Parameters, such as `$1`. The keys are arrays. */
export interface IndexKeyParameters {
  trackerId: string
  keys: string
  legacyKeys: string
}

export const FOUND_COLUMNS = `payload.event_id, payload.space, payload.event_created_at,
  payload.received_on, payload.visitor_id,
  payload.user_data, 0 = any(payload.identifier_keys) as is_unindexed`

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
export function toErasablePayload(row: any): ErasablePayload {
  return {
    eventId: row.event_id,
    space: row.space,
    createdAt: row.event_created_at,
    receivedOn: row.received_on,
    visitorId: row.visitor_id,
    ...decodeDigests(row.user_data),
    isUnindexed: row.is_unindexed,
  }
}

/** What one erasure removed. */
export interface ErasureCounts {
  events: number
  sessions: number
}

/**
 * Erases the identity of these events: their payloads, the sessions of their visitors, and the
 * columns of the events that `stripIdentity` clears. Rows are locked in key order, as acceptance
 * and other erasures lock them, so deadlocks are impossible.
 */
export async function eraseEvents(
  { pool }: Database,
  trackerId: string,
  payloads: readonly ErasablePayload[],
): Promise<ErasureCounts> {
  const { rows } = await pool.query(
    `with target as materialized (
       select $1::uuid as tracker_id, created_at, event_id, space, received_on
       from ${unnestColumns(PAYLOAD_REF_COLUMNS, { alias: 'payload', firstParameter: 2 })}
       order by created_at, event_id, space
     ), deleted_payloads as (
       delete from event_payloads payload using target
       where payload.tracker_id = target.tracker_id
         and payload.created_at = ${payloadCreatedAt('target')}
         and payload.event_id = target.event_id and payload.space = target.space
         and payload.received_on = target.received_on
       returning payload.tracker_id, target.created_at, payload.event_id, payload.space,
         payload.visitor_id
     ), stripped_events as (
       update events set body_digest = '', order_id = ${eraseTokensInSql('order_id')},
         value_data = ${eraseTokensInSql('value_data::text')}::json
       from deleted_payloads payload
       where events.tracker_id = payload.tracker_id and events.created_at = payload.created_at
         and events.event_id = payload.event_id and events.space = payload.space
     ), visitors as materialized (
       select session.tracker_id, session.visitor_id
       from (
         select distinct tracker_id, visitor_id from deleted_payloads
         where visitor_id is not null order by visitor_id
       ) visitor
       cross join lateral (
         select tracker_id, visitor_id from sessions
         where tracker_id = $1::uuid and visitor_id = visitor.visitor_id
         limit 1 for update
       ) session
     ), deleted_sessions as (
       delete from sessions using visitors
       where sessions.tracker_id = visitors.tracker_id
         and sessions.visitor_id = visitors.visitor_id
       returning sessions.visitor_id
     )
     select (select count(*) from deleted_payloads) as events,
       (select count(*) from deleted_sessions) as sessions`,
    [trackerId, ...toArrayParameters(PAYLOAD_REF_COLUMNS, payloads)],
  )
  return rows[0]
}

/** The key columns of a payload. */
export const PAYLOAD_REF_COLUMNS: readonly BatchColumn<ErasablePayload>[] = [
  ...EVENT_REF_COLUMNS,
  { name: 'received_on', type: 'date', text: ({ receivedOn }) => receivedOn },
]

/**
 * Deletes rows with the digest that belong to no event: the session of a visitor whose ID it is,
 * and withdrawals under it. The withdrawals are obsolete, because events with the digest are no
 * longer sent. Returns the number of sessions.
 */
export async function eraseSessionsAndWithdrawals(
  { pool }: Database,
  { trackerId, digest, visitorIds }: ErasedVisitorKeys,
): Promise<number> {
  const keys = [...new Set([...listWithdrawalKeysOfDigest(digest), ...visitorIds])]
  await erasePageWithdrawals({ pool }, trackerId, digest)
  const { rows } = await pool.query({
    text: `with withdrawals as materialized (
             ${selectLockedKeys('consent_withdrawals')}
           ), deleted_withdrawals as (
             delete from consent_withdrawals withdrawal using withdrawals
             where withdrawal.tracker_id = withdrawals.tracker_id
               and withdrawal.visitor_id = withdrawals.visitor_id
           ), visitors as materialized (
             ${selectLockedKeys('sessions')}
           ), deleted_sessions as (
             delete from sessions using visitors
             where sessions.tracker_id = visitors.tracker_id
               and sessions.visitor_id = visitors.visitor_id
             returning sessions.visitor_id
           )
           select count(*) as sessions from deleted_sessions`,
    values: [trackerId, arrayLiteral(keys)],
  })
  return rows[0].sessions
}

/** SQL that locks the rows of the visitors `$2` of the tracker `$1`, in order. */
function selectLockedKeys(table: 'consent_withdrawals' | 'sessions'): string {
  return `
    select found.tracker_id, found.visitor_id
    from (
      select visitor_id from unnest($2::text[]) as given(visitor_id) order by visitor_id
    ) visitor
    cross join lateral (
      select tracker_id, visitor_id from ${table}
      where tracker_id = $1::uuid and visitor_id = visitor.visitor_id limit 1 for update
    ) found`
}

/** The events without a payload. */
export async function findEventsWithoutPayload(
  { pool }: Database,
  trackerId: string,
  events: readonly EventRef[],
): Promise<EventRef[]> {
  if (events.length === 0) return []
  const { rows } = await pool.query({
    text: `select event.event_id, event.space
           from (
             select $1::uuid as tracker_id, created_at, event_id, space
             from ${unnestEventRefs('ref', 2)}
           ) event
           cross join lateral (
             select true from event_payloads where ${payloadCondition('event')} limit 1
           ) payload`,
    values: [trackerId, ...eventRefValues(events)],
  })
  const found = new Set(rows.map(row => eventRefKey({ eventId: row.event_id, space: row.space })))
  return events.filter(event => !found.has(eventRefKey(event)))
}

export interface ErasedVisitorKeys {
  trackerId: string
  digest: string
  /** Plain visitor IDs that have this digest. */
  visitorIds: readonly string[]
}
