import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import { indexKey, type NamedPerson, visitorDigest } from './identifiers.ts'
import { dayOf } from './ledger-entry.ts'
import { withdrawalKeysOfDigest } from './visitor-keys.ts'

/** A payload that may be erased: where it lies, and whom it names. */
export interface FoundPayload extends NamedPerson {
  eventId: string
  /** The partition, YYYY-MM-DD. */
  receivedOn: string
  /** A process of the version before has stored it: see unindexed-store.ts. */
  isUnindexed: boolean
}

export interface DigestSearch {
  trackerId: string
  digest: string
  limit: number
  /** The last one of the page before; null for the first page. */
  after: FoundPayload | null
}

/**
 * Payloads that may bear the digest, in order. The index knows digests by their first bits and
 * trackers not at all, so the caller tells by `namesPerson` which are meant.
 */
export async function findPayloadsByDigest(
  { pool }: Database,
  { trackerId, digest, limit, after }: DigestSearch,
): Promise<FoundPayload[]> {
  const { rows } = await pool.query(
    `select ${FOUND_COLUMNS} from ${payloadsByKey('$2')}
     where payload.tracker_id = $1
       and (payload.received_on, payload.event_id) > ($3::date, $4::text)
     order by payload.received_on, payload.event_id limit $5`,
    [trackerId, indexKey(digest), after?.receivedOn ?? '-infinity', after?.eventId ?? '', limit],
  )
  return rows.map(foundPayload)
}

/** Payloads of a visitor, in no order: whoever has more than the limit is not one person. */
export async function findPayloadsOfVisitor(
  { pool }: Database,
  { trackerId, visitorId, limit }: { trackerId: string; visitorId: string; limit: number },
): Promise<FoundPayload[]> {
  const { rows } = await pool.query(
    `select ${FOUND_COLUMNS} from ${payloadsByKey('$3')}
     where payload.tracker_id = $1 and payload.visitor_id = $2 limit $4`,
    [trackerId, visitorId, indexKey(visitorDigest(visitorId)), limit],
  )
  return rows.map(foundPayload)
}

/**
 * The payloads that have an index key, as a table called `payload`. `offset 0` keeps the other
 * conditions out of the scan, or PostgreSQL reads all payloads of the tracker by their primary key.
 * Who asks does not name the statement: a plan that is kept from when today's partition was empty
 * reads all of it.
 */
export function payloadsByKey(key: string): string {
  return `(
    select * from event_payloads where identifier_keys && array[${key}::integer, 0] offset 0
  ) payload`
}

const FOUND_COLUMNS = `payload.event_id, payload.received_on, payload.visitor_id,
  payload.user_data -> 'digests' as digests, 0 = any(payload.identifier_keys) as is_unindexed`

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function foundPayload(row: any): FoundPayload {
  return {
    eventId: row.event_id,
    receivedOn: row.received_on,
    visitorId: row.visitor_id,
    digests: row.digests ?? {},
    isUnindexed: row.is_unindexed,
  }
}

/** What one erasure has removed. */
export interface Erased {
  events: number
  sessions: number
}

/**
 * Erases the identity of these events: their payloads, the sessions of the visitors in them, and of
 * the events themselves what `erasedEntry` leaves out. Rows are taken in order of their keys, as
 * acceptance and other erasures take them, so that nobody dead-locks.
 */
export async function eraseEvents(
  { pool }: Database,
  trackerId: string,
  payloads: readonly FoundPayload[],
): Promise<Erased> {
  const { rows } = await pool.query(
    `with asked as materialized (
       select $1::uuid as tracker_id, event_id, received_on
       from unnest($2::text[], $3::date[]) as payload(event_id, received_on)
       order by event_id
     ), gone as (
       delete from event_payloads payload using asked
       where payload.tracker_id = asked.tracker_id and payload.event_id = asked.event_id
         and payload.received_on = asked.received_on
       returning payload.tracker_id, payload.event_id, payload.visitor_id
     ), stripped as (
       update events set body_digest = ''
       from gone
       where events.tracker_id = gone.tracker_id and events.event_id = gone.event_id
     ), visitors as materialized (
       select session.tracker_id, session.visitor_id
       from (
         select distinct tracker_id, visitor_id from gone
         where visitor_id is not null order by visitor_id
       ) visitor
       cross join lateral (
         select tracker_id, visitor_id from sessions
         where tracker_id = visitor.tracker_id and visitor_id = visitor.visitor_id
         limit 1 for update
       ) session
     ), ended as (
       delete from sessions using visitors
       where sessions.tracker_id = visitors.tracker_id
         and sessions.visitor_id = visitors.visitor_id
       returning sessions.visitor_id
     )
     select (select count(*) from gone) as events, (select count(*) from ended) as sessions`,
    [
      trackerId,
      arrayLiteral(payloads.map(({ eventId }) => eventId)),
      arrayLiteral(payloads.map(({ receivedOn }) => receivedOn)),
    ],
  )
  return rows[0]
}

/**
 * Removes what bears the digest without any event: the session of a visitor whose id it is, and
 * withdrawals under it. Those are no longer needed, since no identity of its events leaves again.
 * Returns how many sessions.
 */
export async function eraseKeysOf(
  { pool }: Database,
  { trackerId, digest, visitorIds }: ErasedKeys,
): Promise<number> {
  const keys = [...new Set([...withdrawalKeysOfDigest(digest), ...visitorIds])]
  const { rows } = await pool.query({
    text: `with withdrawals as materialized (
             ${lockedKeysOf('consent_withdrawals')}
           ), forgotten as (
             delete from consent_withdrawals withdrawal using withdrawals
             where withdrawal.tracker_id = withdrawals.tracker_id
               and withdrawal.visitor_id = withdrawals.visitor_id
           ), visitors as materialized (
             ${lockedKeysOf('sessions')}
           ), ended as (
             delete from sessions using visitors
             where sessions.tracker_id = visitors.tracker_id
               and sessions.visitor_id = visitors.visitor_id
             returning sessions.visitor_id
           )
           select count(*) as sessions from ended`,
    values: [trackerId, arrayLiteral(keys)],
  })
  return rows[0].sessions
}

/** Locks the rows of the visitors `$2` of the tracker `$1`, in order, and returns their keys. */
function lockedKeysOf(table: 'consent_withdrawals' | 'sessions'): string {
  return `
    select found.tracker_id, found.visitor_id
    from (
      select visitor_id from unnest($2::text[]) as given(visitor_id) order by visitor_id
    ) asked
    cross join lateral (
      select tracker_id, visitor_id from ${table}
      where tracker_id = $1 and visitor_id = asked.visitor_id limit 1 for update
    ) found`
}

/** An event by its id and the moment that says where its payload lies. */
export interface StoredOn {
  eventId: string
  createdAt: Date
}

/** Those of these events that have no payload any more. */
export async function findWithoutPayload(
  { pool }: Database,
  trackerId: string,
  events: readonly StoredOn[],
): Promise<string[]> {
  if (events.length === 0) return []
  const { rows } = await pool.query({
    text: `select asked.event_id
           from unnest($2::text[], $3::date[]) as asked(event_id, received_on)
           cross join lateral (
             select true from event_payloads
             where tracker_id = $1 and event_id = asked.event_id
               and received_on = asked.received_on
             limit 1
           ) payload`,
    values: [
      trackerId,
      arrayLiteral(events.map(({ eventId }) => eventId)),
      arrayLiteral(events.map(({ createdAt }) => dayOf(createdAt))),
    ],
  })
  const found = new Set(rows.map(row => row.event_id))
  return events.map(({ eventId }) => eventId).filter(eventId => !found.has(eventId))
}

export interface ErasedKeys {
  trackerId: string
  digest: string
  /** Plain visitor ids that have this digest. */
  visitorIds: readonly string[]
}
