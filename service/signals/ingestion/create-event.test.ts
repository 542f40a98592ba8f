import assert from 'node:assert/strict'
import { request } from 'node:http'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

it('returns 202 for a purchase and delivers it once', async test => {
  const service = await startTestService(test)
  const reply = await service.submit(samplePurchase())
  assert.equal(reply.status, 202)
  assert.deepEqual(reply.body, {
    event_id: 'order-1001',
    duplicate: false,
    warnings: [],
    notices: [],
  })
  assert.equal(await service.deliver(), 1)
  const { body } = await service.read('order-1001')
  assert.equal(body.deliveries[0].status, 'accepted')
  assert.equal((await service.received('event_id=order-1001')).count, 1)
})

it('returns Location and Idempotency-Key with 202 and with 200', async test => {
  const service = await startTestService(test)
  for (const [status, body] of [
    [202, { event_id: 'order-1001', duplicate: false, warnings: [], notices: [] }],
    [200, { event_id: 'order-1001', duplicate: true }],
  ] as const) {
    const reply = await service.submit(samplePurchase())
    assert.equal(reply.status, status)
    assert.deepEqual(reply.body, body)
    assert.equal(reply.headers.get('location'), `${service.url}/api/v1/events/order-1001`)
    assert.equal(reply.headers.get('idempotency-key'), 'order-1001')
    assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
  }
})

it('requires only event_name and consent_basis and fills in the defaults', async test => {
  const service = await startTestService(test)
  const reply = await service.submit({ event_name: 'PageView', consent_basis: 'consent' })
  assert.equal(reply.status, 202)
  const { event } = (await service.read(reply.body.event_id)).body
  assert.equal(event.event_time, '2026-11-21T12:00:00.000Z')
  assert.equal(event.created_at, '2026-11-21T12:00:00.000Z')
  assert.equal(event.action_source, 'website')
  for (const name of ['parent_event_id', 'order_id', 'value_amount', 'value_currency']) {
    assert.equal(event[name], null, name)
  }
  assert.equal(event.value_data, null)
  assert.equal(event.event_source, null)
  assert.equal(event.session, null)
  assert.deepEqual(event.user_data_hashed, {})
  assert.deepEqual(event.click_ids, {})
})

it('generates a time-ordered evt_ ID when the request has none', async test => {
  const service = await startTestService(test)
  const { event_id: _, ...withoutId } = samplePurchase()
  const first = await service.submit(withoutId)
  const second = await service.submit(withoutId)
  assert.equal(first.status, 202)
  assert.equal(second.status, 202)
  assert.notEqual(first.body.event_id, second.body.event_id)
  const id = /^evt_([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  const [, high = '', low = ''] = id.exec(first.body.event_id) ?? []
  assert.equal(Number.parseInt(high + low, 16), service.clock.now().getTime())
  assert.equal(first.headers.get('idempotency-key'), first.body.event_id)
})

it('returns every submitted member when the event is read', async test => {
  const service = await startTestService(test)
  const contents = [{ id: 'sku-1', quantity: 2, item_price: 9.5, note: 'größe "M"' }, 'sku-2', null]
  const value_data = { value: '19.95', currency: 'eur', order_id: '1001', contents, num_items: 3 }
  const reply = await service.submit(
    samplePurchase({ action_source: 'email', parent_event_id: 'cart-7', value_data }),
  )
  assert.equal(reply.status, 202)
  const { event } = (await service.read('order-1001')).body
  assert.equal(event.event_name, 'Purchase')
  assert.equal(event.action_source, 'email')
  assert.equal(event.parent_event_id, 'cart-7')
  assert.equal(event.event_source, 'https://shop.example/checkout')
  assert.equal(event.order_id, '1001')
  assert.equal(event.value_currency, 'EUR')
  assert.deepEqual(event.value_data, { ...value_data, currency: 'EUR' })
})

it('ignores unknown members and names them in the explanation', async test => {
  const service = await startTestService(test)
  const unknown = { utm_campaign: 'spring', campaign: { deep: [1] }, '1-odd name': 1 }
  const reply = await service.submit(samplePurchase(unknown))
  assert.equal(reply.status, 202)
  const { body } = await service.read('order-1001')
  assert.match(
    body.deliveries[0].explanation,
    / Ignored unknown members: utm_campaign, campaign, \*\.$/,
  )
})

it('builds Location from the public origin, not from the Host header', async test => {
  const service = await startTestService(test)
  const location = await locationForHost(service, 'evil.example')
  assert.equal(location, `${service.url}/api/v1/events/order-1001`)
})

it('treats empty optional text as absent', async test => {
  const service = await startTestService(test)
  const empty = { parent_event_id: '', action_source: '', visitor_id: '' }
  assert.equal((await service.submit(samplePurchase(empty))).status, 202)
  const { event } = (await service.read('order-1001')).body
  assert.equal(event.parent_event_id, null)
  assert.equal(event.action_source, 'website')
  assert.equal(event.session, null)
})

/** fetch sends a Host of its own. */
function locationForHost(service: TestService, host: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${service.url}/api/v1/events`, {
      method: 'POST',
      headers: {
        host,
        authorization: `Bearer ${service.tracker.trackerSecret}`,
        'content-type': 'application/json',
      },
    })
    outgoing.on('response', answer => {
      answer.resume()
      resolve(answer.headers.location)
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(samplePurchase()))
  })
}
