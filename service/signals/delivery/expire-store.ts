import { sql } from 'kysely'
import { type Database, deleteByTracker, type TrackerBatch } from '../../runtime/db/database.ts'
import { COUNTER_SHARD, utcDay } from '../../runtime/db/sql-fragments.ts'
import { NIL_UUID } from '../../runtime/util/ids.ts'
import { ADD_COUNTS } from './delivery-store.ts'
import { IS_COUNTED } from './plan-store.ts'

/** Rows that one statement deletes at most. */
export const EXPIRED_ROWS_MAX = 1_000

/**
 * The deliveries' part of the statement that expires events, as common table expressions: it joins
 * `deleted_events`, and subtracts their deliveries from the counts. `$1` is the tracker.
 */
export function buildExpireDeliveriesCtes(): string {
  const deleteFrom = (table: 'deliveries' | 'delivery_queue') => `
      delete from ${table} delivery using deleted_events event
      where delivery.tracker_id = event.tracker_id and delivery.created_at = event.created_at
        and delivery.event_id = event.event_id and delivery.space = event.space
      returning delivery.created_at, delivery.is_test, delivery.status`
  return `
    deleted_final as (${deleteFrom('deliveries')}
    ),
    deleted_waiting as (${deleteFrom('delivery_queue')}
    ),
    deleted_deliveries as materialized (
      select * from deleted_final union all select * from deleted_waiting
    ),
    reduced_delivery_counts as (
      insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
      select $1::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD},
        -count(*), -count(*) filter (where status = 'accepted')
      from deleted_deliveries where ${IS_COUNTED} group by 2 order by 2
      ${ADD_COUNTS}
    )`
}

/** Tables of counts by destination, with the column of the day. */
const SENT_COUNT_TABLES = [
  ['sent_counts', 'sent_on'],
  ['sent_key_counts', 'sent_on'],
  ['sent_value_counts', 'sent_on'],
  ['destination_outcomes', 'day'],
] as const

/** Deletes a batch of counts of what was sent before the cutoff day. Returns how many rows. */
export async function deleteSentCounts(database: Database, cutoffDay: string): Promise<number> {
  let total = 0
  for (const table of SENT_COUNT_TABLES) {
    const trackers = await findTrackersOfSentCounts(database, table, cutoffDay)
    total += await deleteByTracker(trackers, EXPIRED_ROWS_MAX, batch =>
      deleteSentCountsOf(database, table, { ...batch, cutoffDay }),
    )
  }
  return total
}

type SentCountTable = (typeof SENT_COUNT_TABLES)[number]

/** One index lookup per destination. */
async function findTrackersOfSentCounts(
  { pool }: Database,
  [table, day]: SentCountTable,
  cutoffDay: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    text: `select distinct destination.tracker_id from destinations destination
           cross join lateral (
             select 1 from ${table} sent
             where sent.tracker_id = destination.tracker_id
               and sent.destination_id = destination.id and sent.${day} < $1::date
             limit 1
           ) expired
           order by destination.tracker_id limit ${EXPIRED_ROWS_MAX}`,
    values: [cutoffDay],
  })
  return rows.map(row => row.tracker_id)
}

/** Reads one range of the primary key per destination of the tracker. */
async function deleteSentCountsOf(
  { pool }: Database,
  [table, day]: SentCountTable,
  { trackerId, cutoffDay, limit }: TrackerBatch & { cutoffDay: string },
): Promise<number> {
  const { rows } = await pool.query({
    text: `delete from ${table} where tracker_id = $1::uuid and ctid = any(array(
             select expired.row_position
             from destinations destination
             cross join lateral (
               select ctid as row_position from ${table} sent
               where sent.tracker_id = $1::uuid and sent.destination_id = destination.id
                 and sent.${day} < $2::date
               limit $3::integer for update skip locked
             ) expired
             where destination.tracker_id = $1::uuid
             limit $3::integer
           ))
           returning tracker_id`,
    values: [trackerId, cutoffDay, limit],
  })
  return rows.length
}

/** The trackers with attempts from before the cutoff day. */
export async function findTrackersWithExpiredAttempts(
  { pool }: Database,
  cutoffDay: string,
): Promise<string[]> {
  const { rows } = await pool.query({
    text: `select distinct destination.tracker_id from destinations destination
           cross join lateral (
             select 1 from send_attempts attempt
             where attempt.tracker_id = destination.tracker_id
               and attempt.started_at < $1::date::timestamp at time zone 'UTC'
             limit 1
           ) expired
           order by destination.tracker_id`,
    values: [cutoffDay],
  })
  return rows.map(row => row.tracker_id)
}

export interface ExpiredAttemptsQuery {
  trackerId: string
  cutoffDay: string
  /** The last attempt of the previous batch; null for the first batch. */
  after: AttemptPosition | null
}

/** The position of an attempt among those of its tracker; the time as PostgreSQL writes it. */
export interface AttemptPosition {
  startedAt: string
  id: string
}

export interface DeletedAttempts {
  attempts: number
  /** Null when no more are left. */
  last: AttemptPosition | null
}

/** Deletes a batch of a tracker's oldest attempts with their receipts, without locked ones. */
export async function deleteExpiredAttempts(
  { pool }: Database,
  { trackerId, cutoffDay, after }: ExpiredAttemptsQuery,
): Promise<DeletedAttempts> {
  const { rows } = await pool.query({
    text: `with due as materialized (
             select tracker_id, id, started_at from send_attempts
             where tracker_id = $1::uuid
               and started_at < $2::date::timestamp at time zone 'UTC'
               and (started_at, id) > ($3::timestamptz, $4::uuid)
             order by started_at, id limit ${EXPIRED_ROWS_MAX} for update skip locked
           ), deleted as (
             delete from send_attempts using due
             where send_attempts.tracker_id = due.tracker_id and send_attempts.id = due.id
             returning send_attempts.id
           ), deleted_receipts as (
             delete from request_receipts using due
             where request_receipts.tracker_id = $1::uuid
               and request_receipts.tracker_id = due.tracker_id and request_receipts.id = due.id
             returning request_receipts.id
           ), deleted_chunks as (
             delete from request_receipt_deliveries chunks using due
             where chunks.tracker_id = $1::uuid
               and chunks.tracker_id = due.tracker_id and chunks.receipt = due.id
             returning chunks.receipt
           )
           select (select count(*) from deleted) as attempts,
             due.started_at::text as last_at, due.id as last_id
           from due order by due.started_at desc, due.id desc limit 1`,
    values: [trackerId, cutoffDay, after?.startedAt ?? '-infinity', after?.id ?? NIL_UUID],
  })
  const [row] = rows
  if (!row) return { attempts: 0, last: null }
  return { attempts: row.attempts, last: { startedAt: row.last_at, id: row.last_id } }
}

/**
 * Deletes the delivery counts of a tracker that are older than the cutoff day, unless the tracker
 * still has an event of those days.
 */
export async function deleteDeliveryCounts(
  { pool }: Database,
  trackerId: string,
  cutoffDay: string,
): Promise<void> {
  await pool.query(
    `delete from delivery_counts
     where tracker_id = $1::uuid and planned_on < $2::date and not exists (
       select 1 from events
       where tracker_id = $1::uuid
         and created_at < $2::date::timestamp at time zone 'UTC'
     )`,
    [trackerId, cutoffDay],
  )
}

/** Deletes the delivery counts and queued deliveries of all trackers from before a UTC day. */
export async function deleteQueuedDeliveries(
  transaction: Database['query'],
  end: string,
): Promise<void> {
  await sql`delete from delivery_counts where planned_on < ${end}::date`.execute(transaction)
  await sql`delete from delivery_queue
    where created_at < ${end}::date::timestamp at time zone 'UTC'`.execute(transaction)
}

/** Drops the weekly partition of deliveries that starts on a UTC day. */
export async function dropDeliveryPartition(
  transaction: Database['query'],
  start: string,
): Promise<void> {
  const table = sql.table(`signalbox_store.deliveries_${start.replaceAll('-', '_')}`)
  await sql`drop table if exists ${table}`.execute(transaction)
}
