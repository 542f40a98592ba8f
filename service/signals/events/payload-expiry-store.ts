import { sql } from 'kysely'
import { type Database, deleteByTracker, type TrackerBatch } from '../../runtime/db/database.ts'
import { eraseTokensInSql } from './free-text.ts'
import { changePartitions } from './partition-store.ts'

/** The most rows that one statement deletes, so that no other statement waits long for it. */
export const EXPIRY_BATCH_ROWS = 1_000

/** The daily partitions from before the cutoff day, oldest first. */
export async function findExpiredPayloadPartitions(
  { pool }: Database,
  { cutoffDay, limit }: { cutoffDay: string; limit: number },
): Promise<string[]> {
  const { rows } = await pool.query(
    `select partition.relname as name
     from pg_inherits join pg_class partition on partition.oid = pg_inherits.inhrelid
     where pg_inherits.inhparent = 'event_payloads'::regclass
       and partition.relname ~ '^event_payloads_\\d{4}_\\d{2}_\\d{2}$'
       and right(partition.relname, 10) < $1::text
     order by partition.relname limit $2::integer`,
    [cutoffDay.replaceAll('-', '_'), limit],
  )
  return rows.map(({ name }) => name)
}

/**
 * Drops a daily partition. This locks the whole table for a few milliseconds, and statements that
 * store or read payloads wait as long as this statement waits for its lock: at most half a second,
 * and only while a transaction such as a backup holds the table. Returns false and changes nothing
 * when the lock takes longer. PostgreSQL cannot detach concurrently from a table with a default
 * partition.
 */
export async function dropPayloadPartition(database: Database, name: string): Promise<boolean> {
  return changePartitions(database, async transaction => {
    await sql`drop table if exists ${sql.table(name)}`.execute(transaction)
  })
}

/**
 * Deletes a batch of expired payloads from the default partition, tracker by tracker, and returns
 * how many. Skips locked rows.
 */
export async function deleteDefaultPartitionPayloads(
  database: Database,
  cutoffDay: string,
): Promise<number> {
  const trackers = await findTrackersInDefaultPartition(database, cutoffDay)
  return deleteByTracker(trackers, EXPIRY_BATCH_ROWS, batch =>
    deleteDefaultPartitionPayloadsOf(database, { ...batch, cutoffDay }),
  )
}

/** The trackers of the oldest payloads, up to one batch. */
async function findTrackersInDefaultPartition(
  { pool }: Database,
  cutoffDay: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    name: 'find-default-partition-trackers',
    text: `select distinct tracker_id
           from (
             select tracker_id from event_payloads_default where received_on < $1::date
             order by received_on limit ${EXPIRY_BATCH_ROWS}
           ) oldest
           order by tracker_id`,
    values: [cutoffDay],
  })
  return rows.map(row => row.tracker_id)
}

async function deleteDefaultPartitionPayloadsOf(
  { pool }: Database,
  { trackerId, cutoffDay, limit }: TrackerBatch & { cutoffDay: string },
): Promise<number> {
  const { rows } = await pool.query({
    name: 'delete-default-partition-payloads',
    text: `delete from event_payloads_default
           where tracker_id = $1::uuid and ctid = any(array(
             select ctid from event_payloads_default
             where tracker_id = $1::uuid and received_on < $2::date
             order by received_on limit $3::integer for update skip locked
           ))
           returning tracker_id`,
    values: [trackerId, cutoffDay, limit],
  })
  return rows.length
}

/** The trackers that may have payloads from before the cutoff day. */
export async function findTrackersWithExpiredPayloads(
  database: Database,
  cutoffDay: string,
): Promise<string[]> {
  const partitions = await findExpiredPayloadPartitions(database, { cutoffDay, limit: 1 })
  if (partitions.length > 0) return findAllTrackers(database)
  return findTrackersInDefaultPartition(database, cutoffDay)
}

/** The last payload of the previous batch. */
export interface PayloadCursor {
  createdAt: string
  eventId: string
  space: number
}

export interface PayloadRange {
  trackerId: string
  cutoffDay: string
  /** Null for the first batch. */
  after: PayloadCursor | null
}

/**
 * Erases the tokens in the text of a batch of events whose payloads are about to expire: without a
 * payload no erasure finds them. Returns where the next batch continues; null after the last one.
 */
export async function eraseExpiringTokens(
  { pool }: Database,
  { trackerId, cutoffDay, after }: PayloadRange,
): Promise<PayloadCursor | null> {
  const { createdAt = '-infinity', eventId = '', space = -1 } = after ?? {}
  const { rows } = await pool.query(ERASE_EXPIRING_TOKENS, [
    trackerId,
    cutoffDay,
    createdAt,
    eventId,
    space,
  ])
  const [{ found, last }] = rows
  if (found < EXPIRY_BATCH_ROWS) return null
  return { createdAt: last.created_at, eventId: last.event_id, space: last.space }
}

/** Hardly any payload has lookups of free text, under this name in its JSON. */
const ERASE_EXPIRING_TOKENS = `
  with expiring as materialized (
    select created_at, event_id, space from event_payloads
    where tracker_id = $1::uuid and received_on < $2::date
      and (created_at, event_id, space) > ($3::timestamptz, $4::text, $5::smallint)
      and user_data::text like '%free_text%'
    order by created_at, event_id, space limit ${EXPIRY_BATCH_ROWS}
  ), erased as (
    update events set order_id = ${eraseTokensInSql('events.order_id')},
      value_data = ${eraseTokensInSql('events.value_data::text')}::json
    from expiring
    where events.tracker_id = $1::uuid and events.created_at = expiring.created_at
      and events.event_id = expiring.event_id and events.space = expiring.space
  )
  select (select count(*) from expiring) as found, (
    select to_json(one) from (
      select created_at::text as created_at, event_id, space from expiring
      order by expiring.created_at desc, event_id desc, space desc limit 1
    ) one
  ) as last`

/** All trackers, in order. */
export async function findAllTrackers({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query('select id from trackers order by id')
  return rows.map(({ id }) => id)
}

/** Sessions that one statement reads. */
const SESSIONS_READ = 10_000

export interface SessionRange {
  trackerId: string
  cutoffDay: string
  /** The last visitor of the previous batch; null for the first batch. */
  after: string | null
}

export interface DeletedSessions {
  sessions: number
  /** Where the next batch continues; null after the last batch. */
  last: string | null
}

/**
 * Deletes a batch of one tracker's sessions that were last seen before the cutoff day, in the order
 * of the primary key. Skips locked rows. There is no index on `last_seen_at`: it would cost every
 * event of a returning visitor more than this scan costs.
 */
export async function deleteInactiveSessions(
  { pool }: Database,
  { trackerId, cutoffDay, after }: SessionRange,
): Promise<DeletedSessions> {
  const { rows } = await pool.query({
    name: 'delete-inactive-sessions',
    text: DELETE_INACTIVE_SESSIONS,
    values: [trackerId, cutoffDay, after ?? ''],
  })
  return { sessions: rows[0].sessions, last: rows[0].last }
}

const IS_INACTIVE = `last_seen_at < $2::date::timestamp at time zone 'UTC'`

/**
 * A batch ends with the last row it reads, or earlier with the last row it may delete: `scanned` is
 * read on demand, so rows behind that are not read. A row that another statement updates at the
 * same time is active, and stays.
 */
const DELETE_INACTIVE_SESSIONS = `
  with scanned as materialized (
    select visitor_id, ctid as row_id, ${IS_INACTIVE} as is_inactive from sessions
    where tracker_id = $1::uuid and visitor_id > $3::text
    order by visitor_id limit ${SESSIONS_READ}
  ), inactive as materialized (
    select visitor_id, row_id from scanned where is_inactive limit ${EXPIRY_BATCH_ROWS}
  ), locked as materialized (
    select ctid as row_id from sessions
    where tracker_id = $1::uuid and ctid = any(array(select row_id from inactive))
      and ${IS_INACTIVE}
    for update skip locked
  ), deleted as (
    delete from sessions
    where tracker_id = $1::uuid and ctid = any(array(select row_id from locked))
    returning visitor_id
  )
  select (select count(*) from deleted) as sessions, case
    when (select count(*) from inactive) = ${EXPIRY_BATCH_ROWS}
      then (select max(visitor_id) from inactive)
    when (select count(*) from scanned) = ${SESSIONS_READ}
      then (select max(visitor_id) from scanned)
  end as last`
