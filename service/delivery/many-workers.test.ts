import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { claimGate } from '../../testing/claim-gate.ts'
import { auditDeliveries } from '../../testing/delivery-audit.ts'
import { brokenPromises } from '../../testing/delivery-promises.ts'
import { type DeliveryStory, readStory } from '../../testing/delivery-story.ts'
import { type StoredLane, storeLanes } from '../../testing/many-lanes.ts'
import { eventually } from '../../testing/program-under-test.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../../testing/service-under-test.ts'
import { scriptFaults, simulatorSummary } from '../../testing/simulator-controls.ts'
import { ledgerEntry, plannedDelivery, storeEntries } from '../../testing/stored-events.ts'
import { workerProcess } from '../../testing/worker-processes.ts'
import { eventuallyStatus } from '../../testing/worker-under-test.ts'
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
async function serviceOfToday(test: TestContext): Promise<ServiceUnderTest> {
  const startAt = new Date(Date.now() - 1_000).toISOString()
  const service = await serviceUnderTest(test, { startAt })
  await auditDeliveries(service.database)
  return service
}

async function storeEvents(service: ServiceUnderTest): Promise<void> {
  const { database, delivery } = service
  const lanes = await storeLanes(database, delivery.credentialKeys, LANES)
  for (const lane of lanes) await storeEventsOf(service, lane)
}

async function storeEventsOf(
  { database, clock }: ServiceUnderTest,
  { trackerId, destinationId }: StoredLane,
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
function sharesOf({ moves }: DeliveryStory): Record<string, number> {
  const claims = Map.groupBy(
    moves.filter(({ isClaim }) => isClaim),
    ({ worker }) => worker,
  )
  return Object.fromEntries([...claims].map(([worker, { length }]) => [worker, length]))
}

for (const count of [2, 4]) {
  it(`${count} worker processes share the work, and none sends another's deliveries`, async test => {
    const service = await serviceOfToday(test)
    const gate = await claimGate(test, service)
    await storeEvents(service)
    await scriptFaults(service.simulatorUrl, [{ delay_ms: 20 }])
    const names = Array.from({ length: count }, (_, index) => `worker-${index + 1}`)
    const start = (name: string) => workerProcess(test, service, { name, environment: ENVIRONMENT })
    await Promise.all(names.map(start))
    await announceDeliveries(service.database)
    await eventually(`all ${count} are about to claim`, async () => {
      return (await gate.waiting()).length === count
    })
    await gate.open()
    await eventuallyStatus(service, 'accepted', { count: EVENTS })

    const { receipts, deduplicated } = await simulatorSummary(service.simulatorUrl)
    assert.deepEqual([receipts, deduplicated], [EVENTS, 0])
    const story = await readStory(service)
    assert.deepEqual(brokenPromises(story, { lostWorkers: new Set() }), [])
    const shares = sharesOf(story)
    test.diagnostic(JSON.stringify(shares))
    assert.deepEqual(Object.keys(shares).sort(), names)
  })
}
