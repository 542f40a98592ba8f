// Full run only: starts many worker processes.
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createClaimBarrier } from '../../../testing/concurrency/lock-barrier.ts'
import { startWorkerProcess } from '../../../testing/crash/worker-process.ts'
import { type StoredDestination, storeDestinations } from '../../../testing/fixtures/deliveries.ts'
import { waitForStatus } from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import {
  ledgerEntry,
  plannedDelivery,
  storeEntries,
} from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import {
  type DeliveryHistory,
  readDeliveryHistory,
  recordDeliveryTransitions,
} from '../../../testing/simulation/delivery/history.ts'
import { findInvariantViolations } from '../../../testing/simulation/delivery/invariants.ts'
import { announceDeliveries } from './destination-queue-store.ts'

const QUEUES = 6
const EVENTS_PER_QUEUE = 400
const EVENTS = QUEUES * EVENTS_PER_QUEUE

const ENVIRONMENT = {
  SIGNALBOX_DELIVERY_BATCH_MAX: '50',
  SIGNALBOX_DELIVERY_REQUESTS_MAX: '4',
  // No worker crashes here, and no lease may expire while its worker waits at the barrier.
  SIGNALBOX_DELIVERY_LEASE_SECONDS: '300',
}

/** On the real clock, because the worker processes read it. */
async function startServiceOnRealClock(test: TestContext): Promise<TestService> {
  const startAt = new Date(Date.now() - 1_000).toISOString()
  const service = await startTestService(test, { startAt })
  await recordDeliveryTransitions(service.database)
  return service
}

async function storeEvents(service: TestService): Promise<void> {
  const { database, delivery } = service
  const queues = await storeDestinations(database, delivery.credentialKeys, QUEUES)
  for (const queue of queues) await storeEventsOf(service, queue)
}

async function storeEventsOf(
  { database, clock }: TestService,
  { trackerId, destinationId }: StoredDestination,
): Promise<void> {
  const at = clock.now()
  const numbers = Array.from({ length: EVENTS_PER_QUEUE }, (_, index) => index + 1)
  const keyOf = (number: number) => ({ trackerId, eventId: `event-${number}`, createdAt: at })
  await storeEntries(
    database,
    numbers.map(number => ledgerEntry({ ...keyOf(number), eventTime: at })),
    numbers.map(id => plannedDelivery({ ...keyOf(id), id, destinationId })),
  )
}

/** How many deliveries each worker claimed. */
function countClaims({ transitions }: DeliveryHistory): Record<string, number> {
  const claims = Map.groupBy(
    transitions.filter(({ isClaim }) => isClaim),
    ({ worker }) => worker,
  )
  return Object.fromEntries([...claims].map(([worker, { length }]) => [worker, length]))
}

for (const count of [2, 4]) {
  it(`${count} worker processes share the work, and none sends another's deliveries`, async test => {
    const service = await startServiceOnRealClock(test)
    const barrier = await createClaimBarrier(test, service)
    await storeEvents(service)
    await scriptFaults(service.simulatorUrl, [{ delay_ms: 20 }])
    const names = Array.from({ length: count }, (_, index) => `worker-${index + 1}`)
    const start = (name: string) =>
      startWorkerProcess(test, service, { name, environment: ENVIRONMENT })
    await Promise.all(names.map(start))
    await announceDeliveries(service.database)
    await waitUntil(`all ${count} are about to claim`, async () => {
      return (await barrier.findWaitingWorkers()).length === count
    })
    await barrier.release()
    await waitForStatus(service, 'accepted', { count: EVENTS })

    const { receipts, deduplicated } = await readSimulatorSummary(service.simulatorUrl)
    assert.deepEqual([receipts, deduplicated], [EVENTS, 0])
    const history = await readDeliveryHistory(service)
    assert.deepEqual(findInvariantViolations(history, { lostWorkers: new Set() }), [])
    const claims = countClaims(history)
    test.diagnostic(JSON.stringify(claims))
    assert.deepEqual(Object.keys(claims).sort(), names)
  })
}
