import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
} from '../../../testing/fixtures/database.ts'
import { STORE_SCHEMA } from '../../program/roles/migrate-command.ts'
import { type Database, openDatabase } from './database.ts'
import { migrate, requireCurrentSchema, SchemaError } from './migrate.ts'

const MIGRATIONS = readdirSync(join(import.meta.dirname, '../../migrations'))
  .map(file => file.replace(/\.sql$/, ''))
  .sort()

async function emptyStore(test: TestContext, count: number): Promise<Database[]> {
  const connectionString = await createDatabaseFromTemplate(test, 'template0')
  return Array.from({ length: count }, () => {
    // As the roles that migrate: one waits for another as long as it takes.
    const options = { connectionsMax: 2, applicationName: 'migrate test', hasNoTimeouts: true }
    const database = openDatabase({ connectionString, ...options, onIdleError: () => {} })
    test.after(() => database.close())
    return database
  })
}

async function tableNames({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select table_name from information_schema.tables
     where table_schema in ('public', 'signalbox_store') and table_name not like 'kysely%'
     order by table_name`,
  )
  return rows.map(row => row.table_name)
}

it('creates the schema on an empty database and returns the migrations that ran', async test => {
  const [database] = (await emptyStore(test, 1)) as [Database]
  assert.deepEqual(await migrate(database, STORE_SCHEMA), MIGRATIONS)
  const tables = await tableNames(database)
  assert.ok(tables.includes('deliveries') && tables.includes('event_payloads'))
  await requireCurrentSchema(database)
})

it('runs no migration the second time', async test => {
  const [database] = (await emptyStore(test, 1)) as [Database]
  await migrate(database, STORE_SCHEMA)
  const before = await tableNames(database)
  assert.deepEqual(await migrate(database, STORE_SCHEMA), [])
  assert.deepEqual(await tableNames(database), before)
})

it('runs each migration once when several processes start together', async test => {
  const databases = await emptyStore(test, 3)
  const ran = await Promise.all(databases.map(database => migrate(database, STORE_SCHEMA)))
  assert.deepEqual(ran.flat(), MIGRATIONS)
  for (const database of databases) await requireCurrentSchema(database)
})

it('finds the schema current immediately after a migration', async test => {
  const [database] = (await emptyStore(test, 1)) as [Database]
  for (let again = 0; again < 20; again += 1) {
    await migrate(database, STORE_SCHEMA)
    await requireCurrentSchema(database)
  }
})

it('refuses a database that a newer program has migrated', async test => {
  const [database] = (await emptyStore(test, 1)) as [Database]
  await migrate(database, STORE_SCHEMA)
  await database.pool.query(
    `insert into kysely_migration (name, timestamp) values ('9999-from-the-future', '')`,
  )
  const refusal = (error: unknown) => {
    assert.ok(error instanceof SchemaError)
    assert.match(error.message, /^The database holds migration 9999-from-the-future, .*backup\.$/)
    return true
  }
  await assert.rejects(migrate(database, STORE_SCHEMA), refusal)
  await assert.rejects(requireCurrentSchema(database), refusal)
})

it('names the missing migrations to a role that does not migrate', async test => {
  const [database] = (await emptyStore(test, 1)) as [Database]
  await assert.rejects(requireCurrentSchema(database), error => {
    assert.ok(error instanceof SchemaError)
    const sentence = `The database lacks ${MIGRATIONS.length} migration(s)`
    assert.equal(error.message, `${sentence}: run "signalbox-server migrate" first.`)
    return true
  })
})

it('rolls back a migration that fails, and names it', async test => {
  const [database] = (await emptyStore(test, 1)) as [Database]
  await database.pool.query('create table sessions (foreign_column integer)')
  await assert.rejects(migrate(database, STORE_SCHEMA), error => {
    assert.ok(error instanceof SchemaError)
    assert.equal(
      error.message,
      'Migration 0001-ledger-and-deliveries failed; nothing of it was kept.',
    )
    assert.equal((error.cause as { code?: string }).code, '42P07')
    return true
  })
  assert.deepEqual(await tableNames(database), ['sessions'])

  await database.pool.query('drop table sessions')
  assert.deepEqual(await migrate(database, STORE_SCHEMA), MIGRATIONS)
})

it('refuses a schema that is being migrated to a role that does not migrate', async test => {
  const { database } = await createTestDatabase(test)
  const migrating = await database.pool.connect()
  await migrating.query("select pg_advisory_lock(hashtext('signalbox_migrations'))")
  await assert.rejects(
    requireCurrentSchema(database),
    error => error instanceof SchemaError && /is being migrated: start again/.test(error.message),
  )
  // The server notices a closed connection only later, so unlock first.
  await migrating.query("select pg_advisory_unlock(hashtext('signalbox_migrations'))")
  migrating.release(true)
  await requireCurrentSchema(database)
})

it('lets processes migrate an empty database at the same time, again and again', async test => {
  for (let round = 0; round < 4; round += 1) {
    const ran = await Promise.all(
      (await emptyStore(test, 3)).map(database => migrate(database, STORE_SCHEMA)),
    )
    assert.deepEqual(ran.flat(), MIGRATIONS)
  }
})
