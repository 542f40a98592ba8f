// Full run only: a drill of operations.
// Runs alone: starts programs.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startEventLoad } from '../../crash/event-load.ts'
import { assertExactlyOnce } from '../../crash/exactly-once.ts'
import { createInstallation, startSimulatorProcess } from '../../fixtures/program.ts'
import { queryStore } from '../../fixtures/query-store.ts'
import { waitUntil } from '../../fixtures/wait-until.ts'
import { startTcpProxy, withPort } from '../tcp-proxy.ts'
import { assertKeysWork, assertSecretsWhole } from './installation-checks.ts'
import { readPageScript } from './page-commands.ts'
import { createPostgresHost, isWithoutPostgres } from './postgres-cluster.ts'

const PAGE = 'docs/operations/standby.md'
const LOAD_MILLISECONDS = 3_000

it('a promoted standby has every acknowledged event', { skip: isWithoutPostgres }, async test => {
  const platformUrl = await startSimulatorProcess(test)
  const host = await createPostgresHost(test)
  const primary = await host.createServer('primary')
  const standby = await host.defineServer('standby')
  const run = (begins: string, { environment } = primary) => {
    const values = { '/var/lib/postgresql/standby': standby.dataFolder }
    return host.runScript(readPageScript({ page: PAGE, begins, values }), environment)
  }
  await run('psql --command="select pg_create_physical_replication_slot')
  await run('pg_basebackup')
  await standby.start()
  await run('psql --command="alter system set synchronous_standby_names = \'FIRST')
  const isSynchronous = "select from pg_stat_replication where sync_state = 'sync'"
  await waitUntil('the standby is synchronous', async () => {
    return (await queryStore(primary.connectionString, isSynchronous)).length === 1
  })

  // The address of the store, as a load balancer has one.
  const address = await startTcpProxy(primary.port)
  test.after(address.close)
  const place = createInstallation(test)
  const environment = {
    DATABASE_URL: withPort(primary.connectionString, address.port),
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_DELIVERY_LEASE_SECONDS: '15',
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
  }
  const { url } = await place.startReady({ environment })
  const keys = place.credentials()
  const load = startEventLoad({ connections: 8, pauseMilliseconds: 5, target: () => keys })
  await delay(LOAD_MILLISECONDS)

  // The machine of the primary is lost while events are being committed.
  await primary.stop('immediate')
  const before = load.acknowledged.size
  const lostAt = performance.now()
  address.setMode({ mode: 'refuse' })
  await run('pg_ctl promote', standby)
  address.setUpstream(standby.port)
  address.reset()
  await waitUntil('events are accepted again', () => load.acknowledged.size > before)
  const outage = performance.now() - lostAt
  await delay(LOAD_MILLISECONDS)
  await load.stop()

  assert.deepEqual(load.unexpectedResponses, [])
  const ready = await fetch(`${url}/readyz`)
  assert.equal(ready.status, 200, await ready.text())
  await assertKeysWork(url, keys, 'promoted')
  const { connectionString } = standby
  const stored = await assertExactlyOnce({ connectionString, platformUrl }, load.acknowledged)
  await assertSecretsWhole({ ...environment, SIGNALBOX_DATA_DIR: place.dataFolder })
  test.diagnostic(
    `${before} acknowledged before the loss, ${load.acknowledged.size} in all, ` +
      `${stored.size} stored, ${load.retries()} sent again by clients, ` +
      `${(outage / 1_000).toFixed(1)} s without an acknowledgment`,
  )
})
