// Full run only: a drill of operations.
// Runs alone: starts programs.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startEventLoad } from '../../crash/event-load.ts'
import { assertExactlyOnce } from '../../crash/exactly-once.ts'
import { createDatabaseFromTemplate } from '../../fixtures/database.ts'
import { createInstallation, startSimulatorProcess } from '../../fixtures/program.ts'
import { queryStore } from '../../fixtures/query-store.ts'
import { assertKeysWork, assertSecretsWhole } from './installation-checks.ts'
import { readPageScript } from './page-commands.ts'
import { runToEnd } from './postgres-cluster.ts'
import { checkOutPreviousVersion, findObstacle } from './previous-version.ts'

const PAGE = 'docs/operations/upgrade.md'
const MIGRATIONS = join(import.meta.dirname, '../../../service/migrations')
const LOAD_MILLISECONDS = 3_000

it('the previous version serves while the store is migrated', {
  skip: findObstacle(),
}, async test => {
  const platformUrl = await startSimulatorProcess(test)
  const connectionString = await createDatabaseFromTemplate(test, 'template0')
  const place = createInstallation(test)
  const environment = {
    DATABASE_URL: connectionString,
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_DELIVERY_LEASE_SECONDS: '15',
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
    SIGNALBOX_DATA_DIR: place.dataFolder,
  }
  const previous = await place.startReady({ program: checkOutPreviousVersion(test), environment })
  const keys = place.credentials()
  let target = `${previous.url}/api/v1`
  const load = startEventLoad({
    connections: 8,
    pauseMilliseconds: 5,
    target: () => ({ ...keys, base_url: target }),
  })
  await delay(LOAD_MILLISECONDS)
  const before = load.acknowledged.size
  const start = performance.now()
  const script = readPageScript({ page: PAGE, begins: 'npx signalbox-server migrate', values: {} })
  await runToEnd('/bin/bash', ['-c', script], { env: { PATH: process.env.PATH, ...environment } })
  const seconds = ((performance.now() - start) / 1_000).toFixed(1)
  const during = load.acknowledged.size - before

  // The previous version on the new schema: alone, then beside the new version.
  await delay(LOAD_MILLISECONDS)
  const afterwards = load.acknowledged.size - before - during
  const next = await place.startReady({ environment })
  target = `${next.url}/api/v1`
  await delay(LOAD_MILLISECONDS)
  assert.deepEqual(await previous.kill('SIGTERM'), { code: 0, signal: null })
  await delay(LOAD_MILLISECONDS)
  await load.stop()

  assert.deepEqual(load.unexpectedResponses, [])
  assert.ok(during > 0, 'nothing was accepted during the migration')
  const errors = `${previous.stdout()}${next.stdout()}`.split('\n').filter(isErrorLine)
  assert.deepEqual(errors, [])
  await assertKeysWork(next.url, keys, 'upgraded')
  const stored = await assertExactlyOnce({ connectionString, platformUrl }, load.acknowledged)
  await assertSecretsWhole(environment)
  await assertReadable(next.url, keys.tracker_secret, [...load.acknowledged].slice(0, 20))
  const [schema] = await queryStore<{ name: string }>(connectionString, NEWEST_MIGRATION)
  assert.equal(`${schema?.name}.sql`, readdirSync(MIGRATIONS).sort().at(-1))
  test.diagnostic(
    `migrated in ${seconds} s with ${during} events acknowledged meanwhile, ${afterwards} by the ` +
      `previous version on the new schema, ${load.acknowledged.size} in all, ${stored.size} ` +
      `stored, ${load.retries()} sent again by clients`,
  )
})

const NEWEST_MIGRATION = 'select name from public.kysely_migration order by name desc limit 1'

/** Level 50 is an error, 60 the end of the program. */
function isErrorLine(line: string): boolean {
  return /"level":(?:[56]0|"(?:error|fatal)")/.test(line)
}

/** The new version explains events that the previous one stored. */
async function assertReadable(url: string, secret: string, eventIds: string[]): Promise<void> {
  for (const id of eventIds) {
    const response = await fetch(`${url}/api/v1/events/${id}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    assert.equal(response.status, 200)
    assert.match(await response.text(), /"explanation":"/)
  }
}
