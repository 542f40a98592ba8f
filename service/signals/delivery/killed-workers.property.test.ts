// Full run only: kills workers by many schedules.
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import { WorkerProcesses } from '../../../testing/crash/worker-process.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  chooseSeeds,
  createSeededRandom,
  type SeededRandom,
} from '../../../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { findPlatformTarget, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import {
  type DeliveryHistory,
  readDeliveryHistory,
  recordDeliveryTransitions,
} from '../../../testing/simulation/delivery/history.ts'
import { findInvariantViolations } from '../../../testing/simulation/delivery/invariants.ts'
import { randomFaults } from '../../../testing/simulation/delivery/random-faults.ts'
import { drainDeliveries } from '../../../testing/simulation/delivery/run-simulation.ts'
import { findSentCountErrors } from '../../../testing/simulation/delivery/sent-count-invariants.ts'

const OWN_SEEDS = [1, 6]
const WORKERS = 2
const TRACKERS = 3
const STEPS = 26
const EVENTS_A_STEP_MAX = 12
/** Between two steps, so that a kill comes before, in and after a request. */
const PAUSE_MILLISECONDS_MAX = 300
const EVENT_NAMES = ['Purchase', 'Lead']
const WEIGHTS = { submit: 6, kill: 4, fail: 5, replay: 2 } as const

interface TestSetup {
  service: TestService
  queues: { trackerSecret: string; datasetId: string }[]
  workers: WorkerProcesses
  choices: SeededRandom
  eventIds: string[]
}

async function playWithProcesses(test: TestContext, seed: number): Promise<string[]> {
  const fixture = await setUp(test, seed)
  const { service, workers, choices } = fixture
  await scriptFaults(service.simulatorUrl, [SLOW])
  for (let number = 0; number < WORKERS; number += 1) await workers.start()
  for (let number = 0; number < STEPS; number += 1) {
    await perform(fixture)
    await delay(choices.integer(0, PAUSE_MILLISECONDS_MAX))
  }
  await workers.kill()
  await workers.stop()
  keepTime(service)
  await drainDeliveries(service)
  const story = await readDeliveryHistory(service)
  test.diagnostic(`seed ${seed}: ${summaryOf(story)}, ${workers.killed.size} killed`)
  assert.equal(story.deliveries.length, fixture.eventIds.length)
  return [
    ...findInvariantViolations(story, { lostWorkers: workers.killed }),
    ...(await findSentCountErrors(service, story)),
  ]
}

async function setUp(test: TestContext, seed: number): Promise<TestSetup> {
  const startAt = new Date(Date.now() - 1_000).toISOString()
  const service = await startTestService(test, { startAt })
  await recordDeliveryTransitions(service.database)
  const queues = []
  for (let number = 0; number < TRACKERS; number += 1) {
    const tracker = await service.newTracker()
    const { datasetId } = await findPlatformTarget(service, tracker)
    queues.push({ ...tracker, datasetId })
  }
  const workers = new WorkerProcesses(test, service)
  return { service, queues, workers, choices: createSeededRandom(seed), eventIds: [] }
}

async function perform(fixture: TestSetup): Promise<void> {
  const { service, choices, workers } = fixture
  const { trackerSecret: secret } = choices.pick(fixture.queues)
  keepTime(service)
  switch (choices.weighted(WEIGHTS)) {
    case 'submit':
      return submitSome(fixture, secret)
    case 'kill':
      await submitSome(fixture, secret)
      await delay(choices.integer(0, PAUSE_MILLISECONDS_MAX))
      await workers.kill()
      await workers.expireLeasesOfKilled()
      return workers.start()
    case 'fail':
      return scriptFaults(service.simulatorUrl, someFaults(fixture))
    case 'replay': {
      const body = choices.random() < 0.5 ? {} : { limit: choices.integer(1, 5) }
      const { status } = await service.request('POST', '/api/v1/deliveries/replay', {
        secret,
        body,
      })
      assert.equal(status, 200)
    }
  }
}

/** The processes run on the time of the machine, and the service has to run along. */
function keepTime({ clock }: TestService): void {
  clock.advance((Date.now() - clock.now().getTime()) / 1_000)
}

async function submitSome(
  { service, choices, eventIds }: TestSetup,
  secret: string,
): Promise<void> {
  for (let left = choices.integer(1, EVENTS_A_STEP_MAX); left > 0; left -= 1) {
    const event_id = `event-${eventIds.length + 1}`
    eventIds.push(event_id)
    const body = samplePurchase({ event_id, event_name: choices.pick(EVENT_NAMES) })
    const { status, text } = await service.request('POST', '/api/v1/events', { secret, body })
    assert.equal(status, 202, text)
  }
}

/** Slow enough that a worker is killed while a request is in flight. */
const SLOW: FaultRule = { delay_ms: 300, probability: 0.7 }
/** A queue rests for a minute after these, and no process of the test lives so long. */
const RESTING_CODES = [4, 10, 190, 368]

function someFaults({ choices, queues, eventIds }: TestSetup): FaultRule[] {
  const datasetIds = queues.map(({ datasetId }) => datasetId)
  const recent = { datasetIds, eventIds: eventIds.slice(-10), eventNames: EVENT_NAMES }
  const rules = randomFaults(choices, recent).filter(
    ({ respond }) => !RESTING_CODES.includes(respond?.code ?? 0) && respond?.status !== 429,
  )
  return [...rules, { ...SLOW, seed: choices.integer(1, 1_000) }]
}

function summaryOf({ deliveries, receipts, transitions }: DeliveryHistory): string {
  const takeovers = transitions.filter(({ from, isClaim }) => isClaim && from === 'sent')
  return `${deliveries.length} deliveries, ${receipts.length} receipts, ${takeovers.length} lease takeovers`
}

for (const seed of chooseSeeds(OWN_SEEDS)) {
  it(`killed workers lose no delivery and repeat no answered one (seed ${seed})`, async test => {
    // The steps are the same each time; what a kill finds under way is up to the machine.
    const again = `SIGNALBOX_TEST_SEED=${seed} plays these steps again`
    const faults = await playWithProcesses(test, seed).catch(cause => {
      throw new Error(again, { cause })
    })
    assert.equal(faults.length, 0, `${again}:\n${faults.join('\n')}`)
  })
}
