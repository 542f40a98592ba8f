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
import { assertKeysWork, assertSecretsWhole } from './installation-checks.ts'
import { readPageScript } from './page-commands.ts'
import { createPostgresHost, isWithoutPostgres } from './postgres-cluster.ts'

const PAGE = 'docs/operations/backup.md'
const LOAD_MILLISECONDS = 2_000

it('the archived WAL restores the moment before a mistake', {
  skip: isWithoutPostgres,
}, async test => {
  const platformUrl = await startSimulatorProcess(test)
  const host = await createPostgresHost(test)
  const [server, restored] = [await host.createServer('main'), await host.defineServer('restored')]
  let target = ''
  const run = (begins: string) => {
    const values = {
      '/backup': host.folder,
      '/var/lib/postgresql/restored': restored.dataFolder,
      '2026-11-23 12:00:00+00': target,
    }
    return host.runScript(readPageScript({ page: PAGE, begins, values }), server.environment)
  }
  await run('mkdir -p /backup/wal')
  await server.stop('fast')
  await server.start()

  const place = createInstallation(test)
  const settings = {
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_DELIVERY_LEASE_SECONDS: '15',
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
  }
  const first = await place.startReady({
    environment: { ...settings, DATABASE_URL: server.connectionString },
  })
  const keys = place.credentials()
  const load = startEventLoad({
    connections: 8,
    pauseMilliseconds: 5,
    target: () => keys,
  })
  await delay(LOAD_MILLISECONDS)
  await run('pg_basebackup')
  await delay(LOAD_MILLISECONDS)

  const before = [...load.acknowledged]
  const [now] = await queryStore<{ at: string }>(
    server.connectionString,
    'select clock_timestamp()::text as at',
  )
  target = now?.at ?? ''
  await waitUntil('events follow', () => load.acknowledged.size > before.length + 50)
  await load.stop()
  // The mistake, which a standby would repeat.
  await queryStore(server.connectionString, 'drop schema signalbox_store cascade')
  await first.kill('SIGTERM')
  await run("psql --command='select pg_switch_wal()'")
  await server.stop('fast')

  await run('cp -a /backup/base')
  await restored.start()
  const { connectionString } = restored
  const isPromoted = 'select from pg_database where not pg_is_in_recovery() limit 1'
  await waitUntil('the recovery is complete', async () => {
    return (await queryStore(connectionString, isPromoted)).length === 1
  })
  const later = `select from events where created_at > '${target}'`
  assert.deepEqual(await queryStore(connectionString, later), [], 'events after the moment')
  const environment = { ...settings, DATABASE_URL: connectionString }
  await assertSecretsWhole({ ...environment, SIGNALBOX_DATA_DIR: place.dataFolder })
  const { url } = await place.startReady({ environment })
  await assertKeysWork(url, keys, 'restored')
  const stored = await assertExactlyOnce({ connectionString, platformUrl }, before)
  test.diagnostic(
    `${before.length} acknowledged before the moment, ${load.acknowledged.size} in all, ` +
      `${stored.size} stored after the restore`,
  )
})
