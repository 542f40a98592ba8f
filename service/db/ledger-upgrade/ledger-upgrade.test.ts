import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  addPayloadDay,
  addTrackers,
  type EarlierStore,
  earlierStore,
} from '../../../testing/earlier-version/earlier-store.ts'
import { testStore } from '../../../testing/test-store.ts'
import { type Database, openDatabase } from '../database.ts'
import { migrate, requireCurrentSchema } from '../migrate.ts'
import { LEDGER_UPGRADE } from './ledger-upgrade.ts'

function openNew(test: TestContext, { connectionString }: EarlierStore): Database {
  const database = openDatabase({
    connectionString,
    connectionsMax: 6,
    applicationName: 'upgrade test',
    onIdleError: () => {},
    isPatient: true,
  })
  test.after(() => database.close())
  return database
}

const TRACKER = '0190aaaa-0000-7000-8000-000000000001'

it('upgrades a store without trackers as it is', async test => {
  const store = await earlierStore(test)
  const database = openNew(test, store)
  assert.deepEqual(await migrate(database), [LEDGER_UPGRADE.to])
  assert.deepEqual(await migrate(database), [])
  await requireCurrentSchema(database)
  const { database: fresh } = await testStore(test)
  assert.deepEqual(await schemaOf(database), await schemaOf(fresh))
})

it('upgrades a store that has trackers and no events, with a gate for the version before', async test => {
  const store = await earlierStore(test)
  await addTrackers(store, [TRACKER])
  await addPayloadDay(store, '2026-11-20')
  const database = openNew(test, store)
  assert.deepEqual(await migrate(database), [LEDGER_UPGRADE.to])
  assert.deepEqual(await migrate(database), [])
  await requireCurrentSchema(database)
  await assert.rejects(store.pool.query('select from events'), { code: '57P03' })
})

/** What the tables of the schema are made of, whatever their columns' order. */
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
