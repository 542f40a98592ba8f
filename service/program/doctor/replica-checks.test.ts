import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase, migrateDatabase } from '../../../testing/fixtures/database.ts'
import { examine } from '../../../testing/fixtures/doctor.ts'
import { startReplicatedStore } from '../../../testing/fixtures/read-replica.ts'

const LAG_SECONDS_MAX = '3'

it('says whether the replica is a standby that keeps up', async test => {
  const { primary, replica, proxy, ...store } = await startReplicatedStore(test)
  await migrateDatabase(primary.connectionString)
  await store.catchUp()
  const environment = {
    DATABASE_URL: primary.connectionString,
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    SIGNALBOX_REPLICA_URL: replica.connectionString,
    SIGNALBOX_REPLICA_LAG_SECONDS_MAX: LAG_SECONDS_MAX,
  }
  const diagnose = async () => {
    const { findings } = await examine(environment)
    return findings.flatMap(({ check, severity }) =>
      check.startsWith('replica.') ? [`${check} ${severity}`] : [],
    )
  }
  const healthy = ['replica.standby ok', 'replica.lag ok', 'replica.schema ok']
  assert.deepEqual(await diagnose(), healthy)

  await store.pause()
  await primary.database.pool.query('create table later ()')
  assert.deepEqual(await diagnose(), ['replica.standby ok', 'replica.lag warning'])
  await store.resume()
  await store.catchUp()
  assert.deepEqual(await diagnose(), healthy)

  await primary.database.pool.query('create database other')
  await store.catchUp()
  const other = new URL(replica.connectionString)
  other.pathname = '/other'
  environment.SIGNALBOX_REPLICA_URL = other.href
  assert.deepEqual((await diagnose()).at(-1), 'replica.schema error')

  environment.SIGNALBOX_REPLICA_URL = replica.connectionString
  proxy.setMode({ mode: 'refuse' })
  const { of } = await examine(environment)
  const { severity, message } = of('replica.reachable')
  assert.equal(severity, 'warning')
  assert.match(message, /SIGNALBOX_REPLICA_URL/)
  assert.doesNotMatch(message, /DATABASE_URL/)
})

it('refuses a replica that is no copy of the store', async test => {
  const { connectionString } = await createTestDatabase(test)
  const { of, text, code } = await examine({
    DATABASE_URL: connectionString,
    SIGNALBOX_DATA_DIR: createDataFolder(test).dataFolder,
    SIGNALBOX_REPLICA_URL: connectionString,
  })
  const { severity, message } = of('replica.standby')
  assert.equal(severity, 'error')
  assert.match(message, /is no standby/)
  assert.equal(code, 2)
  assert.ok(!text.includes(new URL(connectionString).password), 'no password is printed')
})
