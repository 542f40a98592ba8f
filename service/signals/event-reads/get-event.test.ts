import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

/** All members of an event, null or not. */
const EVENT_MEMBERS = [
  ...['id', 'workspace_id', 'signal_tracker_id', 'parent_event_id', 'event_name', 'event_time'],
  ...['action_source', 'event_class', 'order_id', 'value_amount', 'value_currency', 'created_at'],
  ...['consent_basis', 'measurement_class', 'attribution_join', 'enforcement_scope'],
  ...['consent_normalization_version', 'consent', 'user_data_hashed', 'click_ids', 'session'],
  ...['value_data', 'event_source', 'payload_expired'],
].sort()
const DELIVERY_MEMBERS = [
  ...['id', 'workspace_id', 'signal_tracker_id', 'event_id', 'destination_id', 'status'],
  ...['is_test', 'attempt_count', 'last_error', 'platform_response', 'platform_trace_id'],
  ...['next_attempt_at', 'created_at', 'updated_at'],
].sort()

it('returns exactly the documented members, before and after delivery', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.submit({ event_id: 'bare', event_name: 'Lead', consent_basis: 'consent' })
  const children = { parent_event_id: 'order-1001', event_name: 'Refund' }
  await service.submit(samplePurchase({ event_id: 'refund', ...children }))
  for (const moment of ['queued', 'delivered']) {
    for (const id of ['order-1001', 'bare', 'refund']) {
      const { body, headers } = await service.read(id)
      const members = ['deliveries', 'event', 'lineage', 'order']
      assert.deepEqual(Object.keys(body).sort(), members, moment)
      const ofEvent = [...EVENT_MEMBERS, 'deliveries'].sort()
      assert.deepEqual(Object.keys(body.event).sort(), ofEvent)
      assert.deepEqual(Object.keys(body.lineage).sort(), ['children', 'parent'])
      for (const relative of [body.lineage.parent, ...body.lineage.children]) {
        if (relative) assert.deepEqual(Object.keys(relative).sort(), EVENT_MEMBERS)
      }
      assert.equal(body.deliveries.length, 1)
      const { explanation, platform, ...delivery } = body.deliveries[0]
      assert.equal(platform, 'meta')
      assert.deepEqual(Object.keys(delivery).sort(), DELIVERY_MEMBERS)
      assert.match(explanation, /^[A-Z].+\.$/)
      assert.deepEqual(body.event.deliveries, [delivery])
      assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    }
    await service.deliver()
  }
})

it('returns a purchase with the expected value of each member', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_time: '2026-11-21T11:30:00Z' }))
  const { event } = (await service.read('order-1001')).body
  const { consent, user_data_hashed, deliveries, ...rest } = event
  assert.deepEqual(rest, {
    id: 'order-1001',
    workspace_id: service.tracker.workspaceId,
    signal_tracker_id: String(service.tracker.workspaceId),
    parent_event_id: null,
    event_name: 'Purchase',
    event_time: '2026-11-21T11:30:00.000Z',
    action_source: 'website',
    event_class: 'conversion',
    order_id: '1001',
    value_amount: 19.95,
    value_currency: 'EUR',
    created_at: '2026-11-21T12:00:00.000Z',
    consent_basis: 'consent',
    measurement_class: 'advertising',
    attribution_join: 'allowed',
    enforcement_scope: 'event',
    consent_normalization_version: '10',
    click_ids: {},
    session: {
      visitor_id: 'visitor-1',
      first_seen_at: '2026-11-21T12:00:00.000Z',
      last_seen_at: '2026-11-21T12:00:00.000Z',
      landing_source: 'https://shop.example/checkout',
      click_ids: {},
    },
    value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
    event_source: 'https://shop.example/checkout',
    payload_expired: false,
  })
  assert.equal(consent.ad_user_data, 'granted')
  assert.deepEqual(Object.keys(user_data_hashed), ['em'])
  assert.deepEqual(deliveries, [
    {
      id: 1,
      workspace_id: service.tracker.workspaceId,
      signal_tracker_id: String(service.tracker.workspaceId),
      event_id: 'order-1001',
      destination_id: service.tracker.destinationId,
      status: 'queued',
      is_test: false,
      attempt_count: 0,
      last_error: null,
      platform_response: null,
      platform_trace_id: null,
      next_attempt_at: '2026-11-21T12:00:00.000Z',
      created_at: '2026-11-21T12:00:00.000Z',
      updated_at: null,
    },
  ])
})

it('returns the same 404 for an unknown event and for one of another tracker', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const { trackerSecret: secret } = await service.newTracker()
  const answers = await Promise.all(
    ['order-1001', 'order-1002'].map(id =>
      service.request('GET', `/api/v1/events/${id}`, { secret }),
    ),
  )
  for (const reply of answers) {
    assert.equal(reply.status, 404)
    assert.equal(reply.text, '{"message":"This tracker has no such event."}')
  }
  const [otherTracker, unknown] = answers.map(({ headers }) => {
    const { 'request-id': _, date, ...rest } = Object.fromEntries(headers)
    return rest
  })
  assert.deepEqual(otherTracker, unknown)
})

it('returns 404 for IDs that no event can have', async test => {
  const service = await startTestService(test)
  for (const id of ['%00', 'a%00b', '', '%0A', 'x'.repeat(1_536), '%F0%9F%A7%BE'.repeat(129)]) {
    const reply = await service.request('GET', `/api/v1/events/${id}`)
    assert.equal(reply.status, 404, id)
    assert.deepEqual(reply.body, { message: 'This tracker has no such event.' })
  }
})

it('returns 400 for an ID with invalid percent-encoding', async test => {
  const service = await startTestService(test)
  for (const id of ['%', '%z', '%zz', 'a%2', '%ff', '%ED%A0%80', '%C0%80', '%E4%BD']) {
    const reply = await service.request('GET', `/api/v1/events/${id}`)
    assert.equal(reply.status, 400, id)
    assert.deepEqual(reply.body, { message: 'The path has invalid percent-encoding.' })
  }
})

it('returns 401 without a secret, whether or not the event exists', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  for (const id of ['order-1001', 'unknown', '%00']) {
    const reply = await service.request('GET', `/api/v1/events/${id}`, { secret: null })
    assert.equal(reply.status, 401)
    assert.equal(reply.text, '{"message":"Unauthenticated."}')
  }
})

it('answers HEAD with the headers of GET and no body', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const path = '/api/v1/events/order-1001'
  const get = await service.request('GET', path)
  const head = await service.request('HEAD', path)
  assert.equal(head.status, 200)
  assert.equal(head.text, '')
  assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(get.text)))
  assert.equal((await service.request('HEAD', path, { secret: null })).status, 401)
})

it('returns an event without identity after its payload expired', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ click_ids: { fbclid: 'AbC' } }))
  const before = (await service.read('order-1001')).body.event
  assert.equal(before.payload_expired, false)
  await dropPayloads(service)
  const after = (await service.read('order-1001')).body.event
  assert.deepEqual(after, {
    ...before,
    user_data_hashed: {},
    click_ids: {},
    session: null,
    payload_expired: true,
  })
})

/** Has the same effect on reads as dropping the partition. */
async function dropPayloads({ database }: TestService): Promise<void> {
  await database.pool.query('truncate event_payloads')
}
