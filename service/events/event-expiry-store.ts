import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { isCitusCluster } from '../db/distribute-tables.ts'
import { COUNTER_SHARD, utcDay } from '../db/sql-fragments.ts'
import { BOTH_SPACES } from './event-ref.ts'
import { deletePositions } from './list-position-store.ts'
import { changePartitions } from './partition-store.ts'

/** Events that one statement expires at most; a batch takes some tens of milliseconds. */
export const EXPIRY_BATCH_EVENTS = 1_000

/** Keys that one statement deletes at most. */
const EXPIRY_BATCH_KEYS = 5_000

/**
 * Partitions whose rows expire one by one: the default one, which is nearly always empty, and the
 * one with the events from before there were weeks. The name of a partition is no parameter.
 */
export const ROWWISE_PARTITIONS = ['events_default', 'events_legacy'] as const
export type RowwisePartition = (typeof ROWWISE_PARTITIONS)[number]

/**
 * The ledger's part of the statement that expires a batch of one tracker's oldest events, as common
 * table expressions. Parameters: the tracker, the first day that is kept, and the time and the id
 * of the last event of the batch before, since everything up to there would be read again as dead
 * rows. `gone` holds the events; the kept counts are lowered with them, and make the positions of
 * the day invalid, so that a list is never longer or shorter than it says.
 */
export function buildExpireEventsCtes(partition: RowwisePartition): string {
  return `
    due as materialized (
      select tracker_id, created_at, event_id, space from ${partition}
      where tracker_id = $1::uuid and created_at < $2::date::timestamp at time zone 'UTC'
        and (created_at, event_id) > ($3::timestamptz, $4::text)
      order by created_at, event_id limit ${EXPIRY_BATCH_EVENTS} for update skip locked
    ),
    gone as (
      delete from ${partition} event using due
      where event.tracker_id = due.tracker_id and event.created_at = due.created_at
        and event.event_id = due.event_id and event.space = due.space
      returning event.tracker_id, event.created_at, event.event_id, event.space
    ),
    freed as (
      delete from event_keys using (${selectKeys('gone')}) key where ${SAME_KEY}
    ),
    uncounted as (
      insert into event_counts (tracker_id, received_on, slot, events)
      select $1::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD}, -count(*)
      from gone group by 2 order by 2
      on conflict (tracker_id, received_on, slot) do update
        set events = event_counts.events + excluded.events,
          unindexed_since = '-infinity'::timestamptz
    )`
}

/** The keys that lead to events, as SQL: those of both spaces where an event is in both. */
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

/** Which of the partitions whose rows expire one by one are there. */
export async function findRowwisePartitions({ pool }: Database): Promise<RowwisePartition[]> {
  const { rows } = await pool.query(
    `select relname from pg_class
     where relnamespace = 'signalbox_store'::regnamespace and relname = any($1::text[])`,
    [ROWWISE_PARTITIONS],
  )
  const found = new Set(rows.map(({ relname }) => relname))
  return ROWWISE_PARTITIONS.filter(name => found.has(name))
}

/** That a row is of a day before `$1`. */
const IS_OLD = {
  events_default: `created_at < $1::date::timestamp at time zone 'UTC'`,
  events_legacy: `created_at < $1::date::timestamp at time zone 'UTC'`,
  event_counts: 'received_on < $1::date',
} as const

/**
 * The trackers that have rows of a day before `computeRetentionCutoff` in the table. One look into an index a
 * tracker; on a Citus cluster, which takes no limit there, PostgreSQL 15 reads all such rows.
 */
export async function findExpiringTrackers(
  database: Database,
  table: keyof typeof IS_OLD,
  keptSince: string,
): Promise<string[]> {
  const isCluster = await isCitusCluster(database)
  const { rows } = await database.pool.query(
    `select trackers.id from trackers
     cross join lateral (
       select ${isCluster ? 'distinct' : ''} tracker_id from ${table}
       where tracker_id = trackers.id and ${IS_OLD[table]}
       ${isCluster ? '' : 'limit 1'}
     ) old
     order by trackers.id`,
    [keptSince],
  )
  return rows.map(({ id }) => id)
}

/**
 * Deletes the positions and counts of days before `computeRetentionCutoff` of a tracker; counts once it has no
 * event of those days any more.
 */
export async function deleteCounts(
  { pool }: Database,
  trackerId: string,
  keptSince: string,
): Promise<void> {
  // First, since the counts lead here.
  await deletePositions({ pool }, trackerId, keptSince)
  for (const [table, day] of COUNT_TABLES) {
    await pool.query(
      `delete from ${table}
       where tracker_id = $1::uuid and ${day} < $2::date and not exists (
         select 1 from events
         where tracker_id = $1::uuid
           and created_at < $2::date::timestamp at time zone 'UTC'
       )`,
      [trackerId, keptSince],
    )
  }
}

const COUNT_TABLES = [
  ['event_counts', 'received_on'],
  ['delivery_counts', 'planned_on'],
] as const

const PARTITION_NAME = /^events_(\d{4})_(\d{2})_(\d{2})$/
const WEEK_MILLISECONDS = 7 * 86_400_000

/** The first days (YYYY-MM-DD) of weekly partitions that end on or before `computeRetentionCutoff`, in order. */
export async function findExpiredWeeks({ pool }: Database, keptSince: string): Promise<string[]> {
  const { rows } = await pool.query(
    `select partition.relname as name
     from pg_inherits join pg_class partition on partition.oid = pg_inherits.inhrelid
     where pg_inherits.inhparent = 'signalbox_store.events'::regclass
     order by partition.relname`,
  )
  const latestStart = Date.parse(keptSince) - WEEK_MILLISECONDS
  return rows
    .map(({ name }) => PARTITION_NAME.exec(name)?.slice(1).join('-'))
    .filter(day => day !== undefined)
    .filter(day => Date.parse(day) <= latestStart)
}

/**
 * Takes a week out of the ledger: its events, their deliveries, and the counts of its days, all at
 * once. The events are kept apart until their keys are deleted (`deleteExpiredKeys`). False when
 * the tables are held for longer than half a second, as by a backup: nothing has changed then.
 */
export async function detachWeek(database: Database, start: string): Promise<boolean> {
  const suffix = start.replaceAll('-', '_')
  const end = new Date(Date.parse(start) + WEEK_MILLISECONDS).toISOString().slice(0, 10)
  return changePartitions(database, async transaction => {
    await sql`delete from list_positions where received_on < ${end}::date`.execute(transaction)
    await sql`delete from event_counts where received_on < ${end}::date`.execute(transaction)
    await sql`delete from delivery_counts where planned_on < ${end}::date`.execute(transaction)
    await sql`delete from delivery_queue
      where created_at < ${end}::date::timestamp at time zone 'UTC'`.execute(transaction)
    const events = sql.table(`signalbox_store.events_${suffix}`)
    const expired = sql.ref(`expired_events_${suffix}`)
    const deliveries = sql.table(`signalbox_store.deliveries_${suffix}`)
    await sql`alter table signalbox_store.events detach partition ${events}`.execute(transaction)
    await sql`alter table ${events} rename to ${expired}`.execute(transaction)
    await sql`drop table if exists ${deliveries}`.execute(transaction)
  })
}

/** The tables of detached weeks, in order. */
export async function findDetachedWeeks({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select relname from pg_class
     where relnamespace = 'signalbox_store'::regnamespace and relkind = 'r'
       and relname ~ '^expired_events_\\d{4}_\\d{2}_\\d{2}$'
     order by relname`,
  )
  return rows.map(({ relname }) => relname)
}

/** Where an event of a detached week stands in its key. */
export interface KeyCursor {
  trackerId: string
  /** As PostgreSQL writes it. */
  createdAt: string
  eventId: string
  space: number
}

/** Deletes the keys of a batch of events of a detached week. Null when there were no more. */
export async function deleteExpiredKeys(
  { pool }: Database,
  table: string,
  after: KeyCursor | null,
): Promise<(KeyCursor & { keys: number }) | null> {
  const { rows } = await pool.query(
    `with batch as materialized (
       select tracker_id, created_at, event_id, space from ${table}
       where (tracker_id, created_at, event_id, space)
         > ($1::uuid, $2::timestamptz, $3::text, $4::smallint)
       order by tracker_id, created_at, event_id, space limit ${EXPIRY_BATCH_KEYS}
     ), freed as (
       delete from event_keys using (${selectKeys('batch')}) key where ${SAME_KEY}
       returning 1
     )
     select tracker_id, created_at::text as created_at, event_id, space,
       (select count(*) from freed) as keys
     from batch order by tracker_id desc, created_at desc, event_id desc, space desc limit 1`,
    [
      after?.trackerId ?? '00000000-0000-0000-0000-000000000000',
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
