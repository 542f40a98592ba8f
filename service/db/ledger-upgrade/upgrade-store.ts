import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, inTransaction } from '../database.ts'
import { isLockTimeout } from '../local-settings.ts'

/** The migration that this prepares, and the one before it. */
export const LEDGER_UPGRADE = {
  from: '0015-replay-by-id',
  to: '0016-queue-and-history',
} as const

const LOCK_MILLISECONDS_MAX = 200
const AUTOVACUUM_LOCK_MILLISECONDS_MAX = 60_000
const LOCK_TRIES_MAX = 600
const BATCH_ROWS = 5_000
const BATCH_TRIES_MAX = 1_000
const NO_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Whether the tables of the version before are to be taken over while it goes on. A store that has
 * no tracker is not in use, and is migrated as it is.
 */
export async function needsLedgerUpgrade({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    `select to_regclass('public.events') is not null
       and to_regclass('public.trackers') is not null as is_there`,
  )
  if (!rows[0].is_there) return false
  const { rows: trackers } = await pool.query('select 1 from public.trackers limit 1')
  return trackers.length > 0
}

/**
 * Prepares a store in use for `0016-queue-and-history.sql`, beside processes of the version before:
 * builds the new keys, enters the ids of all events, copies deliveries, and keeps all of it up to
 * date by triggers. It reads every event and copies every delivery once, so it may take hours; when
 * it is interrupted it goes on where it was. The store needs room for the copy of `deliveries`.
 */
export async function prepareLedgerUpgrade(database: Database): Promise<void> {
  await withShortLocks(database, readSql('prepare.sql'))
  await buildKeys(database)
  await enterEventIds(database)
  await copyDeliveries(database)
  await withShortLocks(database, readSql('bound.sql'))
  for (const table of ['events_legacy', 'deliveries_legacy']) {
    const validate = `alter table signalbox_store.${table} validate constraint ${table}_until`
    await withShortLocks(database, validate)
  }
  await database.pool.query(readSql('switch-over.sql'))
}

/** The switch has failed: the version before may go on for as long as it likes. */
export async function releaseBound(database: Database): Promise<void> {
  await withShortLocks(
    database,
    `alter table signalbox_store.events_legacy drop constraint if exists events_legacy_until;
     alter table signalbox_store.deliveries_legacy
       drop constraint if exists deliveries_legacy_until`,
  )
}

/**
 * Waits for locks for a moment only, since everything behind them waits too, and then tries again:
 * for less than PostgreSQL's `deadlock_timeout`, after which it could end a statement of the
 * version before for our sake. Only an autovacuum is given the time to make room.
 */
async function withShortLocks(database: Database, statements: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await inTransaction(database, async client => {
        await client.query(`set local lock_timeout = ${AUTOVACUUM_LOCK_MILLISECONDS_MAX}`)
        await client.query(`lock table public.events, public.event_payloads, public.deliveries
          in share update exclusive mode`)
        await client.query(`set local lock_timeout = ${LOCK_MILLISECONDS_MAX}`)
        await client.query(statements)
      })
      return
    } catch (error) {
      if (!isLockTimeout(error) || tries === LOCK_TRIES_MAX) throw error
      await database.pool.query('select pg_sleep(0.3)')
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
    table: `public.${name}`,
    index: `${name}_key`,
    schema: 'public',
    columns: 'tracker_id, created_at, event_id, space, received_on',
  }))
  builds.push({
    table: 'signalbox_store.events_legacy',
    index: 'events_legacy_key',
    schema: 'signalbox_store',
    columns: 'tracker_id, created_at, event_id, space',
  })
  for (const { table, index, schema, columns } of builds) {
    const { rows: found } = await pool.query(
      `select indisvalid from pg_index where indexrelid = to_regclass($1::text)`,
      [`${schema}.${index}`],
    )
    if (found[0]?.indisvalid) continue
    // What an interrupted build left behind.
    await pool.query(`drop index concurrently if exists ${schema}.${index}`)
    await pool.query(`create unique index concurrently ${index} on ${table} (${columns})`)
  }
}

/**
 * In the order of the key, batch by batch. The lock keeps out deletions, which do not see keys that
 * are being entered (prepare.sql). It is taken in a statement of its own, so that the batch sees
 * what those before it have deleted.
 */
async function enterEventIds(database: Database): Promise<void> {
  await inBatches(database, { step: 'event ids', start: [NO_ID, '-infinity', ''] }, after =>
    inTransaction(database, async client => {
      await client.query(`select pg_advisory_xact_lock(hashtext('signalbox_event_keys'))`)
      const { rows } = await client.query(ENTER_EVENT_IDS, after)
      return rows[0]
    }),
  )
}

const ENTER_EVENT_IDS = `
  with batch as materialized (
    select tracker_id, created_at, event_id from signalbox_store.events_legacy
    where (tracker_id, created_at, event_id) > ($1::uuid, $2::timestamptz, $3::text)
    order by tracker_id, created_at, event_id limit ${BATCH_ROWS}
  ), entered as (
    insert into signalbox_store.event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, space, signalbox_store.event_id_digest(event_id), created_at
    from batch cross join (values (0::smallint), (1::smallint)) as both_spaces(space)
    on conflict (tracker_id, space, id_digest) do nothing
  )
  select array[tracker_id::text, created_at::text, event_id] as last, 0 as missed from batch
  order by tracker_id desc, created_at desc, event_id desc limit 1`

/**
 * In the order of the earlier key. A row that is being changed is left to the trigger, and the
 * batch is repeated for the sake of those that were only locked: waiting for one while others are
 * held could dead-lock with a worker that settles several.
 */
async function copyDeliveries(database: Database): Promise<void> {
  await inBatches(database, { step: 'deliveries', start: [NO_ID, '', '0'] }, async after => {
    const { rows } = await database.pool.query(COPY_DELIVERIES, after)
    return rows[0]
  })
}

/** What both tables hold. */
const COPIED_COLUMNS = `created_at, id, first_sent_at, updated_at, replayed_at, attempt_count,
  attempts_before_replay, is_test, tracker_id, destination_id, event_id, status, status_reason,
  platform_trace_id, last_error, attempt_ids`

const COPY_DELIVERIES = `
  with batch as materialized (
    select tracker_id, event_id, id from public.deliveries
    where (tracker_id, event_id, id) > ($1::uuid, $2::text, $3::integer)
    order by tracker_id, event_id, id limit ${BATCH_ROWS}
  ), locked as materialized (
    select delivery.* from batch cross join lateral (
      select * from public.deliveries
      where tracker_id = batch.tracker_id and event_id = batch.event_id and id = batch.id
      limit 1 for no key update skip locked
    ) delivery
  ), queued as (
    insert into signalbox_store.delivery_queue
      (${COPIED_COLUMNS}, next_attempt_at, leased_until, space)
    select ${COPIED_COLUMNS}, next_attempt_at, leased_until, 2
    from locked where next_attempt_at is not null
    on conflict (tracker_id, created_at, id) do nothing
  ), kept as (
    insert into signalbox_store.deliveries_legacy (${COPIED_COLUMNS}, replayable_until, space)
    select ${COPIED_COLUMNS}, replayable_until, 2
    from locked where next_attempt_at is null
    on conflict (tracker_id, created_at, id) do nothing
  )
  select array[tracker_id::text, event_id, id::text] as last,
    (select count(*) from batch) - (select count(*) from locked) as missed
  from batch order by tracker_id desc, event_id desc, id desc limit 1`

/** The key of the last row of a batch, and how many of its rows were locked by others. */
interface Batch {
  last: string[]
  missed: number
}

/** Runs batches until there are no more, from where an earlier call has come to. */
async function inBatches(
  database: Database,
  { step, start }: { step: string; start: readonly string[] },
  copy: (after: string[]) => Promise<Batch | undefined>,
): Promise<void> {
  const { pool } = database
  const { rows } = await pool.query(
    'select after from signalbox_store.upgrade_progress where step = $1::text',
    [step],
  )
  let after: string[] = rows[0]?.after ?? [...start]
  for (let tries = 1; ; ) {
    const batch = await copy(after)
    if (!batch) return
    if (batch.missed > 0) {
      if (tries === BATCH_TRIES_MAX) throw new Error(`rows of ${step} are locked all the time`)
      tries += 1
      await pool.query('select pg_sleep(0.05)')
      continue
    }
    tries = 1
    after = batch.last
    await pool.query(
      `insert into signalbox_store.upgrade_progress (step, after) values ($1::text, $2::text[])
       on conflict (step) do update set after = excluded.after`,
      [step, after],
    )
  }
}

function readSql(name: string): string {
  return readFileSync(join(import.meta.dirname, name), 'utf8')
}
