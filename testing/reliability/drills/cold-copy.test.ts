// Full run only: a drill of operations.
// Runs alone: starts programs.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { startEventLoad } from '../../crash/event-load.ts'
import { assertExactlyOnce } from '../../crash/exactly-once.ts'
import { createInstallation, startSimulatorProcess } from '../../fixtures/program.ts'
import { listReceipts } from '../../fixtures/simulator.ts'
import { assertKeysWork, assertSecretsWhole } from './installation-checks.ts'
import { readPageScript } from './page-commands.ts'
import { runToEnd } from './postgres-cluster.ts'

const PAGE = 'docs/operations/backup.md'
const LOAD_MILLISECONDS = 2_000

it('a copy of the stopped data folder has every acknowledged event and every key', async test => {
  const platformUrl = await startSimulatorProcess(test)
  const place = createInstallation(test, { folderName: '.data' })
  const home = dirname(place.dataFolder)
  const environment = {
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
  }
  const run = (begins: string) => {
    const values = { '/backup': `${home}/backup` }
    const script = readPageScript({ page: PAGE, begins, values })
    return runToEnd('/bin/bash', ['-c', script], { cwd: home })
  }
  const first = await place.startReady({ environment })
  const keys = place.credentials()
  const load = startEventLoad({ connections: 8, pauseMilliseconds: 5, target: () => keys })
  await delay(LOAD_MILLISECONDS)
  await load.stop()
  // Deliveries are under way when the service gets the signal.
  assert.deepEqual(await first.kill('SIGTERM'), { code: 0, signal: null })
  assert.deepEqual(load.unexpectedResponses, [])
  mkdirSync(join(home, 'backup'))
  await run('cp -a .data /backup/data')
  // The loss: the folder is gone.
  rmSync(place.dataFolder, { recursive: true })
  await run('cp -a /backup/data .data')

  const receiptsBefore = (await listReceipts(platformUrl)).length
  const { url } = await place.startReady({ environment })
  const connectionString = (await findRunningEmbeddedPostgres(place.dataFolder)) ?? ''
  await assertKeysWork(url, keys, 'restored')
  const stored = await assertExactlyOnce({ connectionString, platformUrl }, load.acknowledged)
  const again = (await listReceipts(platformUrl)).filter(({ deduplicated }) => deduplicated).length
  await assertSecretsWhole({ SIGNALBOX_DATA_DIR: place.dataFolder })
  test.diagnostic(
    `${load.acknowledged.size} acknowledged, ${stored.size} stored, ` +
      `${receiptsBefore} at the platform before the restore, ${again} sent again`,
  )
})
