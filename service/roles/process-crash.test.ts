import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { seededRandom } from '@signalbox/graph-simulator/seeded-random.ts'
import pg from 'pg'
import { type EventLoad, startEventLoad } from '../../testing/crash/event-load.ts'
import {
  createInstallation,
  spawnProgram,
  type TestInstallation,
} from '../../testing/fixtures/program.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'

const SIMULATOR = new URL(import.meta.resolve('@signalbox/graph-simulator/main.ts')).pathname

/** The shortest lease. After it, another worker takes over what a killed worker had claimed. */
const LEASE_SECONDS = 15
const LOAD_MILLISECONDS = { min: 150, max: 900 }

/** Kills of each variant. */
const KILLS = isShortRun()
  ? { service: 2, workers: 1, postgres: 1 }
  : { service: 10, workers: 10, postgres: 3 }

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
  await assertExactlyOnce(test, { place, simulatorUrl, load })
}

interface Outcome {
  place: TestInstallation
  simulatorUrl: string
  load: EventLoad
}

interface StoredEvent {
  event_id: string
  deliveries: string[]
}

async function assertExactlyOnce(test: TestContext, { place, simulatorUrl, load }: Outcome) {
  const ids = [...load.acknowledged].sort()
  const stored = await settledEvents(place)
  assert.deepEqual(
    stored,
    ids.map(event_id => ({ event_id, deliveries: ['accepted'] })),
  )
  const receipts = await receivedEvents(simulatorUrl)
  const counted = receipts.filter(({ deduplicated }) => !deduplicated)
  assert.deepEqual(counted.map(({ event_id }) => event_id).sort(), ids)
  test.diagnostic(
    `${ids.length} events, ${load.retries()} sent again by clients, ` +
      `${receipts.length - counted.length} sent again to the platform`,
  )
}

const STORED_EVENTS = `
  select event_id, array(
    select status from all_deliveries
    where tracker_id = events.tracker_id and event_id = events.event_id
  ) as deliveries
  from events order by event_id collate "C"`

/** What the store holds once nothing is under way any more. */
async function settledEvents(place: TestInstallation): Promise<StoredEvent[]> {
  const connectionString = await findRunningEmbeddedPostgres(place.dataFolder)
  const client = new pg.Client({
    connectionString: connectionString ?? '',
    options: '-c search_path=signalbox_store,public',
  })
  await client.connect()
  try {
    await waitUntil('every delivery is settled', async () => {
      const waiting = 'select from all_deliveries where next_attempt_at is not null limit 1'
      return (await client.query(waiting)).rowCount === 0
    })
    const { rows } = await client.query<StoredEvent>(STORED_EVENTS)
    return rows
  } finally {
    await client.end()
  }
}

interface Receipt {
  event_id: string
  deduplicated: boolean
}

const RECEIPTS_MAX = 10_000

async function receivedEvents(simulatorUrl: string): Promise<Receipt[]> {
  const response = await fetch(`${simulatorUrl}/_simulator/received?limit=${RECEIPTS_MAX}`)
  const { count, events } = (await response.json()) as { count: number; events: Receipt[] }
  assert.equal(events.length, count, 'the simulator cannot list all that it received')
  return events
}

/**
 * A program of its own, so that it outlives the kills. Half of its answers come late: events are
 * then kept by the platform while the service does not know it yet, which is when a kill hurts.
 */
async function startSlowSimulator(test: TestContext): Promise<string> {
  const program = spawnProgram([SIMULATOR], { SIMULATOR_PORT: '0' })
  test.after(() => program.kill('SIGKILL'))
  await waitUntil('the simulator listens', () => program.stdout().includes('\n'))
  const { listening } = JSON.parse(program.stdout()) as { listening: string }
  const rules = [{ probability: 0.5, seed: 7, delay_ms: 200 }]
  await fetch(`${listening}/_simulator/faults`, {
    method: 'POST',
    body: JSON.stringify({ rules }),
  })
  return listening
}

/** SIGNALBOX_TEST_SEED repeats the moments of a run that failed. */
function seededMoments(test: TestContext): () => number {
  const seed = Number(process.env.SIGNALBOX_TEST_SEED ?? randomInt(2 ** 31))
  test.diagnostic(`SIGNALBOX_TEST_SEED=${seed}`)
  return seededRandom(seed)
}
