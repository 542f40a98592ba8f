import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createClaimBarrier } from '../../testing/concurrency/lock-barrier.ts'
import { startWorkerProcess } from '../../testing/crash/worker-process.ts'
import { type StoredDestination, storeDestinations } from '../../testing/fixtures/deliveries.ts'
import { waitForStatus } from '../../testing/fixtures/delivery-worker.ts'
import { eventually } from '../../testing/fixtures/program.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../testing/fixtures/simulator.ts'
import { ledgerEntry, plannedDelivery, storeEntries } from '../../testing/fixtures/stored-events.ts'
import {
  type DeliveryHistory,
  readDeliveryHistory,
  recordDeliveryTransitions,
} from '../../testing/simulation/delivery/history.ts'
import { findInvariantViolations } from '../../testing/simulation/delivery/invariants.ts'
import { announceDeliveries } from './destination-queue-store.ts'

const LANES = 6
const LANE_EVENTS = 400
const EVENTS = LANES * LANE_EVENTS

const ENVIRONMENT = {
  SIGNALBOX_DELIVERY_BATCH_MAX: '50',
  SIGNALBOX_DELIVERY_REQUESTS_MAX: '4',
  // Nobody dies here, and nobody's lease may end while it waits at the gate.
  SIGNALBOX_DELIVERY_LEASE_SECONDS: '300',
}

/** On the time of the machine, because real processes read it. */
async function serviceOfToday(test: TestContext): Promise<TestService> {
  const startAt = new Date(Date.now() - 1_000).toISOString()
  const service = await startTestService(test, { startAt })
  await recordDeliveryTransitions(service.database)
  return service
}

async function storeEvents(service: TestService): Promise<void> {
  const { database, delivery } = service
  const queues = await storeDestinations(database, delivery.credentialKeys, LANES)
  for (const queue of queues) await storeEventsOf(service, queue)
}

async function storeEventsOf(
  { database, clock }: TestService,
  { trackerId, destinationId }: StoredDestination,
): Promise<void> {
  const at = clock.now()
  const numbers = Array.from({ length: LANE_EVENTS }, (_, index) => index + 1)
  const keyOf = (number: number) => ({ trackerId, eventId: `event-${number}`, createdAt: at })
  await storeEntries(
    database,
    numbers.map(number => ledgerEntry({ ...keyOf(number), eventTime: at })),
    numbers.map(id => plannedDelivery({ ...keyOf(id), id, destinationId })),
  )
}

/** How many events each worker was handed. */
function sharesOf({ transitions: moves }: DeliveryHistory): Record<string, number> {
  const claims = Map.groupBy(
    moves.filter(({ isClaim }) => isClaim),
    ({ worker }) => worker,
  )
  return Object.fromEntries([...claims].map(([worker, { length }]) => [worker, length]))
}

for (const count of [2, 4]) {
  it(`${count} worker processes share the work, and none sends another's deliveries`, async test => {
    const service = await serviceOfToday(test)
    const gate = await createClaimBarrier(test, service)
    await storeEvents(service)
    await scriptFaults(service.simulatorUrl, [{ delay_ms: 20 }])
    const names = Array.from({ length: count }, (_, index) => `worker-${index + 1}`)
    const start = (name: string) =>
      startWorkerProcess(test, service, { name, environment: ENVIRONMENT })
    await Promise.all(names.map(start))
    await announceDeliveries(service.database)
    await eventually(`all ${count} are about to claim`, async () => {
      return (await gate.findWaitingWorkers()).length === count
    })
    await gate.release()
    await waitForStatus(service, 'accepted', { count: EVENTS })

    const { receipts, deduplicated } = await readSimulatorSummary(service.simulatorUrl)
    assert.deepEqual([receipts, deduplicated], [EVENTS, 0])
    const story = await readDeliveryHistory(service)
    assert.deepEqual(findInvariantViolations(story, { lostWorkers: new Set() }), [])
    const shares = sharesOf(story)
    test.diagnostic(JSON.stringify(shares))
    assert.deepEqual(Object.keys(shares).sort(), names)
  })
}
