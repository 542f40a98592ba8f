import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral, toArrayParameters, unnestColumns } from '../../runtime/db/sql-fragments.ts'
import {
  type EventRef,
  eventRefKey,
  eventRefValues,
  payloadCreatedAt,
  unnestEventRefs,
} from './event-columns.ts'
import { payloadCondition } from './event-store.ts'
import { eraseTokensInSql } from './free-text.ts'
import { erasePageWithdrawals } from './page-withdrawal-store.ts'
import { type ErasablePayload, PAYLOAD_REF_COLUMNS } from './payload-search-store.ts'
import { listWithdrawalKeysOfDigest } from './person-identifiers.ts'

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
