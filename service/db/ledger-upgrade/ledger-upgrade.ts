import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../database.ts'

/** The migration that this prepares, and the one before it. */
export const LEDGER_UPGRADE = {
  from: '0015-replay-by-id',
  to: '0016-queue-and-history',
} as const

const LOCK_MILLISECONDS_MAX = 2_000
const LOCK_NOT_AVAILABLE = '55P03'
const LOCK_TRIES_MAX = 150
const BATCH_ROWS = 10_000
const NO_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Whether the store holds events in the tables of the version before, so that they are to be taken
 * over while that version goes on. An empty store is migrated as it is.
 */
export async function needsLedgerUpgrade({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    `select relkind = 'r' as is_table from pg_class where oid = to_regclass('public.events')`,
  )
  if (!rows[0]?.is_table) return false
  const { rows: events } = await pool.query('select 1 from public.events limit 1')
  return events.length > 0
}

/**
 * Prepares a store in use for `0016-queue-and-history.sql`, beside processes of the version before:
 * builds the new keys, enters the ids of all events, copies final deliveries, and keeps both up to
 * date by triggers. It reads and writes every event once, so it may take hours; when it is
 * interrupted it goes on where it was. The store needs room for the copy of `deliveries`.
 */
export async function prepareLedgerUpgrade(database: Database): Promise<void> {
  await withShortLocks(database, readSql('prepare.sql'))
  await buildKeys(database)
  await withShortLocks(
    database,
    'alter table public.events validate constraint events_legacy_until',
  )
  await enterEventIds(database)
  await copyDeliveries(database)
  await database.pool.query(readSql('switch-over.sql'))
}

/** Waits for a lock for a moment only, since everything behind it waits too, and then tries again. */
async function withShortLocks({ pool }: Database, statements: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await pool.query(`begin; set local lock_timeout = ${LOCK_MILLISECONDS_MAX};
        ${statements}; commit`)
      return
    } catch (error) {
      const isHeld = (error as { code?: string }).code === LOCK_NOT_AVAILABLE
      if (!isHeld || tries === LOCK_TRIES_MAX) throw error
      await pool.query('select pg_sleep(0.2)')
    }
  }
}

/** Unique indexes in the form of the new primary keys, built beside the writers. */
async function buildKeys({ pool }: Database): Promise<void> {
  const { rows } = await pool.query(
    `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'public.event_payloads'::regclass order by relname`,
  )
  const builds = rows.map(({ name }) => ({
    table: name,
    index: `${name}_key`,
    columns: 'tracker_id, created_at, event_id, space, received_on',
  }))
  builds.push({
    table: 'events',
    index: 'events_legacy_key',
    columns: 'tracker_id, created_at, event_id, space',
  })
  for (const { table, index, columns } of builds) {
    const { rows: found } = await pool.query(
      `select indisvalid from pg_index where indexrelid = to_regclass($1::text)`,
      [`public.${index}`],
    )
    if (found[0]?.indisvalid) continue
    // What an interrupted build left behind.
    await pool.query(`drop index concurrently if exists public.${index}`)
    await pool.query(`create unique index concurrently ${index} on public.${table} (${columns})`)
  }
}

/**
 * In the order of the key, batch by batch. Rows are locked against being deleted, or an id could be
 * entered whose event an expiry has just removed.
 */
async function enterEventIds({ pool }: Database): Promise<void> {
  let after = [NO_ID, '-infinity', '']
  for (;;) {
    const { rows } = await pool.query(
      `with batch as materialized (
         select tracker_id, created_at, event_id from public.events
         where (tracker_id, created_at, event_id) > ($1::uuid, $2::timestamptz, $3::text)
         order by tracker_id, created_at, event_id limit ${BATCH_ROWS}
         for key share
       ), entered as (
         insert into signalbox.event_keys (tracker_id, space, id_digest, created_at)
         select tracker_id, space, signalbox.event_id_digest(event_id), created_at
         from batch cross join (values (0::smallint), (1::smallint)) as both_spaces(space)
         on conflict (tracker_id, space, id_digest) do nothing
       )
       select tracker_id, created_at::text as created_at, event_id from batch
       order by tracker_id desc, created_at desc, event_id desc limit 1`,
      after,
    )
    const [last] = rows
    if (!last) return
    after = [last.tracker_id, last.created_at, last.event_id]
  }
}

/** Final ones; the others are copied by the trigger when they end, or moved by the switch. */
async function copyDeliveries({ pool }: Database): Promise<void> {
  let after = [NO_ID, '', '0']
  for (;;) {
    const { rows } = await pool.query(
      `with batch as materialized (
         select * from public.deliveries
         where (tracker_id, event_id, id) > ($1::uuid, $2::text, $3::integer)
         order by tracker_id, event_id, id limit ${BATCH_ROWS}
         for no key update
       ), copied as (
         insert into signalbox.deliveries_legacy (created_at, id, first_sent_at, updated_at,
           replayed_at, replayable_until, attempt_count, attempts_before_replay, space, is_test,
           tracker_id, destination_id, event_id, status, status_reason, platform_trace_id,
           last_error, attempt_ids)
         select created_at, id, first_sent_at, updated_at, replayed_at, replayable_until,
           attempt_count, attempts_before_replay, 2, is_test, tracker_id, destination_id, event_id,
           status, status_reason, platform_trace_id, last_error, attempt_ids
         from batch where next_attempt_at is null
         on conflict (tracker_id, created_at, id) do nothing
       )
       select tracker_id, event_id, id from batch
       order by tracker_id desc, event_id desc, id desc limit 1`,
      after,
    )
    const [last] = rows
    if (!last) return
    after = [last.tracker_id, last.event_id, String(last.id)]
  }
}

function readSql(name: string): string {
  return readFileSync(join(import.meta.dirname, name), 'utf8')
}
