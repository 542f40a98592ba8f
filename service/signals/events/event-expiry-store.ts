import { sql } from 'kysely'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import { COUNTER_SHARD, utcDay } from '../../runtime/db/sql-fragments.ts'
import { NIL_UUID } from '../../runtime/util/ids.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { BOTH_SPACES } from './event-record.ts'
import { deletePositions } from './list-position-store.ts'
import { deleteOrderKeys } from './page-match-store.ts'

/** The most events that one statement deletes. A batch takes tens of milliseconds. */
const EXPIRY_BATCH_EVENTS = 1_000

/** The most keys that one statement deletes. */
const EXPIRY_BATCH_KEYS = 5_000

/**
 * Partitions whose rows are deleted one by one: the default partition, which is almost always
 * empty, and the partition with the events stored before there were weekly partitions. SQL takes no
 * partition name as a parameter.
 */
const ROWWISE_PARTITIONS = ['events_default', 'events_legacy'] as const
export type RowwisePartition = (typeof ROWWISE_PARTITIONS)[number]

/**
 * The common table expressions that delete a batch of one tracker's oldest events with their keys
 * and counts. Parameters: the tracker, the first day to keep, and the time and ID of the last event
 * of the previous batch, because a batch that starts from the beginning reads all dead rows again.
 * `deleted_events` holds the events. The counters are reduced in the same statement, which also
 * invalidates the list positions of the day, so a list always has as many events as its total says.
 */
export function buildExpireEventsCtes(partition: RowwisePartition): string {
  return `
    due as materialized (
      select tracker_id, created_at, event_id, space from ${partition}
      where tracker_id = $1::uuid and created_at < $2::date::timestamp at time zone 'UTC'
        and (created_at, event_id) > ($3::timestamptz, $4::text)
      order by created_at, event_id limit ${EXPIRY_BATCH_EVENTS} for update skip locked
    ),
    deleted_events as (
      delete from ${partition} event using due
      where event.tracker_id = due.tracker_id and event.created_at = due.created_at
        and event.event_id = due.event_id and event.space = due.space
      returning event.tracker_id, event.created_at, event.event_id, event.space,
        event.event_name, event.order_id, event.parent_event_id
    ),
    deleted_keys as (
      delete from event_keys using (${selectKeys('deleted_events')}) key where ${SAME_KEY}
    ),
    deleted_orders as (${deleteOrderKeys('deleted_events')}),
    reduced_event_counts as (
      insert into event_counts (tracker_id, received_on, slot, events)
      select $1::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD}, -count(*)
      from deleted_events group by 2 order by 2
      on conflict (tracker_id, received_on, slot) do update
        set events = event_counts.events + excluded.events,
          unindexed_since = '-infinity'::timestamptz
    )`
}

/** The keys of events, as SQL: two keys for an event that occupies both spaces. */
function selectKeys(events: string): string {
  return `
    select tracker_id, key_space.space, event_id_digest(event_id) as id_digest, created_at
    from ${events}
    cross join lateral unnest(
      case ${events}.space when ${BOTH_SPACES} then '{0,1}'::smallint[]
        else array[${events}.space] end
    ) as key_space(space)`
}

const SAME_KEY = `event_keys.tracker_id = key.tracker_id and event_keys.space = key.space
  and event_keys.id_digest = key.id_digest and event_keys.created_at = key.created_at`

/** The row-wise partitions that exist. */
export async function findRowwisePartitions({ pool }: Database): Promise<RowwisePartition[]> {
  const { rows } = await pool.query(
    `select relname from pg_class
     where relnamespace = 'signalbox_store'::regnamespace and relname = any($1::text[])`,
    [ROWWISE_PARTITIONS],
  )
  const found = new Set(rows.map(({ relname }) => relname))
  return ROWWISE_PARTITIONS.filter(name => found.has(name))
}

/** SQL conditions for rows of a day before `$1`. */
const IS_EXPIRED = {
  events_default: `created_at < $1::date::timestamp at time zone 'UTC'`,
  events_legacy: `created_at < $1::date::timestamp at time zone 'UTC'`,
  event_counts: 'received_on < $1::date',
} as const

/** The trackers that have rows older than the cutoff day. */
export function findExpiringTrackers(
  database: Database,
  table: keyof typeof IS_EXPIRED,
  cutoffDay: string,
): Promise<string[]> {
  return findTrackersWithRows(database, {
    table,
    condition: IS_EXPIRED[table],
    values: [cutoffDay],
  })
}

interface TrackersWithRows {
  /** Its rows have a `tracker_id`, and an index begins with it and the columns of the condition. */
  table: string
  /** SQL, with `$1` and so on for the values. */
  condition: string
  values: readonly unknown[]
  limit?: number
}

/**
 * The trackers that have such rows, by one index lookup per tracker. Citus accepts no limit in the
 * lookup, so on a cluster PostgreSQL 15 reads all such rows.
 */
export async function findTrackersWithRows(
  database: Database,
  { table, condition, values, limit }: TrackersWithRows,
): Promise<string[]> {
  const isCluster = await isCitusCluster(database)
  const { rows } = await database.pool.query(
    `select trackers.id from trackers
     cross join lateral (
       select ${isCluster ? 'distinct' : ''} tracker_id from ${table}
       where tracker_id = trackers.id and ${condition}
       ${isCluster ? '' : 'limit 1'}
     ) expired
     order by trackers.id ${limit === undefined ? '' : `limit ${limit}`}`,
    [...values],
  )
  return rows.map(({ id }) => id)
}

/**
 * Deletes the list positions and event counts of a tracker that are older than the cutoff day.
 * Counts stay while the tracker still has an event of those days.
 */
export async function deleteEventCounts(
  { pool }: Database,
  trackerId: string,
  cutoffDay: string,
): Promise<void> {
  // Positions go first: the counts are what leads a later run to this tracker.
  await deletePositions({ pool }, trackerId, cutoffDay)
  await pool.query(
    `delete from event_counts
     where tracker_id = $1::uuid and received_on < $2::date and not exists (
       select 1 from events
       where tracker_id = $1::uuid
         and created_at < $2::date::timestamp at time zone 'UTC'
     )`,
    [trackerId, cutoffDay],
  )
}

const PARTITION_NAME = /^events_(\d{4})_(\d{2})_(\d{2})$/
const WEEK_MILLISECONDS = 7 * DAY_MILLISECONDS

/** The first days (YYYY-MM-DD) of weekly partitions that end on or before the cutoff, in order. */
export async function findExpiredWeeks({ pool }: Database, cutoffDay: string): Promise<string[]> {
  const { rows } = await pool.query(
    `select partition.relname as name
     from pg_inherits join pg_class partition on partition.oid = pg_inherits.inhrelid
     where pg_inherits.inhparent = 'signalbox_store.events'::regclass
     order by partition.relname`,
  )
  const latestStart = Date.parse(cutoffDay) - WEEK_MILLISECONDS
  return rows
    .map(({ name }) => PARTITION_NAME.exec(name)?.slice(1).join('-'))
    .filter(day => day !== undefined)
    .filter(day => Date.parse(day) <= latestStart)
}

/** Deletes the list positions and event counts of all trackers from before a UTC day. */
export async function deleteAllEventCounts(
  transaction: Database['query'],
  end: string,
): Promise<void> {
  await sql`delete from list_positions where received_on < ${end}::date`.execute(transaction)
  await sql`delete from event_counts where received_on < ${end}::date`.execute(transaction)
}

/**
 * Detaches the weekly partition that starts on a UTC day. Its rows stay in a table of their own
 * until their keys are deleted (`deleteExpiredKeys`).
 */
export async function detachEventPartition(
  transaction: Database['query'],
  start: string,
): Promise<void> {
  const suffix = start.replaceAll('-', '_')
  const events = sql.table(`signalbox_store.events_${suffix}`)
  const expired = sql.ref(`expired_events_${suffix}`)
  await sql`alter table signalbox_store.events detach partition ${events}`.execute(transaction)
  await sql`alter table ${events} rename to ${expired}`.execute(transaction)
}

/** The tables of detached weekly partitions, in order. */
export async function findDetachedWeeks({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select relname from pg_class
     where relnamespace = 'signalbox_store'::regnamespace and relkind = 'r'
       and relname ~ '^expired_events_\\d{4}_\\d{2}_\\d{2}$'
     order by relname`,
  )
  return rows.map(({ relname }) => relname)
}

/** The position of an event in the primary key of a detached week. */
export interface KeyCursor {
  trackerId: string
  /** The text form of PostgreSQL, with microseconds. */
  createdAt: string
  eventId: string
  space: number
}

/** Deletes the keys of a batch of events of a detached week. Null when none are left. */
export async function deleteExpiredKeys(
  { pool }: Database,
  table: string,
  after: KeyCursor | null,
): Promise<(KeyCursor & { keys: number }) | null> {
  const { rows } = await pool.query(
    `with batch as materialized (
       select tracker_id, created_at, event_id, space, event_name, order_id, parent_event_id
       from ${table}
       where (tracker_id, created_at, event_id, space)
         > ($1::uuid, $2::timestamptz, $3::text, $4::smallint)
       order by tracker_id, created_at, event_id, space limit ${EXPIRY_BATCH_KEYS}
     ), deleted_keys as (
       delete from event_keys using (${selectKeys('batch')}) key where ${SAME_KEY}
       returning 1
     ), deleted_orders as (${deleteOrderKeys('batch')}
     )
     select tracker_id, created_at::text as created_at, event_id, space,
       (select count(*) from deleted_keys) as keys
     from batch order by tracker_id desc, created_at desc, event_id desc, space desc limit 1`,
    [
      after?.trackerId ?? NIL_UUID,
      after?.createdAt ?? '-infinity',
      after?.eventId ?? '',
      after?.space ?? 0,
    ],
  )
  const [row] = rows
  if (!row) return null
  return {
    trackerId: row.tracker_id,
    createdAt: row.created_at,
    eventId: row.event_id,
    space: row.space,
    keys: row.keys,
  }
}

export async function dropDetachedWeek({ query }: Database, table: string): Promise<void> {
  await sql`drop table if exists ${sql.table(`signalbox_store.${table}`)}`.execute(query)
}
