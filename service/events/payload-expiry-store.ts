import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { deleteByTracker, type TrackerBatch } from '../db/tracker-sharding.ts'
import { changePartitions } from './partition-store.ts'

/** Rows that one statement deletes at most, so that no other waits for it for long. */
export const EXPIRY_BATCH_ROWS = 1_000

/** The day partitions of days before `computeRetentionCutoff` (YYYY-MM-DD), the oldest first. */
export async function findExpiredPayloadPartitions(
  { pool }: Database,
  { keptSince, limit }: { keptSince: string; limit: number },
): Promise<string[]> {
  const { rows } = await pool.query(
    `select partition.relname as name
     from pg_inherits join pg_class partition on partition.oid = pg_inherits.inhrelid
     where pg_inherits.inhparent = 'event_payloads'::regclass
       and partition.relname ~ '^event_payloads_\\d{4}_\\d{2}_\\d{2}$'
       and right(partition.relname, 10) < $1::text
     order by partition.relname limit $2::integer`,
    [keptSince.replaceAll('-', '_'), limit],
  )
  return rows.map(({ name }) => name)
}

/**
 * Drops a day. Dropping locks the whole table for a few milliseconds, and statements that store or
 * read payloads wait as long as we wait for the lock: at most half a second, and only while a
 * transaction such as a backup holds the table that long. False then, and nothing has changed.
 * PostgreSQL cannot detach concurrently from a table that has a default partition.
 */
export async function dropPayloadPartition(database: Database, name: string): Promise<boolean> {
  return changePartitions(database, async transaction => {
    await sql`drop table if exists ${sql.table(name)}`.execute(transaction)
  })
}

/**
 * Deletes a batch of expired payloads from the default partition, which holds payloads of days
 * without a partition, tracker by tracker. Returns how many; rows that are locked are left.
 */
export async function deleteDefaultPartitionPayloads(
  database: Database,
  keptSince: string,
): Promise<number> {
  const trackers = await findTrackersInDefaultPartition(database, keptSince)
  return deleteByTracker(trackers, EXPIRY_BATCH_ROWS, batch =>
    deleteDefaultPartitionPayloadsOf(database, { ...batch, keptSince }),
  )
}

/** The trackers of the oldest strays, as many as one batch deletes. */
async function findTrackersInDefaultPartition(
  { pool }: Database,
  keptSince: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    name: 'find-trackers-of-strays',
    text: `select distinct tracker_id
           from (
             select tracker_id from event_payloads_default where received_on < $1::date
             order by received_on limit ${EXPIRY_BATCH_ROWS}
           ) oldest
           order by tracker_id`,
    values: [keptSince],
  })
  return rows.map(row => row.tracker_id)
}

async function deleteDefaultPartitionPayloadsOf(
  { pool }: Database,
  { trackerId, keptSince, limit }: TrackerBatch & { keptSince: string },
): Promise<number> {
  const { rows } = await pool.query({
    name: 'delete-stray-payloads',
    text: `delete from event_payloads_default
           where tracker_id = $1::uuid and ctid = any(array(
             select ctid from event_payloads_default
             where tracker_id = $1::uuid and received_on < $2::date
             order by received_on limit $3::integer for update skip locked
           ))
           returning tracker_id`,
    values: [trackerId, keptSince, limit],
  })
  return rows.length
}

/** All trackers, in order: any of them may have sessions. */
export async function findSessionTrackers({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query('select id from trackers order by id')
  return rows.map(({ id }) => id)
}

/** Sessions that one statement looks through. */
const SESSIONS_READ = 10_000

export interface SessionRange {
  trackerId: string
  cutoffDay: string
  /** The last visitor of the batch before; null for the first one. */
  after: string | null
}

export interface DeletedSessions {
  sessions: number
  /** Where the next batch goes on; null when it was the tracker's last. */
  last: string | null
}

/**
 * Deletes a batch of one tracker's sessions that were last seen before `computeRetentionCutoff`, going through
 * the sessions in the order of the primary key; those that others hold are left. No index leads to
 * them: one on `last_seen_at` would cost every event of a returning visitor more than this costs.
 */
export async function deleteInactiveSessions(
  { pool }: Database,
  { trackerId, cutoffDay: keptSince, after }: SessionRange,
): Promise<DeletedSessions> {
  const { rows } = await pool.query({
    name: 'delete-unseen-sessions',
    text: DELETE_INACTIVE_SESSIONS,
    values: [trackerId, keptSince, after ?? ''],
  })
  return { sessions: rows[0].sessions, last: rows[0].last }
}

const IS_INACTIVE = `last_seen_at < $2::date::timestamp at time zone 'UTC'`

/**
 * A batch ends with the last row that was read, or before that with the last it may delete: `read`
 * is read on demand, so nothing behind that row is. A row that another statement moves meanwhile
 * was seen by it, and is left.
 */
const DELETE_INACTIVE_SESSIONS = `
  with read as materialized (
    select visitor_id, ctid as place, ${IS_INACTIVE} as is_unseen from sessions
    where tracker_id = $1::uuid and visitor_id > $3::text
    order by visitor_id limit ${SESSIONS_READ}
  ), unseen as materialized (
    select visitor_id, place from read where is_unseen limit ${EXPIRY_BATCH_ROWS}
  ), held as materialized (
    select ctid as place from sessions
    where tracker_id = $1::uuid and ctid = any(array(select place from unseen)) and ${IS_INACTIVE}
    for update skip locked
  ), gone as (
    delete from sessions
    where tracker_id = $1::uuid and ctid = any(array(select place from held))
    returning visitor_id
  )
  select (select count(*) from gone) as sessions, case
    when (select count(*) from unseen) = ${EXPIRY_BATCH_ROWS} then (select max(visitor_id) from unseen)
    when (select count(*) from read) = ${SESSIONS_READ} then (select max(visitor_id) from read)
  end as last`
