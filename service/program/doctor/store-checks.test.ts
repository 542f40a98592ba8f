import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { it, type TestContext } from 'node:test'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
  runAsAdmin,
} from '../../../testing/fixtures/database.ts'
import { examine } from '../../../testing/fixtures/doctor.ts'
import { startFakePostgres } from '../../../testing/fixtures/fake-postgres.ts'
import { listen } from '../../../testing/fixtures/listen.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { createErasureKeyProvider } from '../../signals/erasure/erasure-store.ts'
import { ensurePartitions } from '../../signals/events/partition-store.ts'
import { provisionTracker } from '../provisioning/provision-tracker.ts'
import { openForReading } from './store-checks.ts'

const AT = new Date()

/** A store with the partitions of today, and the settings of a service on it. */
async function createStore(test: TestContext) {
  const { database, connectionString } = await createTestDatabase(test)
  await ensurePartitions(database, AT, 14)
  const key = randomBytes(32)
  const environment = {
    DATABASE_URL: connectionString,
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    SIGNALBOX_CREDENTIAL_KEY: key.toString('hex'),
  }
  const name = new URL(connectionString).pathname.slice(1)
  return { database, environment, name, credentialKeys: { current: key, previous: [] } }
}

/** Without demo data: one tracker with one destination. */
async function provision({ database, credentialKeys }: Awaited<ReturnType<typeof createStore>>) {
  const logger = createLogger('silent')
  return provisionTracker(database, { workspaceName: 'Test', at: AT, credentialKeys, logger })
}

async function expectError(
  environment: Record<string, string>,
  { check, message, now = () => new Date() }: { check: string; message: RegExp; now?: () => Date },
) {
  const { code, of } = await examine(environment, { now })
  const found = of(check)
  assert.equal(found.severity, 'error')
  assert.match(found.message, message)
  assert.ok(found.fix)
  assert.equal(code, 2)
  return of
}

it('is content with an installation that runs', async test => {
  const place = createInstallation(test)
  const { url } = await place.startReady()
  const { port } = new URL(url)
  const settings = {
    PORT: port,
    SIGNALBOX_METRICS_PORT: '0',
    SIGNALBOX_DATA_DIR: place.dataFolder,
  }
  await waitUntil('a job has run', async () => {
    const { findings } = await examine(settings)
    return !findings.some(({ check, severity }) => check === 'jobs.running' && severity !== 'ok')
  })
  const { code, findings } = await examine(settings)
  const noted = findings.filter(({ severity }) => severity === 'warning' || severity === 'error')
  assert.deepEqual(noted, [])
  assert.equal(code, 0)
})

it('finds a store that is away, without its password', async test => {
  const { dataFolder } = createDataFolder(test)
  const away = {
    SIGNALBOX_DATA_DIR: dataFolder,
    DATABASE_URL: 'postgres://jane:hidden@127.0.0.1:9/x',
  }
  await expectError(away, { check: 'store.reachable', message: /No PostgreSQL listens .+:9/ })
  assert.doesNotMatch((await examine(away)).text, /hidden/)
})

it('finds a store that is too old', async test => {
  const port = await startFakePostgres(test, { server_version_num: '140012' })
  const environment = {
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    DATABASE_URL: `postgres://jane@127.0.0.1:${port}/signalbox`,
  }
  await expectError(environment, { check: 'store.version', message: /needs PostgreSQL 15 to 18/ })
})

it('does not fail on what the first start makes: tables and partitions', async test => {
  const { environment } = await createStore(test)
  const empty = {
    ...environment,
    DATABASE_URL: await createDatabaseFromTemplate(test, 'template0'),
  }
  const before = await examine(empty)
  assert.equal(before.of('store.schema').severity, 'warning')
  assert.match(before.of('store.schema').fix ?? '', /migrate/)
  assert.deepEqual(JSON.parse(before.text).expected_before_start, ['store.schema'])
  const { connectionString } = await createTestDatabase(test)
  const migrated = { ...environment, DATABASE_URL: connectionString }
  assert.equal((await examine(migrated)).of('store.partitions').severity, 'warning')
})

it('finds a schema that lacks a migration, and one that is newer', async test => {
  const { environment, database } = await createStore(test)
  const { rows } = await database.pool.query(
    `delete from public.kysely_migration where name = (
       select max(name) from public.kysely_migration) returning name, timestamp`,
  )
  await expectError(environment, { check: 'store.schema', message: /lacks 1 migration/ })
  const [{ name, timestamp }] = rows
  await database.pool.query('insert into public.kysely_migration values ($1, $2)', [
    name,
    timestamp,
  ])
  await database.pool.query(
    `insert into public.kysely_migration (name, timestamp) values ('9999-later', '2027')`,
  )
  await expectError(environment, { check: 'store.schema', message: /holds migration 9999-later/ })
})

it('finds a store that answers before its disk', async test => {
  const { environment, name } = await createStore(test)
  await runAsAdmin(`alter database ${name} set synchronous_commit = off`)
  const message = /loses answered events: .*\bsynchronous_commit = off/
  await expectError(environment, { check: 'store.durability', message })
})

it('finds a limit of connections that is too low', async test => {
  const { environment, name } = await createStore(test)
  await runAsAdmin(`alter database ${name} connection limit 12`)
  await expectError(environment, { check: 'store.connections', message: /the store allows 12;/ })
})

it('finds clocks that differ', async test => {
  const { environment } = await createStore(test)
  const now = () => new Date(Date.now() - 300_000)
  await expectError(environment, { check: 'store.clock', message: /differ by 300 s/, now })
})

it('finds another time zone', async test => {
  const { environment, name } = await createStore(test)
  await runAsAdmin(`alter database ${name} set timezone = 'America/New_York'`)
  const { of } = await examine(environment)
  assert.equal(of('store.time_zone').severity, 'warning')
  assert.match(of('store.time_zone').message, /America\/New_York/)
})

it('finds a workspace that no person can open, and says what it cannot see of backups', async test => {
  const store = await createStore(test)
  const { workspaceId } = await provision(store)
  const { of } = await examine(store.environment)
  assert.equal(of('store.owners').severity, 'warning')
  assert.match(of('store.owners').message, new RegExp(`workspaces: ${workspaceId}\\.$`))
  assert.match(String(of('store.owners').fix), /people add-owner/)
  assert.equal(of('store.backups').severity, 'skipped')
  assert.match(of('store.backups').message, /backup\.md/)
})

it('finds a missing partition', async test => {
  const { database, environment } = await createStore(test)
  const day = `event_payloads_${AT.toISOString().slice(0, 10).replaceAll('-', '_')}`
  await database.pool.query(`drop table ${day}`)
  const now = () => AT
  await expectError(environment, { check: 'store.partitions', message: new RegExp(day), now })
})

it('finds data that should have expired', async test => {
  const { database, environment } = await createStore(test)
  await ensurePartitions(database, new Date(AT.getTime() - 100 * 86_400_000), 1)
  await expectError(environment, { check: 'store.retention', message: /deleted \d+ days ago/ })
})

it('finds a key that is missing, and one that is another', async test => {
  const store = await createStore(test)
  const { SIGNALBOX_CREDENTIAL_KEY: key, ...keyless } = store.environment
  const check = 'keys.credential'
  assert.equal((await examine(keyless)).of(check).severity, 'skipped', 'nothing is encrypted yet')
  await provision(store)
  await expectError(keyless, { check, message: /There is no key in/ })
  const other = { ...keyless, SIGNALBOX_CREDENTIAL_KEY: 'ab'.repeat(32) }
  await expectError(other, { check, message: /1 of 1 credentials cannot be decrypted/ })
  const rotating = { ...other, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: key }
  const { of, text } = await examine(rotating)
  assert.equal(of(check).severity, 'warning')
  assert.match(String(of(check).fix), /reseal/)
  assert.ok(!text.includes(key) && !text.includes('abab'))
  await createErasureKeyProvider({ ...store, now: () => AT })()
  await expectError(other, { check, message: /key of erased identifiers cannot be opened/ })
})

it('reads only', async test => {
  const { environment } = await createStore(test)
  const database = openForReading(environment.DATABASE_URL)
  test.after(() => database.close())
  await assert.rejects(database.pool.query('create table mine ()'), { code: '25006' })
})

it('finds a port that another program has', async test => {
  const port = await listen(test, createServer())
  const environment = {
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    PORT: String(port),
    SIGNALBOX_METRICS_PORT: String(port),
  }
  await expectError(environment, { check: 'network.port', message: /Another program/ })
})
