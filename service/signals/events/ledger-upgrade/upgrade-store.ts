import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, inTransaction } from '../../../runtime/db/database.ts'
import { isLockTimeout } from '../../../runtime/db/database-errors.ts'
import type { StoreUpgrade } from '../../../runtime/db/migrate.ts'
import { sleep } from '../../../runtime/util/wait.ts'

export const LEDGER_UPGRADE: StoreUpgrade = {
  migration: '0016-queue-and-history',
  previous: '0015-replay-by-id',
  isNeeded: needsLedgerUpgrade,
  prepare: prepareLedgerUpgrade,
  abandon: releaseBound,
}

const LOCK_MILLISECONDS_MAX = 200
const AUTOVACUUM_LOCK_MILLISECONDS_MAX = 60_000
const LOCK_ATTEMPTS_MAX = 600
const LOCK_PAUSE_SECONDS = 0.3
const BATCH_ROWS = 5_000
const BATCH_ATTEMPTS_MAX = 1_000
const BATCH_PAUSE_SECONDS = 0.05
const NO_ID = '00000000-0000-0000-0000-000000000000'

/**
 * True for a store with trackers at the previous version, which is upgraded while that version
 * runs. A store without trackers is not in use and needs no preparation.
 */
async function needsLedgerUpgrade({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    `select to_regclass('public.events') is not null
       and to_regclass('public.trackers') is not null as is_present`,
  )
  if (!rows[0].is_present) return false
  const { rows: trackers } = await pool.query('select 1 from public.trackers limit 1')
  return trackers.length > 0
}

/**
 * Prepares a store in use for `0016-queue-and-history.sql`, while processes of the previous version
 * run: builds the new keys, inserts the IDs of all events, copies deliveries, and keeps both up to
 * date with triggers. It reads every event and copies every delivery once, so it may take hours. It
 * resumes after an interruption. The disk needs space for the copy of `deliveries`.
 */
export async function prepareLedgerUpgrade(database: Database): Promise<void> {
  await withShortLocks(database, readSql('prepare.sql'))
  await buildKeys(database)
  await insertEventIds(database)
  await copyDeliveries(database)
  await withShortLocks(database, readSql('bound.sql'))
  for (const table of ['events_legacy', 'deliveries_legacy']) {
    const validate = `alter table signalbox_store.${table} validate constraint ${table}_until`
    await withShortLocks(database, validate)
  }
  await database.pool.query(readSql('switch-over.sql'))
}

/** After a failed switchover: the previous version may run without a time limit again. */
async function releaseBound(database: Database): Promise<void> {
  await withShortLocks(
    database,
    `alter table signalbox_store.events_legacy drop constraint if exists events_legacy_until;
     alter table signalbox_store.deliveries_legacy
       drop constraint if exists deliveries_legacy_until`,
  )
}

/**
 * Waits for locks only briefly, because every statement behind it in the queue waits too, and then
 * retries. The wait is shorter than PostgreSQL's `deadlock_timeout`, after which PostgreSQL could
 * cancel a statement of the previous version. Only an autovacuum gets the time to finish.
 */
async function withShortLocks(database: Database, statements: string): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
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
      if (!isLockTimeout(error) || attempts === LOCK_ATTEMPTS_MAX) throw error
      await sleep(LOCK_PAUSE_SECONDS)
    }
  }
}

/** Unique indexes for the new primary keys, built concurrently with writers. */
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
    // An interrupted build leaves an invalid index.
    await pool.query(`drop index concurrently if exists ${schema}.${index}`)
    await pool.query(`create unique index concurrently ${index} on ${table} (${columns})`)
  }
}

/**
 * In the order of the key, batch by batch. The lock excludes deletions, which do not see keys that
 * are being inserted (prepare.sql). A separate statement takes it, so that the snapshot of the
 * batch includes earlier deletions.
 */
async function insertEventIds(database: Database): Promise<void> {
  await runBatches(database, { step: 'event ids', start: [NO_ID, '-infinity', ''] }, after =>
    inTransaction(database, async client => {
      await client.query(`select pg_advisory_xact_lock(hashtext('signalbox_event_keys'))`)
      const { rows } = await client.query(INSERT_EVENT_IDS, after)
      return rows[0]
    }),
  )
}

const INSERT_EVENT_IDS = `
  with batch as materialized (
    select tracker_id, created_at, event_id from signalbox_store.events_legacy
    where (tracker_id, created_at, event_id) > ($1::uuid, $2::timestamptz, $3::text)
    order by tracker_id, created_at, event_id limit ${BATCH_ROWS}
  ), inserted as (
    insert into signalbox_store.event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, space, signalbox_store.event_id_digest(event_id), created_at
    from batch cross join (values (0::smallint), (1::smallint)) as both_spaces(space)
    on conflict (tracker_id, space, id_digest) do nothing
  )
  select array[tracker_id::text, created_at::text, event_id] as last,
    (select count(*) from batch) as rows, 0 as skipped from batch
  order by tracker_id desc, created_at desc, event_id desc limit 1`

/**
 * In the order of the previous key. Locked rows are skipped and the batch is repeated: a row that
 * changes is copied by the trigger, and waiting for one row while holding others could deadlock
 * with a worker that settles several.
 */
async function copyDeliveries(database: Database): Promise<void> {
  await runBatches(database, { step: 'deliveries', start: [NO_ID, '', '0'] }, async after => {
    const { rows } = await database.pool.query(COPY_DELIVERIES, after)
    return rows[0]
  })
}

/** The columns of both tables. */
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
  select array[tracker_id::text, event_id, id::text] as last, (select count(*) from batch) as rows,
    (select count(*) from batch) - (select count(*) from locked) as skipped
  from batch order by tracker_id desc, event_id desc, id desc limit 1`

/** The key of the last row of a batch, and how many of its rows other transactions had locked. */
interface Batch {
  last: string[]
  rows: number
  skipped: number
}

/**
 * Runs batches to the end, from where an earlier call stopped. A short batch is the last: the
 * triggers of prepare.sql copy what is written later. Waiting for an empty batch would follow the
 * writers, and under load without an end.
 */
async function runBatches(
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
  for (let attempts = 1; ; ) {
    const batch = await copy(after)
    if (!batch) return
    if (batch.skipped > 0) {
      if (attempts === BATCH_ATTEMPTS_MAX) throw new Error(`rows of ${step} stay locked`)
      attempts += 1
      await sleep(BATCH_PAUSE_SECONDS)
      continue
    }
    attempts = 1
    after = batch.last
    await pool.query(
      `insert into signalbox_store.upgrade_progress (step, after) values ($1::text, $2::text[])
       on conflict (step) do update set after = excluded.after`,
      [step, after],
    )
    if (batch.rows < BATCH_ROWS) return
  }
}

function readSql(name: string): string {
  return readFileSync(join(import.meta.dirname, name), 'utf8')
}
