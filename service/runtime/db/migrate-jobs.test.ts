import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
  runAsAdmin,
} from '../../../testing/fixtures/database.ts'
import { STORE_SCHEMA } from '../../program/roles/migrate-command.ts'
import { type Database, openDatabase } from './database.ts'
import {
  JOBS_SCHEMA,
  migrate,
  readJobsSchemaState,
  requireCurrentSchema,
  SchemaError,
} from './migrate.ts'

function openTestDatabase(test: TestContext, connectionString: string): Database {
  const options = { connectionString, connectionsMax: 2, applicationName: 'jobs schema test' }
  const database = openDatabase({ ...options, onIdleError: () => {} })
  test.after(() => database.close())
  return database
}

function isSchemaError(sentence: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof SchemaError)
    assert.match(error.message, sentence)
    return true
  }
}

it('creates the newest tables of the jobs in their own schema', async test => {
  const { database } = await createTestDatabase(test)
  assert.equal(await readJobsSchemaState(database), 'current')
  const { rows } = await database.pool.query(
    `select (select max(id) from ${JOBS_SCHEMA}.migrations) as newest,
       (select count(*) from pg_namespace where nspname = 'graphile_worker') as elsewhere`,
  )
  // The number in migrate.ts. Another version of graphile-worker may have another one.
  assert.deepEqual(rows, [{ newest: 20, elsewhere: 0 }])
})

it('refuses missing tables of the jobs to a role that does not migrate', async test => {
  const { database } = await createTestDatabase(test)
  await database.pool.query(`delete from ${JOBS_SCHEMA}.migrations where id = 20`)
  await assert.rejects(
    requireCurrentSchema(database),
    isSchemaError(/lacks tables of the jobs: run "signalbox-server migrate"/),
  )
  await migrate(database, STORE_SCHEMA)
  await requireCurrentSchema(database)
  await database.pool.query(`drop schema ${JOBS_SCHEMA} cascade`)
  await assert.rejects(
    requireCurrentSchema(database),
    isSchemaError(/lacks tables of the jobs: run "signalbox-server migrate"/),
  )
})

it('refuses breaking changes of a newer program, but not its additions', async test => {
  const { database } = await createTestDatabase(test)
  const add = (id: number, breaking: boolean) =>
    database.pool.query(`insert into ${JOBS_SCHEMA}.migrations values ($1, now(), $2)`, [
      id,
      breaking,
    ])
  await add(990, false)
  await migrate(database, STORE_SCHEMA)
  await requireCurrentSchema(database)
  await add(991, true)
  const sentence = /^The database holds jobs that this version does not know: .*backup\.$/
  await assert.rejects(migrate(database, STORE_SCHEMA), isSchemaError(sentence))
  await assert.rejects(requireCurrentSchema(database), isSchemaError(sentence))
  assert.equal(process.exitCode, undefined)
})

it('names the privilege that an account needs to create schemas', async test => {
  const url = new URL(await createDatabaseFromTemplate(test, 'template0'))
  const account = `account_${randomBytes(4).toString('hex')}`
  await runAsAdmin(`create role ${account} login password 'none'`)
  test.after(() => runAsAdmin(`drop role ${account}`))
  const owner = openTestDatabase(test, url.href)
  await owner.pool.query(`grant create on schema public to ${account}`)
  url.username = account
  url.password = 'none'
  const limited = openTestDatabase(test, url.href)
  await assert.rejects(
    migrate(limited, STORE_SCHEMA),
    isSchemaError(/may not create schemas: have the owner .* grant it CREATE/),
  )
})
