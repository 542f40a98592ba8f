// Full run only: a drill of operations.
// Runs alone: starts programs.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startEventLoad } from '../../crash/event-load.ts'
import { assertExactlyOnce, listUnsettledEvents } from '../../crash/exactly-once.ts'
import { runCommand } from '../../fixtures/command-line.ts'
import { createInstallation, startSimulatorProcess } from '../../fixtures/program.ts'
import { listReceipts } from '../../fixtures/simulator.ts'
import { assertKeysWork, assertSecretsWhole } from './installation-checks.ts'
import { readPageScript } from './page-commands.ts'
import {
  createPostgresHost,
  isWithoutPostgres,
  POSTGRES_BIN,
  runToEnd,
} from './postgres-cluster.ts'

const PAGE = 'docs/operations/backup.md'
const LOAD_MILLISECONDS = 2_000

it('a dump under load restores on a new database', { skip: isWithoutPostgres }, async test => {
  const platformUrl = await startSimulatorProcess(test)
  const host = await createPostgresHost(test)
  const lost = await host.createServer('lost')
  const [place, newPlace] = [createInstallation(test), createInstallation(test)]
  const credentialKey = 'c0ffee'.padEnd(64, '0')
  const settings = {
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_CREDENTIAL_KEY: credentialKey,
    SIGNALBOX_DELIVERY_LEASE_SECONDS: '15',
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
  }
  const environment = { ...settings, DATABASE_URL: lost.connectionString }
  const first = await place.startReady({ environment })
  const keys = place.credentials()
  const load = startEventLoad({ connections: 8, pauseMilliseconds: 5, target: () => keys })
  await delay(LOAD_MILLISECONDS)
  await addAuditEntries(environment, keys.tracker_id, place.dataFolder)

  const run = (begins: string, variables: Record<string, string>) => {
    const script = readPageScript({ page: PAGE, begins, values: { '/backup': host.folder } })
    const PATH = `${POSTGRES_BIN}:${process.env.PATH}`
    return runToEnd('/bin/bash', ['-c', script], { env: { ...settings, PATH, ...variables } })
  }
  const before = [...load.acknowledged]
  await run('pg_dump --dbname', { DATABASE_URL: lost.connectionString })
  await delay(LOAD_MILLISECONDS)
  await load.stop()
  // The loss: the machine with its service and its database.
  await first.kill('SIGKILL')
  await lost.stop('immediate')

  const restored = await host.createServer('restored')
  const verified = await run('pg_restore', {
    RESTORED_URL: restored.connectionString,
    SIGNALBOX_DATA_DIR: newPlace.dataFolder,
  })
  assert.match(verified, /^Workspace 1: intact\. All \d+ entries are unchanged\.$/m)
  const unsettled = await listUnsettledEvents(restored.connectionString)
  const receiptsBefore = await listReceipts(platformUrl)
  const { url } = await newPlace.startReady({
    environment: { ...settings, DATABASE_URL: restored.connectionString },
  })
  await assertKeysWork(url, keys, 'restored')
  const { connectionString } = restored
  const stored = await assertExactlyOnce({ connectionString, platformUrl }, before)
  const again = (await listReceipts(platformUrl))
    .slice(receiptsBefore.length)
    .map(({ event_id }) => event_id)
    .filter(id => !id.startsWith('restored-'))
  assert.deepEqual(
    again.filter(id => !unsettled.has(id)),
    [],
    'settled events are sent once',
  )
  await assertSecretsWhole({
    ...settings,
    DATABASE_URL: connectionString,
    SIGNALBOX_DATA_DIR: newPlace.dataFolder,
  })
  test.diagnostic(
    `${before.length} acknowledged before the dump, ${load.acknowledged.size} in all, ` +
      `${stored.size} stored after the restore, ${again.length} sent again`,
  )
})

/** A log of several entries: a key that was issued and revoked. */
async function addAuditEntries(
  environment: Record<string, string>,
  trackerId: string,
  dataFolder: string,
): Promise<void> {
  const path = join(dataFolder, 'second.json')
  const tracker = ['--tracker', trackerId]
  const run = async (list: string[]) => {
    const { code, stderr } = await runCommand(['key', ...list, ...tracker], {
      environment: { ...environment, SIGNALBOX_DATA_DIR: dataFolder },
    })
    assert.equal(code, 0, stderr)
  }
  await run(['issue', '--kind', 'secret', '--out', path])
  const { tracker_secret } = JSON.parse(readFileSync(path, 'utf8'))
  await run(['revoke', '--kind', 'secret', '--last', tracker_secret.slice(-4)])
}
