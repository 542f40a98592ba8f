import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { dumpAsText, findEmailTraces } from '../../../testing/fixtures/database-dump.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { expireOldEvents } from './expire-events.ts'
import { expirePayloads } from './expire-payloads.ts'

const EMAIL = 'jane@example.com'
const DIGEST = hash('sha256', EMAIL)

/** A service with partitions for the next three days. */
async function service(test: Parameters<typeof startTestService>[0]): Promise<TestService> {
  const started = await startTestService(test)
  await ensurePartitions(started.database, started.clock.now(), 3)
  return started
}

function expire({ database, clock }: TestService, payloadDays = 90) {
  return expirePayloads({ database, now: clock.now(), payloadDays })
}

it('returns 200 for an event with an expired payload, without identity', async test => {
  const shop = await service(test)
  const page = 'https://shop.example/checkout'
  const clicked = { event_source: `${page}?fbclid=AbC123#top`, click_ids: { gclid: 'gclid-1' } }
  await shop.submit(samplePurchase(clicked))
  await shop.deliver()
  const before = (await shop.read('order-1001')).body
  assert.equal(before.event.payload_expired, false)
  assert.equal(before.event.event_source, clicked.event_source)
  assert.ok(before.event.session)

  shop.clock.advance(91 * DAY_SECONDS)
  assert.deepEqual(await expire(shop), { partitions: 1, rows: 1, more: false, isLocked: false })
  const { event, deliveries } = (await shop.read('order-1001')).body
  const gone = { payload_expired: true, user_data_hashed: {}, click_ids: {}, session: null }
  assert.deepEqual(event, { ...before.event, ...gone, event_source: page })
  assert.deepEqual(deliveries, before.deliveries)
  const stored = await dumpAsText(shop.database)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, stored), [])
  for (const trace of ['visitor-1', 'Mozilla', 'gclid-1', 'AbC123']) {
    assert.ok(!stored.includes(trace), trace)
  }
})

it('replays deliveries that have a payload and counts those without one', async test => {
  const shop = await service(test)
  await scriptFaults(shop.simulatorUrl, [
    { respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await shop.submit(samplePurchase({ event_id: 'early' }))
  shop.clock.advance(DAY_SECONDS)
  await shop.submit(samplePurchase({ event_id: 'late' }))
  await shop.deliver()
  shop.clock.advance(DAY_SECONDS)
  assert.equal((await expire(shop, 1)).partitions, 1)
  const { body } = await shop.request('POST', '/api/v1/deliveries/replay')
  assert.deepEqual(body, { queued: 1, expired: 0, payload_expired: 1, capped: false })
})

it('does not send a queued delivery whose payload expired, and explains why', async test => {
  const shop = await service(test)
  await shop.submit(samplePurchase())
  shop.clock.advance(DAY_SECONDS)
  await expire(shop, 0)
  await shop.deliver()
  const [delivery] = (await shop.read('order-1001')).body.deliveries
  assert.equal(delivery.status, 'failed:permanent')
  assert.match(delivery.explanation, /identity payload of the event has expired/)
  assert.equal((await shop.received()).count, 0)
})

it('erases a person who has expired payloads', async test => {
  const shop = await service(test)
  await shop.submit(samplePurchase({ event_id: 'early' }))
  shop.clock.advance(DAY_SECONDS)
  await shop.submit(samplePurchase({ event_id: 'late' }))
  await expire(shop, 0)
  const body = { identifier_hash: DIGEST }
  const { status, body: receipt } = await shop.request('DELETE', '/api/v1/user-data', { body })
  assert.equal(status, 200)
  assert.equal(receipt.events_updated, 1)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, await dumpAsText(shop.database)), [])

  await shop.submit(samplePurchase({ event_id: 'again' }))
  assert.equal((await shop.read('again')).body.event.payload_expired, true)
  shop.clock.advance(91 * DAY_SECONDS)
  await expire(shop)
  await shop.submit(samplePurchase({ event_id: 'much-later' }))
  assert.equal((await shop.read('much-later')).body.event.payload_expired, true)
})

it('returns 404 for an expired event, keeps its child, and accepts its ID again', async test => {
  const shop = await service(test)
  await shop.submit(samplePurchase())
  shop.clock.advance(7 * DAY_SECONDS)
  const refund = { event_id: 'refund', event_name: 'Refund', parent_event_id: 'order-1001' }
  await shop.submit(samplePurchase(refund))
  shop.clock.advance(757 * DAY_SECONDS)
  const { database, clock } = shop
  const { weeks } = await expireOldEvents({ database, now: clock.now(), ledgerMonths: 25 })
  assert.equal(weeks, 1)
  assert.equal((await shop.read('order-1001')).status, 404)
  const { body } = await shop.read('refund')
  assert.deepEqual([body.lineage.parent, body.event.parent_event_id], [null, 'order-1001'])
  assert.equal((await shop.submit(samplePurchase())).status, 202)
})
