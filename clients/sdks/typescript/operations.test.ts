import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import {
  APITimeoutError,
  type EventSubmission,
  InternalServerError,
  NotFoundError,
  Signalbox,
  UnprocessableEntityError,
} from './src/sdk.ts'

const PURCHASE = samplePurchase() as unknown as EventSubmission
const REFUSED = { respond: { status: 400, code: 100, subcode: 2_804_048 } }

async function startClient(test: TestContext) {
  const service = await startTestService(test)
  const baseUrl = `${service.url}/api/v1`
  const retries: string[] = []
  const client = new Signalbox({
    token: service.tracker.trackerSecret,
    baseUrl,
    hooks: { onRetry: ({ operation }) => retries.push(operation) },
  })
  const { destinationId } = service.tracker
  return { service, client, destinationId, retries }
}

it('sends a test purchase in test mode, and none without it', async test => {
  const { service, client, destinationId } = await startClient(test)
  const refused = client.destinations.sendTestPurchase(destinationId)
  await assert.rejects(refused, (error: unknown) => {
    assert.ok(error instanceof UnprocessableEntityError)
    assert.deepEqual(error.errors, {})
    assert.match(error.message, /test mode/i)
    return true
  })

  const on = { enabled: true, test_event_code: 'TEST00007' }
  const { destination, test_mode } = await client.destinations.setTestMode(destinationId, on)
  assert.equal(destination.id, destinationId)
  assert.equal(test_mode, true)

  const order = { value: '2.50', currency: 'EUR', order_id: 'try-1' }
  const sent = await client.destinations.sendTestPurchase(destinationId, order)
  assert.equal(sent.status, 'accepted')
  const { events } = await service.received()
  const [received] = events as unknown as [Record<string, unknown>]
  assert.equal(received.event_id, sent.event_id)
  assert.equal(received.test_event_code, 'TEST00007')
  assert.deepEqual(received.custom_data, { value: 2.5, currency: 'EUR', order_id: 'try-1' })

  const off = await client.destinations.setTestMode(destinationId, { enabled: false })
  assert.equal(off.test_mode, false)
})

it('does not repeat a test purchase that the platform refuses', async test => {
  const { service, client, destinationId, retries } = await startClient(test)
  const on = { enabled: true, test_event_code: 'TEST00007' }
  await client.destinations.setTestMode(destinationId, on)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  await assert.rejects(client.destinations.sendTestPurchase(destinationId), (error: unknown) => {
    assert.ok(error instanceof InternalServerError)
    assert.deepEqual([error.status, error.attempts], [502, 1])
    assert.equal((error.body as { status: string }).status, 'failed:unknown')
    return true
  })
  assert.deepEqual(retries, [])
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).requests, 1)
})

it('throws a NotFoundError for the destination of another tracker', async test => {
  const { service, client } = await startClient(test)
  const { destinationId } = await service.newTracker()
  const off = client.destinations.setTestMode(destinationId, { enabled: false })
  await assert.rejects(off, NotFoundError)
})

it('replays what the platform refused, once', async test => {
  const { service, client } = await startClient(test)
  await scriptFaults(service.simulatorUrl, [REFUSED])
  for (const event_id of ['order-1', 'order-2']) {
    await client.events.create({ ...PURCHASE, event_id })
  }
  await service.deliver()
  const failed = await client.events.waitForDelivery('order-1')
  assert.deepEqual(
    failed.deliveries.map(({ status }) => status),
    ['failed:permanent'],
  )

  await scriptFaults(service.simulatorUrl, [])
  const [delivery] = failed.deliveries
  const one = await client.deliveries.replay({ delivery_ids: [delivery?.id ?? 0] })
  assert.deepEqual({ ...one }, { queued: 1, expired: 0, payload_expired: 0, capped: false })
  const limited = await client.deliveries.replay({ event_name: 'Purchase', limit: 1 })
  assert.equal(limited.queued, 1)
  assert.equal((await client.deliveries.replay()).queued, 0)
  assert.equal(await service.deliver(), 2)
  assert.equal((await service.received()).count, 2)
})

it('says whether the tracker was verified before', async test => {
  const { service, client } = await startClient(test)
  const first = await client.events.verify()
  assert.equal(first.duplicate, false)
  assert.equal(first.lastResponse.status, 202)
  const location = first.lastResponse.headers.get('location')
  assert.equal(location, `${service.url}/api/v1/events/${first.event_id}`)
  const second = await client.events.verify()
  assert.deepEqual([second.duplicate, second.event_id], [true, first.event_id])
  const { event, deliveries } = await client.events.get(first.event_id)
  assert.deepEqual([event.event_class, deliveries], ['verification', []])
})

it('waits until the platform has accepted an event', async test => {
  const { service, client } = await startClient(test)
  const { event_id } = await client.events.create(PURCHASE)
  const waiting = client.events.waitForDelivery(event_id)
  await service.deliver()
  const { deliveries } = await waiting
  assert.deepEqual(
    deliveries.map(({ status, attempt_count }) => [status, attempt_count]),
    [['accepted', 1]],
  )
  assert.match(deliveries[0]?.explanation ?? '', /accepted/)
})

it('throws an APITimeoutError while a delivery is pending, and the reason of a signal', async test => {
  const { client } = await startClient(test)
  const { event_id } = await client.events.create(PURCHASE)
  await assert.rejects(client.events.waitForDelivery(event_id, { timeout: 1 }), APITimeoutError)
  const controller = new AbortController()
  const waiting = client.events.waitForDelivery(event_id, { signal: controller.signal })
  const reason = new Error('The page was left.')
  controller.abort(reason)
  await assert.rejects(waiting, reason)
})
