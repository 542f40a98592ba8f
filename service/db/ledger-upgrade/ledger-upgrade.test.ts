import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  addPayloadDay,
  addTrackers,
  createEarlierStore,
  type EarlierStore,
} from '../../../testing/earlier-version/earlier-store.ts'
import {
  type Acknowledged,
  accept,
  deliver,
  erase,
  expire,
  repeatUntilRefused,
  replay,
} from '../../../testing/earlier-version/earlier-writers.ts'
import {
  createEarlierEvent,
  createFilledStore,
  ERASED_DIGEST,
  numbers,
  OLD_TRACKER,
  OTHER_TRACKER,
  openUpgradedDatabase,
  TRACKER,
} from '../../../testing/earlier-version/filled-store.ts'
import { assertUpgraded } from '../../../testing/earlier-version/upgrade-checks.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { eventually } from '../../../testing/fixtures/program.ts'
import type { Database } from '../database.ts'
import { migrate, requireCurrentSchema } from '../migrate.ts'
import { LEDGER_UPGRADE } from './upgrade-store.ts'

/** What processes of the version before do until they are refused. */
async function writeUntilRefused(
  { signal }: TestContext,
  { store, known }: { store: EarlierStore; known: Acknowledged },
): Promise<void> {
  const acceptInto = (trackerId: string, from: number) =>
    repeatUntilRefused(signal, async times => {
      const fresh = numbers(from + times * 20, 20)
      // A repeated one among them.
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
      expire(store, { trackerId: OLD_TRACKER, keptSince: '2026-11-17', limit: 5 }, known),
    ),
  ])
}

it('keeps all that was acknowledged, while the version before goes on writing', async test => {
  const { store, known } = await createFilledStore(test)
  const database = openUpgradedDatabase(test, store)
  const writers = writeUntilRefused(test, { store, known })
  await erase(store, { trackerId: OTHER_TRACKER, email: ERASED_DIGEST }, known)
  assert.equal((await migrate(database))[0], LEDGER_UPGRADE.to)
  await writers
  const written = [...known.events.keys()].filter(key => /event-(1\d{4}|5\d{5})$/.test(key))
  assert.ok(written.length > 0, 'nothing was acknowledged beside the upgrade')
  assert.equal(known.erased.size, 10)
  await assertUpgraded(database, known)
  await requireCurrentSchema(database)
  assert.deepEqual(await migrate(database), [])
})

/** What stops the preparation at a step, and the statement with which it waits there. */
const AT_KEYS = {
  hold: 'begin isolation level repeatable read; select 1 from trackers',
  waitsWith: 'create unique index%',
}
const AT_EVENT_IDS = {
  hold: `begin; select pg_advisory_xact_lock_shared(hashtext('signalbox_event_keys'))`,
  waitsWith: 'select pg_advisory_xact_lock(%',
}
const AT_DELIVERIES = {
  hold: `begin; select 1 from deliveries where tracker_id = '${OTHER_TRACKER}' and id = 500 for update`,
  waitsWith: 'select pg_sleep(0.05)',
}
/** A row can only be held once the tables are prepared, so the last one stops before. */
const INTERRUPTIONS = [[AT_KEYS], [AT_EVENT_IDS], [AT_EVENT_IDS, AT_DELIVERIES]]

it('goes on where it was when its connections break', async test => {
  const { store, known } = await createFilledStore(test)
  const writers = writeUntilRefused(test, { store, known })
  for (const stops of INTERRUPTIONS) {
    let migrated: Promise<void> | undefined
    let earlier: Awaited<ReturnType<typeof holdBy>> | undefined
    for (const { hold, waitsWith } of stops) {
      const holder = await holdBy(store, hold)
      earlier?.release(true)
      earlier = holder
      migrated ??= assert.rejects(migrate(openUpgradedDatabase(test, store)), { code: '57P01' })
      await eventually(waitsWith, async () => (await waiting(store, waitsWith)).length > 0)
    }
    const last = stops.at(-1)?.waitsWith ?? ''
    await eventually('it is ended there', async () => {
      const [processId] = await waiting(store, last)
      if (processId === undefined) return false
      await store.pool.query('select pg_terminate_backend($1)', [processId])
      return true
    })
    await migrated
    earlier?.release(true)
  }
  const database = openUpgradedDatabase(test, store)
  assert.equal((await migrate(database))[0], LEDGER_UPGRADE.to)
  await writers
  await assertUpgraded(database, known)
})

async function holdBy({ pool }: EarlierStore, statements: string) {
  const client = await pool.connect()
  client.on('error', () => {})
  await client.query(statements)
  return client
}

/** The processes of the server that work for the upgrade on such a statement. */
async function waiting({ pool }: EarlierStore, statement: string): Promise<number[]> {
  const { rows } = await pool.query(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'upgrade test'
       and query like $1 and state = 'active'`,
    [statement],
  )
  return rows.map(({ pid }) => pid)
}

it('upgrades a store without trackers as it is', async test => {
  const store = await createEarlierStore(test)
  const database = openUpgradedDatabase(test, store)
  assert.equal((await migrate(database))[0], LEDGER_UPGRADE.to)
  assert.deepEqual(await migrate(database), [])
  await requireCurrentSchema(database)
  const { database: fresh } = await createTestDatabase(test)
  assert.deepEqual(await schemaOf(database), await schemaOf(fresh))
})

it('upgrades a store that has trackers and no events, with a gate for the version before', async test => {
  const store = await createEarlierStore(test)
  await addTrackers(store, [TRACKER])
  await addPayloadDay(store, '2026-11-20')
  const database = openUpgradedDatabase(test, store)
  assert.equal((await migrate(database))[0], LEDGER_UPGRADE.to)
  assert.deepEqual(await migrate(database), [])
  await requireCurrentSchema(database)
  const { database: fresh } = await createTestDatabase(test)
  assert.deepEqual(await schemaOf(database), await schemaOf(fresh))
  await assert.rejects(store.pool.query('select from events'), { code: '57P03' })
})

/** What the tables of the schema are made of, in any order of columns. */
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
