import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary } from '../../../testing/fixtures/simulator.ts'

/** As the operation setDestinationTestMode will leave a destination. */
async function setTestMode(
  { database, tracker }: TestService,
  { code, until }: { code: string | null; until: string | null },
): Promise<void> {
  await database.query
    .updateTable('destinations')
    .set({ test_event_code: code, test_mode_until: until === null ? null : new Date(until) })
    .where('id', '=', tracker.destinationId)
    .execute()
}

/** Makes what waits in the queue test events or live ones, by id. */
async function submitMixed(service: TestService): Promise<void> {
  for (let order = 1; order <= 6; order += 1) {
    await service.submit(samplePurchase({ event_id: `order-${order}` }))
  }
  await service.database.pool.query(
    `update delivery_queue set is_test = true where event_id in ('order-2', 'order-3', 'order-6')`,
  )
}

it('never mixes test events and live events in a request', async test => {
  const service = await startTestService(test)
  await submitMixed(service)
  await setTestMode(service, { code: 'TEST12345', until: '2026-11-22T12:00:00Z' })
  assert.equal(await service.deliver(), 6)
  const { requests, receipts, test_receipts } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([requests, receipts, test_receipts], [2, 3, 3])
  const { events } = await service.received()
  const tested = (events as unknown as { event_id: string; test_event_code: string | null }[])
    .filter(({ test_event_code }) => test_event_code === 'TEST12345')
    .map(({ event_id }) => event_id)
  assert.deepEqual(tested.toSorted(), ['order-2', 'order-3', 'order-6'])
  const { body } = await service.read('order-2')
  assert.match(body.deliveries[0].explanation, /accepted the event as a test event/)
})

it('marks events as test events only while test mode is on', async test => {
  const service = await startTestService(test)
  await setTestMode(service, { code: 'TEST12345', until: '2026-11-21T13:00:00Z' })
  await service.submit(samplePurchase({ event_id: 'during' }))
  const tracker = await service.newTracker()
  const body = samplePurchase({ event_id: 'elsewhere' })
  await service.request('POST', '/api/v1/events', { secret: tracker.trackerSecret, body })
  await service.deliver()
  const during = (await service.read('during')).body.deliveries[0]
  assert.deepEqual([during.is_test, during.status], [true, 'accepted'])
  const { receipts, test_receipts } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, test_receipts], [1, 1])
})

it('never sends a test event as a live one, even without a code', async test => {
  const service = await startTestService(test)
  await submitMixed(service)
  await setTestMode(service, { code: null, until: null })
  assert.equal(await service.deliver(), 6)
  const { receipts, test_receipts } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, test_receipts], [3, 0])
  const { body } = await service.read('order-2')
  assert.deepEqual(
    [body.deliveries[0].status, body.deliveries[0].attempt_count],
    ['failed:permanent', 0],
  )
  assert.match(
    body.deliveries[0].explanation,
    /^Not sent: it is a test event and the destination had no test_event_code/,
  )
})
