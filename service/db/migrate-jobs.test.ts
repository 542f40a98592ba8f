import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
  runAsAdmin,
} from '../../testing/fixtures/database.ts'
import { type Database, openDatabase } from './database.ts'
import {
  JOBS_SCHEMA,
  migrate,
  readJobsSchemaState,
  requireCurrentSchema,
  SchemaError,
} from './migrate.ts'

function opened(test: TestContext, connectionString: string): Database {
  const options = { connectionString, connectionsMax: 2, applicationName: 'jobs schema test' }
  const database = openDatabase({ ...options, onIdleError: () => {} })
  test.after(() => database.close())
  return database
}

function refusal(sentence: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof SchemaError)
    assert.match(error.message, sentence)
    return true
  }
}

it('migrating makes the newest tables of the jobs, in a schema of their own', async test => {
  const { database } = await createTestDatabase(test)
  assert.equal(await readJobsSchemaState(database), 'current')
  const { rows } = await database.pool.query(
    `select (select max(id) from ${JOBS_SCHEMA}.migrations) as newest,
       (select count(*) from pg_namespace where nspname = 'graphile_worker') as elsewhere`,
  )
  // The number that jobs-schema.ts expects: another graphile-worker may bring another one.
  assert.deepEqual(rows, [{ newest: 20, elsewhere: 0 }])
})

it('a role that does not migrate says that the tables of the jobs are missing', async test => {
  const { database } = await createTestDatabase(test)
  await database.pool.query(`delete from ${JOBS_SCHEMA}.migrations where id = 20`)
  await assert.rejects(
    requireCurrentSchema(database),
    refusal(/lacks tables of the jobs: run "npm/),
  )
  await migrate(database)
  await requireCurrentSchema(database)
  await database.pool.query(`drop schema ${JOBS_SCHEMA} cascade`)
  await assert.rejects(
    requireCurrentSchema(database),
    refusal(/lacks tables of the jobs: run "npm/),
  )
})

it('refuses jobs that a newer program has changed, but not what it only added', async test => {
  const { database } = await createTestDatabase(test)
  const add = (id: number, breaking: boolean) =>
    database.pool.query(`insert into ${JOBS_SCHEMA}.migrations values ($1, now(), $2)`, [
      id,
      breaking,
    ])
  await add(990, false)
  await migrate(database)
  await requireCurrentSchema(database)
  await add(991, true)
  const sentence = /^The database holds jobs that this version does not know: .*backup\.$/
  await assert.rejects(migrate(database), refusal(sentence))
  await assert.rejects(requireCurrentSchema(database), refusal(sentence))
  assert.equal(process.exitCode, undefined)
})

it('an account that may not create a schema hears what it lacks', async test => {
  const url = new URL(await createDatabaseFromTemplate(test, 'template0'))
  const account = `account_${randomBytes(4).toString('hex')}`
  await runAsAdmin(`create role ${account} login password 'none'`)
  test.after(() => runAsAdmin(`drop role ${account}`))
  const owner = opened(test, url.href)
  await owner.pool.query(`grant create on schema public to ${account}`)
  url.username = account
  url.password = 'none'
  const limited = opened(test, url.href)
  await assert.rejects(
    migrate(limited),
    refusal(/may not create schemas: have the owner .* grant it CREATE/),
  )
})
