// Full run only: kills whole programs under load; worker-crash.test.ts kills one in every run.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { seededRandom } from '@signalbox/graph-simulator/seeded-random.ts'
import { type EventLoad, startEventLoad } from '../../../testing/crash/event-load.ts'
import { assertExactlyOnce } from '../../../testing/crash/exactly-once.ts'
import {
  createInstallation,
  startSimulatorProcess,
  type TestInstallation,
} from '../../../testing/fixtures/program.ts'
import { listReceipts, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

/** The shortest lease. After it, another worker takes over what a killed worker had claimed. */
const LEASE_SECONDS = 15
const LOAD_MILLISECONDS = { min: 150, max: 900 }

/** Kills of each variant. */
const KILLS = { service: 10, workers: 10, postgres: 3 }

describe('kill -9 under load', { concurrency: true }, () => {
  it('of the service: every acknowledged event is stored exactly once', async test => {
    await loadThroughKills(test, { kills: KILLS.service, withPostgres: false })
  })

  it('of the service with two HTTP workers: the same', async test => {
    await loadThroughKills(test, { kills: KILLS.workers, withPostgres: false, workers: 2 })
  })

  it('of the service and its PostgreSQL: the same', async test => {
    await loadThroughKills(test, { kills: KILLS.postgres, withPostgres: true })
  })
})

interface Kills {
  kills: number
  withPostgres: boolean
  /** None when it is left out. */
  workers?: number
}

async function loadThroughKills(
  test: TestContext,
  { kills, withPostgres, workers }: Kills,
): Promise<void> {
  const simulatorUrl = await startSlowSimulator(test)
  const place = createInstallation(test)
  const environment = {
    SIGNALBOX_PLATFORM_URL: simulatorUrl,
    SIGNALBOX_DELIVERY_LEASE_SECONDS: String(LEASE_SECONDS),
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
    ...(workers && { SIGNALBOX_HTTP_WORKERS: String(workers) }),
  }
  const chance = seededMoments(test)
  let program = await place.startReady({ environment })
  let target = place.credentials()
  const load = startEventLoad({ connections: 16, pauseMilliseconds: 3, target: () => target })

  for (let kill = 1; kill <= kills; kill += 1) {
    const before = load.acknowledged.size
    await waitUntil('the load runs', () => load.acknowledged.size > before)
    const { min, max } = LOAD_MILLISECONDS
    await delay(min + chance() * (max - min))
    const ended = program.kill('SIGKILL')
    if (withPostgres) process.kill(place.postgresProcessId() ?? 0, 'SIGKILL')
    assert.deepEqual(await ended, { code: null, signal: 'SIGKILL' })
    program = await place.startReady({ environment })
    target = place.credentials()
  }
  await load.stop()
  assert.deepEqual(load.unexpectedResponses, [])
  assert.ok(load.retries() >= kills)
  await assertNothingElse(test, { place, simulatorUrl, load })
}

interface Outcome {
  place: TestInstallation
  simulatorUrl: string
  load: EventLoad
}

async function assertNothingElse(test: TestContext, { place, simulatorUrl, load }: Outcome) {
  const ids = [...load.acknowledged].sort()
  const connectionString = (await findRunningEmbeddedPostgres(place.dataFolder)) ?? ''
  const store = { connectionString, platformUrl: simulatorUrl, settleSecondsMax: 60 }
  const stored = await assertExactlyOnce(store, ids)
  assert.deepEqual([...stored].sort(), ids)
  const receipts = await listReceipts(simulatorUrl)
  const counted = receipts.filter(({ deduplicated }) => !deduplicated)
  assert.deepEqual(counted.map(({ event_id }) => event_id).sort(), ids)
  test.diagnostic(
    `${ids.length} events, ${load.retries()} sent again by clients, ` +
      `${receipts.length - counted.length} sent again to the platform`,
  )
}

/**
 * A program of its own, so that it outlives the kills. Half of its answers come late: events are
 * then kept by the platform while the service does not know it yet, which is when a kill hurts.
 */
async function startSlowSimulator(test: TestContext): Promise<string> {
  const url = await startSimulatorProcess(test)
  await scriptFaults(url, [{ probability: 0.5, seed: 7, delay_ms: 200 }])
  return url
}

/** SIGNALBOX_TEST_SEED repeats the moments of a run that failed. */
function seededMoments(test: TestContext): () => number {
  const seed = Number(process.env.SIGNALBOX_TEST_SEED ?? randomInt(2 ** 31))
  test.diagnostic(`SIGNALBOX_TEST_SEED=${seed}`)
  return seededRandom(seed)
}
