import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import type { EventSubmission } from '@signalbox/sdk'
import fc from 'fast-check'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { type ContainerEvent, mapContainerEvent } from './map-container-event.ts'
import { mapTrackCall, type TrackCall } from './map-track-call.ts'

const digest = (text: string) => [hash('sha256', text)]

/** What the platform receives, without what the simulator notes about it. */
async function deliver(service: TestService, body: EventSubmission) {
  const reply = await service.submit(body)
  assert.equal(reply.status, 202, reply.text)
  assert.deepEqual(reply.body.notices, [])
  await service.deliver()
  const { events } = await service.received(`?event_id=${body.event_id}`)
  assert.equal(events.length, 1, (await service.read(body.event_id as string)).text)
  return events[0] as unknown as Record<string, Record<string, unknown>>
}

const PRODUCTS = [
  { product_id: 'mug-1', sku: 'M1', name: 'Blue mug', price: 9.95, quantity: 2, category: 'Mugs' },
  { product_id: 'spoon-7', price: 0.05, quantity: 1, brand: 'Acme' },
]

const ORDER: TrackCall = {
  type: 'track',
  event: 'Order Completed',
  messageId: 'ajs-1',
  timestamp: '2026-11-21T11:30:00.500Z',
  userId: 'user-7',
  anonymousId: 'anonymous-7',
  properties: {
    order_id: 50_314,
    revenue: 19.95,
    currency: 'usd',
    products: PRODUCTS,
    coupon: 'SPRING',
    shipping: 3,
  },
  context: {
    ip: '81.2.69.142',
    userAgent: 'Mozilla/5.0',
    page: { url: 'https://shop.example/thanks?a=1', referrer: 'https://search.example/' },
  },
}

const TRAITS = {
  email: 'Jane@Example.com',
  phone: '+1 (616) 555-0100',
  firstName: 'Jane',
  lastName: 'Doe',
  gender: 'female',
  birthday: '1990-02-03',
  address: { city: 'Grand Rapids', state: 'mi', postalCode: '49503', country: 'us' },
}

const USER_DATA = {
  em: digest('jane@example.com'),
  ph: digest('16165550100'),
  fn: digest('jane'),
  ln: digest('doe'),
  ge: digest('f'),
  db: digest('19900203'),
  ct: digest('grandrapids'),
  st: digest('mi'),
  zp: digest('49503'),
  country: digest('us'),
  external_id: digest('user-7'),
  client_ip_address: '81.2.69.142',
  client_user_agent: 'Mozilla/5.0',
}

const CUSTOM_DATA = {
  coupon: 'SPRING',
  shipping: 3,
  value: 19.95,
  currency: 'USD',
  order_id: '50314',
  num_items: 3,
  contents: [
    { id: 'mug-1', quantity: 2, item_price: 9.95, title: 'Blue mug', category: 'Mugs' },
    { id: 'spoon-7', quantity: 1, item_price: 0.05, brand: 'Acme' },
  ],
  content_ids: ['mug-1', 'spoon-7'],
}

function assertOrder(received: Record<string, Record<string, unknown>>): void {
  assert.deepEqual([received.event_name, received.event_id], ['Purchase', 'ajs-1'])
  assert.equal(received.event_time, Date.parse('2026-11-21T11:30:00Z') / 1_000)
  assert.deepEqual(received.custom_data, CUSTOM_DATA)
  assert.deepEqual(received.user_data, USER_DATA)
  assert.deepEqual(received.other_members, {
    action_source: 'website',
    event_source_url: 'https://shop.example/thanks?a=1',
    referrer_url: 'https://search.example/',
  })
}

it("delivers a Segment user's order field by field", async test => {
  const service = await startTestService(test)
  const consent = { categoryPreferences: { Advertising: true, Analytics: false } }
  const call = { ...ORDER, context: { ...ORDER.context, consent } }
  const body = mapTrackCall(call, { traits: TRAITS, advertisingCategory: 'Advertising' })
  assertOrder(await deliver(service, body))
})

it("delivers a RudderStack user's order field by field", async test => {
  const service = await startTestService(test)
  const consentManagement = { allowedConsentIds: ['C0001', 'C0004'], deniedConsentIds: ['C0003'] }
  const context = { ...ORDER.context, traits: TRAITS, consentManagement }
  const body = mapTrackCall({ ...ORDER, context }, { advertisingCategory: 'C0004' })
  assertOrder(await deliver(service, body))
})

const CONTAINER_ORDER: ContainerEvent = {
  event_name: 'purchase',
  event_id: 'container-1',
  client_id: '1234.5678',
  user_id: 'user-7',
  ip_override: '81.2.69.142',
  user_agent: 'Mozilla/5.0',
  page_location: 'https://shop.example/thanks?a=1',
  page_referrer: 'https://search.example/',
  user_data: {
    email_address: 'Jane@Example.com',
    phone_number: '+1 (616) 555-0100',
    address: {
      first_name: 'Jane',
      last_name: 'Doe',
      city: 'Grand Rapids',
      region: 'mi',
      postal_code: '49503',
      country: 'us',
    },
  },
  'x-fb-ck-fbp': 'fb.1.1795262400000.1234567890',
  transaction_id: '50314',
  value: 19.95,
  currency: 'USD',
  items: [
    { item_id: 'mug-1', item_name: 'Blue mug', price: 9.95, quantity: 2, item_category: 'Mugs' },
    { item_id: 'spoon-7', price: 0.05, quantity: 1, item_brand: 'Acme' },
  ],
  consent_state: {
    ad_storage: 'granted',
    ad_user_data: 'granted',
    ad_personalization: 'granted',
    analytics_storage: 'granted',
  },
}

it('delivers the order of a server container field by field', async test => {
  const service = await startTestService(test)
  const received = await deliver(service, mapContainerEvent(CONTAINER_ORDER))
  assert.deepEqual([received.event_name, received.event_id], ['Purchase', 'container-1'])
  const { coupon: _coupon, shipping: _shipping, ...customData } = CUSTOM_DATA
  assert.deepEqual(received.custom_data, customData)
  const { ge: _ge, db: _db, ...userData } = USER_DATA
  assert.deepEqual(received.user_data, { ...userData, fbp: 'fb.1.1795262400000.1234567890' })
})

it('refuses the order of a server container whose visitor denied advertising', async test => {
  const service = await startTestService(test)
  const denied = { ...CONTAINER_ORDER.consent_state, ad_user_data: 'denied' }
  const body = mapContainerEvent({ ...CONTAINER_ORDER, consent_state: denied })
  assert.equal((await service.submit(body)).status, 422)
  const { consent_state: _state, ...order } = CONTAINER_ORDER
  for (const refusal of [
    { 'x-ga-gcs': 'G100' },
    { 'x-ga-gcs': 'G111', 'x-ga-gcd': '13r3r3q3r5l1' },
    { 'x-ga-gcs': 'G111', 'x-ga-gcd': '13r3r3r3r5l1', 'x-ga-npa': '1' },
  ]) {
    const reply = await service.submit(mapContainerEvent({ ...order, ...refusal }))
    assert.equal(reply.status, 422, JSON.stringify(refusal))
  }
})

it('reads the states of a GA4 request, of which gcs alone grants nothing', async test => {
  const service = await startTestService(test)
  const { consent_state: _state, ...order } = CONTAINER_ORDER
  const statusOf = async (event_id: string, states: object) => {
    await service.submit(mapContainerEvent({ ...order, event_id, ...states }))
    return (await service.read(event_id)).body.deliveries[0].status
  }
  assert.equal(await statusOf('gcs', { 'x-ga-gcs': 'G111' }), 'skipped:consent')
  const states = { 'x-ga-gcs': 'G111', 'x-ga-gcd': '13r3r3r3r5l1', 'x-ga-npa': '0' }
  assert.equal(await statusOf('gcd', states), 'queued')
})

it('delivers the steps before an order under their standard names', async test => {
  const service = await startTestService(test)
  const steps: [TrackCall['event'] | null, Record<string, unknown>, string, object][] = [
    [null, {}, 'PageView', {}],
    ['Products Searched', { query: 'blue mug' }, 'Search', { search_string: 'blue mug' }],
    [
      'Product Added',
      { product_id: 'mug-1', name: 'Mug', price: 9.95, quantity: 2, currency: 'EUR' },
      'AddToCart',
      { value: 9.95, currency: 'EUR', content_name: 'Mug', content_ids: ['mug-1'], num_items: 2 },
    ],
    ['Signed Up', { plan: 'pro' }, 'CompleteRegistration', { plan: 'pro' }],
    ['Quiz Finished', { score: 7 }, 'Quiz Finished', { score: 7 }],
  ]
  for (const [event, properties, name, expected] of steps) {
    const type = event === null ? 'page' : 'track'
    const call = {
      ...ORDER,
      type,
      messageId: name,
      properties,
      ...(event && { event }),
    } as TrackCall
    const body = mapTrackCall(call, { traits: TRAITS, advertisingCategory: 'Advertising' })
    const received = await deliver(service, body)
    assert.equal(received.event_name, name)
    assert.partialDeepStrictEqual(received.custom_data ?? {}, expected)
  }
})

it('refuses an order of a visitor who denied advertising', async test => {
  const service = await startTestService(test)
  const context = { ...ORDER.context, consentManagement: { deniedConsentIds: ['C0004'] } }
  const body = mapTrackCall({ ...ORDER, context }, { advertisingCategory: 'C0004' })
  const reply = await service.submit(body)
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors), ['consent.advertising'])
  const device = { ...ORDER.context, device: { adTrackingEnabled: false } }
  const limited = mapTrackCall({ ...ORDER, context: device }, { advertisingCategory: 'C0004' })
  assert.equal((await service.submit(limited)).status, 422)
})

it('keeps every amount and every count exact', async test => {
  const service = await startTestService(test)
  const price = fc.integer({ min: 0, max: 999_999_999_999 }).map(cents => cents / 100)
  const products = fc.array(
    fc.record({
      product_id: fc.integer({ min: 1 }).map(String),
      price,
      quantity: fc.integer({ min: 1, max: 999 }),
    }),
    { minLength: 1, maxLength: 10 },
  )
  let count = 0
  await fc.assert(
    fc.asyncProperty(price, products, async (revenue, items) => {
      count += 1
      const properties = { ...ORDER.properties, revenue, products: items }
      const call = { ...ORDER, messageId: `order-${count}`, properties }
      const { custom_data } = await deliver(
        service,
        mapTrackCall(call, { traits: TRAITS, advertisingCategory: 'Advertising' }),
      )
      assert.equal(custom_data?.value, revenue)
      assert.equal(
        custom_data?.num_items,
        items.reduce((sum, { quantity }) => sum + quantity, 0),
      )
      assert.deepEqual(
        ((custom_data?.contents ?? []) as Record<string, unknown>[]).map(item => item.item_price),
        items.map(item => item.price),
      )
      const { event } = (await service.read(`order-${count}`)).body
      assert.equal(event.value_amount, revenue)
    }),
    { numRuns: 30 },
  )
})
