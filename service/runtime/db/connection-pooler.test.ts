import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase, runAsAdmin } from '../../../testing/fixtures/database.ts'
import { examine } from '../../../testing/fixtures/doctor.ts'
import {
  isWithoutPgBouncer,
  KEEPS_PREPARED_STATEMENTS,
  LOSES_PREPARED_STATEMENTS,
  startPgBouncer,
} from '../../../testing/fixtures/pgbouncer.ts'
import { findConnectionPooler } from './connection-pooler.ts'
import { ROLE_SETTINGS } from './database.ts'

const skip = isWithoutPgBouncer
const IGNORED = { ignore_startup_parameters: 'options,statement_timeout' }

async function startAll(test: TestContext, url: string) {
  const environment = {
    DATABASE_URL: url,
    PORT: '0',
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    SIGNALBOX_HTTP_WORKERS: '0',
  }
  const { code, stderr } = await runCommand(['serve'], { environment })
  return { code, stderr, pooler: (await examine(environment)).findings }
}

/** Stands for the values of the role, without a change for other tests of the server. */
async function giveSettings(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  for (const setting of ROLE_SETTINGS) {
    const [key, value] = setting.split('=')
    await runAsAdmin(`alter database ${name} set ${key} = ${value}`)
  }
}

const severities = (findings: { check: string; severity: string }[]) =>
  findings.filter(({ check }) => check === 'store.pooler').map(({ severity }) => severity)

it('finds no pooler on a direct connection', async test => {
  const { database } = await createTestDatabase(test)
  assert.equal(await findConnectionPooler(database, ROLE_SETTINGS), null)
})

it('repeats what PgBouncer says about startup parameters', { skip }, async test => {
  const { connectionString } = await createTestDatabase(test)
  const url = await startPgBouncer(test, connectionString, { pool_mode: 'session' })
  const { code, stderr } = await startAll(test, url)
  assert.equal(code, 1)
  assert.match(stderr, /^A pooler such as PgBouncer .+: unsupported startup parameter: \w+\.\n$/)
})

it('works through PgBouncer in session mode once the role has the settings', {
  skip,
}, async test => {
  const { connectionString } = await createTestDatabase(test)
  const without = await startPgBouncer(test, connectionString, { pool_mode: 'session', ...IGNORED })
  const refused = await startAll(test, without)
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^A connection pooler in session mode drops settings .+: enable_seqscan=off, .+search_path=/,
  )
  assert.deepEqual(severities(refused.pooler), ['error'])
  await giveSettings(connectionString)
  const url = await startPgBouncer(test, connectionString, { pool_mode: 'session', ...IGNORED })
  const { code, stderr, pooler } = await startAll(test, url)
  assert.equal(code, 0, stderr)
  assert.deepEqual(severities(pooler), ['ok'])
})

it('refuses PgBouncer in transaction mode that loses prepared statements', { skip }, async test => {
  const { connectionString } = await createTestDatabase(test)
  await giveSettings(connectionString)
  const settings = { pool_mode: 'transaction', ...LOSES_PREPARED_STATEMENTS, ...IGNORED }
  const url = await startPgBouncer(test, connectionString, settings)
  const { code, stderr, pooler } = await startAll(test, url)
  assert.equal(code, 1)
  assert.match(stderr, /^A connection pooler in transaction mode loses prepared statements: /)
  assert.deepEqual(severities(pooler), ['error'])
})

const isTooOld = !KEEPS_PREPARED_STATEMENTS && 'PgBouncer 1.21 or later is not installed'

it('works in transaction mode that keeps them', { skip: skip || isTooOld }, async test => {
  const { connectionString } = await createTestDatabase(test)
  await giveSettings(connectionString)
  const settings = { pool_mode: 'transaction', ...KEEPS_PREPARED_STATEMENTS, ...IGNORED }
  const { code, stderr, pooler } = await startAll(
    test,
    await startPgBouncer(test, connectionString, settings),
  )
  assert.equal(code, 0, stderr)
  assert.deepEqual(severities(pooler), ['warning'])
})
