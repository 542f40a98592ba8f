// Full run only: upgrades stores while others write.
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  addPayloadDay,
  addTrackers,
  createEarlierStore,
  type EarlierStore,
} from '../../../../testing/earlier-version/earlier-store.ts'
import {
  type Acknowledged,
  accept,
  deliver,
  erase,
  expire,
  repeatUntilRefused,
  replay,
} from '../../../../testing/earlier-version/earlier-writers.ts'
import {
  createEarlierEvent,
  createFilledStore,
  ERASED_DIGEST,
  numbers,
  OLD_TRACKER,
  OTHER_TRACKER,
  openUpgradedDatabase,
  TRACKER,
} from '../../../../testing/earlier-version/filled-store.ts'
import { assertUpgraded } from '../../../../testing/earlier-version/upgrade-checks.ts'
import { createTestDatabase } from '../../../../testing/fixtures/database.ts'
import { waitUntil } from '../../../../testing/fixtures/wait-until.ts'
import { STORE_SCHEMA } from '../../../program/roles/migrate-command.ts'
import type { Database } from '../../../runtime/db/database.ts'
import { migrate, requireCurrentSchema } from '../../../runtime/db/migrate.ts'
import { LEDGER_UPGRADE } from './upgrade-store.ts'

/** The load of processes of the previous version, until the store refuses them. */
async function writeUntilRefused(
  { signal }: TestContext,
  { store, known }: { store: EarlierStore; known: Acknowledged },
): Promise<void> {
  const acceptInto = (trackerId: string, from: number) =>
    repeatUntilRefused(signal, async times => {
      const fresh = numbers(from + times * 20, 20)
      // Event 5 is a repeat.
      const events = [5, ...fresh].map(n => createEarlierEvent(trackerId, n))
      assert.equal(await accept(store, events, known), 1)
    })
  await Promise.all([
    acceptInto(TRACKER, 10_000),
    acceptInto(TRACKER, 500_000),
    acceptInto(OTHER_TRACKER, 10_000),
    repeatUntilRefused(signal, () => deliver(store, TRACKER, known)),
    repeatUntilRefused(signal, () => replay(store, { trackerId: OTHER_TRACKER, limit: 1 }, known)),
    repeatUntilRefused(signal, () =>
      expire(store, { trackerId: OLD_TRACKER, cutoff: '2026-11-17', limit: 5 }, known),
    ),
  ])
}

it('loses no acknowledged event while the previous version keeps writing', async test => {
  const { store, known } = await createFilledStore(test)
  const database = openUpgradedDatabase(test, store)
  const writers = writeUntilRefused(test, { store, known })
  await erase(store, { trackerId: OTHER_TRACKER, email: ERASED_DIGEST }, known)
  assert.equal((await migrate(database, STORE_SCHEMA))[0], LEDGER_UPGRADE.migration)
  await writers
  const written = [...known.events.keys()].filter(key => /event-(1\d{4}|5\d{5})$/.test(key))
  assert.ok(written.length > 0, 'no event was acknowledged during the upgrade')
  // The writers may have added an event of the erased person before the erasure.
  assert.ok(known.erased.size >= 10)
  await assertUpgraded(database, known)
  await requireCurrentSchema(database)
  assert.deepEqual(await migrate(database, STORE_SCHEMA), [])
})

/** A lock that blocks the preparation at a step, and the statement that then waits. */
interface Step {
  lock: string
  waitingStatement: string
}

const AT_KEYS = {
  lock: 'begin isolation level repeatable read; select 1 from trackers',
  waitingStatement: 'create unique index%',
}
const AT_EVENT_IDS = {
  lock: `begin; select pg_advisory_xact_lock_shared(hashtext('signalbox_event_keys'))`,
  waitingStatement: 'select pg_advisory_xact_lock(%',
}
/** An insert of the same key waits until this one ends. */
const AT_DELIVERIES = {
  lock: `begin; insert into signalbox_store.upgrade_progress (step, after)
    values ('deliveries', '{}')`,
  waitingStatement: 'insert into signalbox_store.upgrade_progress%',
}
/** A row can be locked only after the tables are prepared, so the last one stops there first. */
const INTERRUPTIONS = [[AT_KEYS], [AT_EVENT_IDS], [AT_EVENT_IDS, AT_DELIVERIES]]

it('resumes after its connections break', async test => {
  const { store, known } = await createFilledStore(test)
  const writers = writeUntilRefused(test, { store, known })
  for (const steps of INTERRUPTIONS) await interruptUpgrade(test, store, steps)
  const database = openUpgradedDatabase(test, store)
  assert.equal((await migrate(database, STORE_SCHEMA))[0], LEDGER_UPGRADE.migration)
  await writers
  await assertUpgraded(database, known)
})

/** Stops the upgrade at the last step, terminates its connection and expects it to fail. */
async function interruptUpgrade(
  test: TestContext,
  store: EarlierStore,
  steps: readonly Step[],
): Promise<void> {
  const interrupted: { code?: string }[] = []
  let upgrade: Promise<unknown> | undefined
  let blocker: Awaited<ReturnType<typeof openBlocker>> | undefined
  try {
    for (const { lock, waitingStatement } of steps) {
      const next = await openBlocker(store, lock)
      blocker?.release(true)
      blocker = next
      upgrade ??= migrate(openUpgradedDatabase(test, store), STORE_SCHEMA).catch(error =>
        interrupted.push(error),
      )
      await waitUntil(waitingStatement, async () => {
        assert.deepEqual(interrupted, [], 'the upgrade failed before it was interrupted')
        return (await findWaiting(store, waitingStatement)).length > 0
      })
    }
    const last = steps.at(-1)?.waitingStatement ?? ''
    // A short wait can end before the signal arrives: the upgrade then continues undisturbed.
    await waitUntil('the upgrade loses its waiting connection', async () => {
      for (const processId of await findWaiting(store, last))
        await store.pool.query('select pg_terminate_backend($1)', [processId])
      return interrupted.length > 0
    })
    await upgrade
  } finally {
    // The store cannot close while one of its connections is in use.
    blocker?.release(true)
  }
  assert.deepEqual(
    interrupted.map(({ code }) => code),
    ['57P01'],
  )
}

async function openBlocker({ pool }: EarlierStore, statements: string) {
  const client = await pool.connect()
  client.on('error', () => {})
  await client.query(statements)
  return client
}

/** Process IDs of the upgrade's connections that run such a statement. */
async function findWaiting({ pool }: EarlierStore, statement: string): Promise<number[]> {
  const { rows } = await pool.query(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'upgrade test'
       and query like $1 and state = 'active'`,
    [statement],
  )
  return rows.map(({ pid }) => pid)
}

it('upgrades a store without trackers without preparation', async test => {
  const store = await createEarlierStore(test)
  const database = openUpgradedDatabase(test, store)
  assert.equal((await migrate(database, STORE_SCHEMA))[0], LEDGER_UPGRADE.migration)
  assert.deepEqual(await migrate(database, STORE_SCHEMA), [])
  await requireCurrentSchema(database)
  const { database: fresh } = await createTestDatabase(test)
  assert.deepEqual(await schemaOf(database), await schemaOf(fresh))
})

it('upgrades a store with trackers and no events, and refuses the previous version', async test => {
  const store = await createEarlierStore(test)
  await addTrackers(store, [TRACKER])
  await addPayloadDay(store, '2026-11-20')
  const database = openUpgradedDatabase(test, store)
  assert.equal((await migrate(database, STORE_SCHEMA))[0], LEDGER_UPGRADE.migration)
  assert.deepEqual(await migrate(database, STORE_SCHEMA), [])
  await requireCurrentSchema(database)
  const { database: fresh } = await createTestDatabase(test)
  assert.deepEqual(await schemaOf(database), await schemaOf(fresh))
  await assert.rejects(store.pool.query('select from events'), { code: '57P03' })
})

/** Columns and indexes of the schema, independent of the order of columns. */
async function schemaOf({ pool }: Database): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select relname, array_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' '
         || attnotnull || ' ' || coalesce(pg_get_expr(adbin, adrelid), '') order by attname)
         as columns,
       array(select pg_get_indexdef(indexrelid) from pg_index
         where indrelid = pg_class.oid order by 1) as indexes
     from pg_class
     join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
     left join pg_attrdef on adrelid = attrelid and adnum = attnum
     where relnamespace = 'signalbox_store'::regnamespace and relkind in ('r', 'p')
       and relname !~ '^earlier_|_legacy$|_\\d{4}_\\d{2}_\\d{2}$'
     group by pg_class.oid, relname order by relname`,
  )
  return rows
}
