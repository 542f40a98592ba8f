import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { sql } from 'kysely'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
} from '../../../testing/fixtures/database.ts'
import { type Database, openDatabase } from './database.ts'

async function oneValue({ pool }: Database, expression: string): Promise<unknown> {
  const { rows } = await pool.query(`select ${expression} as value`)
  return rows[0].value
}

interface ObservedStore {
  database: Database
  connectionString: string
  /** Resolves when the first error of a connection is reported. */
  firstError: Promise<Error>
}

async function observedStore(test: TestContext, connectionsMax: number): Promise<ObservedStore> {
  const connectionString = await createDatabaseFromTemplate(test, 'template0')
  const { promise: firstError, resolve } = Promise.withResolvers<Error>()
  const database = openDatabase({
    connectionString,
    connectionsMax,
    applicationName: 'database test',
    onIdleError: resolve,
  })
  test.after(() => database.close())
  return { database, connectionString, firstError }
}

it('reads numeric as text without changing a digit', async test => {
  const { database } = await createTestDatabase(test)
  for (const text of ['123456789012345.678900', '19.90', '-0.000001', '0.00', '1000']) {
    assert.equal(await oneValue(database, `'${text}'::numeric`), text)
  }
})

it('reads bigint as a number and throws when digits would be lost', async test => {
  const { database } = await createTestDatabase(test)
  assert.equal(await oneValue(database, '9007199254740991::bigint'), Number.MAX_SAFE_INTEGER)
  assert.equal(await oneValue(database, '(-9007199254740991)::bigint'), Number.MIN_SAFE_INTEGER)
  assert.equal(await oneValue(database, '(select count(*) from generate_series(1, 3))'), 3)
  for (const text of ['9007199254740992', '9223372036854775807', '-9007199254740993']) {
    await assert.rejects(oneValue(database, `(${text})::bigint`), RangeError)
  }
  await database.ping()
})

it('reads a date as text, in any time zone of the machine', async test => {
  const { database } = await createTestDatabase(test)
  for (const day of ['2026-11-21', '1970-01-01', '2024-02-29']) {
    assert.equal(await oneValue(database, `'${day}'::date`), day)
  }
})

it('reads timestamptz as a Date, json as its value and uuid[] as an array', async test => {
  const { database } = await createTestDatabase(test)
  assert.deepEqual(
    await oneValue(database, "'2026-11-21 14:00:00.123+02'::timestamptz"),
    new Date('2026-11-21T12:00:00.123Z'),
  )
  assert.deepEqual(await oneValue(database, `'{"a":[1,null]}'::json`), { a: [1, null] })
  const id = '00000000-0000-4000-8000-000000000000'
  assert.deepEqual(await oneValue(database, `array['${id}']::uuid[]`), [id])
})

it('shows its name in pg_stat_activity', async test => {
  const { database } = await observedStore(test, 1)
  assert.equal(await oneValue(database, "current_setting('application_name')"), 'database test')
})

it('survives an idle connection that breaks', async test => {
  const { database, firstError } = await observedStore(test, 1)
  const { database: killer } = await createTestDatabase(test)
  const pid = await oneValue(database, 'pg_backend_pid()')
  await killer.pool.query('select pg_terminate_backend($1)', [pid])
  assert.ok((await firstError) instanceof Error)
  await database.ping()
})

it('survives a connection that breaks between two statements of a transaction', async test => {
  const { database, firstError } = await observedStore(test, 1)
  const { database: killer } = await createTestDatabase(test)
  const work = database.query.transaction().execute(async transaction => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(transaction)
    await killer.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
    await firstError
    await sql`select 1`.execute(transaction)
  })
  await assert.rejects(work)
  await database.ping()
})

it('times out when the server never answers', async test => {
  const { connectionString } = await observedStore(test, 1)
  const sockets = new Set<Socket>()
  const silentServer = createServer(socket => void sockets.add(socket))
  await new Promise<void>(resolve => silentServer.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => silentServer.close(resolve))
  })
  const url = new URL(connectionString)
  url.port = String((silentServer.address() as { port: number }).port)
  const database = openDatabase({
    connectionString: url.href,
    connectionsMax: 1,
    applicationName: 'database test',
    onIdleError: () => {},
  })
  await assert.rejects(database.ping(), /timeout/)
  await database.close()
})

it('limits a statement to a minute, but not a migration', async test => {
  const readLimit = async (hasNoTimeouts: boolean) => {
    const database = openDatabase({
      connectionString: await createDatabaseFromTemplate(test, 'template0'),
      connectionsMax: 1,
      applicationName: 'database test',
      onIdleError: () => {},
      hasNoTimeouts,
    })
    test.after(() => database.close())
    const { rows } = await database.pool.query('show statement_timeout')
    return rows[0].statement_timeout
  }
  assert.equal(await readLimit(false), '1min')
  assert.equal(await readLimit(true), '0')
})

it('closes its connections even if only the pool was used', async test => {
  const database = openDatabase({
    connectionString: await createDatabaseFromTemplate(test, 'template0'),
    connectionsMax: 1,
    applicationName: 'database test',
    onIdleError: () => {},
  })
  await database.ping()
  await database.close()
  assert.equal(database.pool.totalCount, 0)
})
