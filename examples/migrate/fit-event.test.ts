import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EventSubmission } from '@signalbox/sdk'
import fc from 'fast-check'
import { Refusal } from '../../service/runtime/http/refusal.ts'
import { validateSubmission } from '../../service/signals/ingestion/validate-submission.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { fitEvent } from './fit-event.ts'
import { toProductId } from './fit-ids.ts'
import { mapContainerEvent } from './map-container-event.ts'
import { mapServerEvent } from './map-server-event.ts'
import { mapTrackCall } from './map-track-call.ts'

const platforms = createOfflinePlatforms()
const PURCHASE = { event_name: 'Purchase', consent_basis: 'consent' }
const MONEY = { value: '19.95', currency: 'EUR' }

/** The fields that the service refuses. */
function refusedFields(event: object): string[] {
  // As it arrives, after JSON.
  const body = JSON.parse(JSON.stringify(event))
  try {
    const receivedAt = new Date('2026-11-21T12:00:00Z')
    validateSubmission(body, { platforms, idempotencyKey: undefined, receivedAt })
    return []
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return Object.keys(error.errors ?? {})
  }
}

const NAMES = [
  ...['order_id', 'contents', 'num_items', 'content_type', 'content_ids', 'content_name'],
  ...['content_category', 'search_string', 'status', 'predicted_ltv', 'net_revenue'],
  ...['delivery_category', 'custom_properties', 'anything'],
]

it('makes an event of any other members one that the service takes', () => {
  const member = fc.oneof(
    fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }),
    fc.string({ unit: 'binary', maxLength: 1_200 }),
    fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 120 }),
    fc.dictionary(fc.constantFrom(...NAMES, 'coupon', '__proto__'), fc.jsonValue({ maxDepth: 4 })),
    fc.constantFrom(Number.NaN, 1.5, 2 ** 53, 'x'.repeat(20_000), new Date(0), null),
    fc.array(fc.constantFrom('x'.repeat(900), 'é'.repeat(900)), { maxLength: 60 }),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...NAMES), member), value => {
      const { event } = fitEvent({ ...PURCHASE, value_data: { ...value, ...MONEY } })
      assert.deepEqual(refusedFields(event), [])
      assert.partialDeepStrictEqual(event.value_data, MONEY)
    }),
  )
})

it('changes nothing of an event that the service takes as it is', () => {
  const value_data = {
    ...MONEY,
    contents: Array.from({ length: 50 }, (_, at) => ({ id: `sku-${at}`, quantity: 1.5 })),
    content_ids: Array(100).fill('x'.repeat(256)),
    content_name: 'n'.repeat(1_000),
    status: 's'.repeat(100),
    num_items: 3,
    custom_properties: { a: { b: { c: 1 } }, ...Object.fromEntries(range(97)) },
  }
  const event = { ...PURCHASE, event_source: 'https://shop.example/?a=1', value_data }
  assert.deepEqual(refusedFields(event), [])
  assert.deepEqual(fitEvent(event), { event, dropped: [] })
})

function range(count: number): [string, number][] {
  return Array.from({ length: count }, (_, at) => [`p${at}`, at])
}

it('writes IDs of products in one line, as the service takes them', () => {
  const value_data = { ...MONEY, content_ids: ['sku\u0001-1', 'a\nb', 7] }
  const { event } = fitEvent({ ...PURCHASE, value_data })
  assert.deepEqual(refusedFields(event), [])
  assert.deepEqual(event.value_data, { ...MONEY, content_ids: ['sku -1', 'a b', 7] })
})

it('leaves what decides the event to the service', () => {
  for (const [wrong, field] of [
    [{ value_data: { value: '19,95', currency: 'EUR' } }, 'value_data.value'],
    [{ value_data: { value: '19.95', currency: 'EURO' } }, 'value_data.currency'],
    [{ event_time: 'yesterday' }, 'event_time'],
    [{ consent: { advertising: 'denied' } }, 'consent.advertising'],
  ] as const) {
    const { event, dropped } = fitEvent({ ...PURCHASE, ...wrong })
    assert.deepEqual([refusedFields(event), dropped], [[field], []])
  }
})

it('names what it cuts and never a value', () => {
  const value_data = {
    num_items: 1.5,
    contents: Array(51).fill({ id: 'a' }),
    content_category: ['Mugs', 'Blue'],
    content_type: 'secret-type',
    status: { code: 'secret' },
    custom_properties: { plan: { limits: { seats: { max: 1 } } }, value: 1 },
  }
  const { event, dropped } = fitEvent({ ...PURCHASE, event_source: '/thanks', value_data })
  assert.deepEqual(
    dropped.map(({ field }) => field),
    [
      'event_source',
      'value_data.num_items',
      'value_data.contents',
      'value_data.content_type',
      'value_data.status',
      'value_data.custom_properties',
    ],
  )
  assert.doesNotMatch(JSON.stringify(dropped), /secret/)
  const { contents, ...kept } = event.value_data as Record<string, unknown>
  assert.equal((contents as unknown[]).length, 50)
  assert.deepEqual(kept, {
    content_category: 'Mugs, Blue',
    custom_properties: { plan: { limits: {} } },
  })
})

it('takes no placeholder for a product', () => {
  for (const id of [null, undefined, '', ' ', 0, 'null', 'undefined', Number.NaN, {}, []]) {
    assert.equal(toProductId(id), undefined)
  }
  assert.equal(toProductId(null, 'undefined', 23), '23')
})

it('keeps the known content types of a list, and says which are left out', () => {
  const fit = (content_type: unknown) => {
    const { event, dropped } = fitEvent({
      value_data: { value: '1', currency: 'EUR', content_type },
    })
    const { value_data } = event as { value_data: Record<string, unknown> }
    return [value_data.content_type, dropped.map(({ reason }) => reason)]
  }
  assert.deepEqual(fit(['hotel', 'sofa']), [['hotel'], ['Unknown types are left out.']])
  assert.deepEqual(fit(['flight']), [['flight'], []])
  assert.deepEqual(fit(['sofa']), [undefined, ['It lists no known type.']])
  assert.deepEqual(fit('vehicle'), ['vehicle', []])
})

const PRODUCTS = Array.from({ length: 51 }, (_, at) => ({ product_id: `sku-${at}`, quantity: 1 }))
const CUSTOM_LINES = [{ product_id: null, quantity: 1.5, name: 'Gift wrap' }, { product_id: 0 }]
const PROPERTIES = {
  coupon: 'SPRING',
  status: 7,
  category: ['Mugs', 'Blue'],
  content_type: 'sofa',
  shipping: { address: { place: { zip: '1' } } },
}

it('never loses a purchase of another tool over its lesser members', async test => {
  const service = await startTestService(test)
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const event_time = Date.parse('2026-11-21T11:30:00Z') / 1_000
  const events: EventSubmission[] = [
    mapTrackCall(
      {
        event: 'Order Completed',
        messageId: 'track',
        timestamp: '2026-11-21T11:30:00Z',
        properties: { ...PROPERTIES, ...MONEY, products: [...PRODUCTS, ...CUSTOM_LINES, null] },
        context: { page: { url: '/thanks' }, traits: { email: 'ada@example.com' } },
      },
      { advertisingCategory: 'ads', log },
    ),
    mapContainerEvent(
      {
        event_name: 'purchase',
        event_id: 'container',
        user_data: { email_address: 'ada@example.com' },
        ...MONEY,
        items: [
          { item_id: 'null', quantity: 1.5 },
          ...PRODUCTS.map(({ product_id: item_id }) => ({ item_id })),
        ],
      },
      { log },
    ),
    mapServerEvent(
      {
        event_name: 'Purchase',
        event_id: 'server',
        event_time,
        action_source: 'website',
        event_source_url: 'thanks',
        user_data: { em: 'ada@example.com' },
        custom_data: { ...PROPERTIES, ...MONEY, num_items: 1.5, contents: PRODUCTS },
      },
      { advertising: 'granted' },
      { log },
    ),
  ]
  for (const event of events) {
    const reply = await service.submit(event)
    assert.equal(reply.status, 202, reply.text)
  }
  await service.deliver()
  for (const id of ['track', 'container', 'server']) {
    const { event, deliveries } = (await service.read(id)).body
    assert.equal(event.value_amount, 19.95, id)
    assert.equal(deliveries[0].status, 'accepted', id)
    assert.doesNotMatch(JSON.stringify(event.value_data), /"id":"?(null|undefined|0)\b/)
    assert.ok(event.value_data.contents.length <= 50)
    assert.ok(lines.some(line => line.startsWith(`${id}: value_data.num_items was cut.`)))
  }
})

it('grants nothing for a call that names other categories only', () => {
  const consentOf = (context: object) => {
    const call = { event: 'x', messageId: '1', timestamp: '2026-11-21T11:30:00Z', context }
    return mapTrackCall(call, { advertisingCategory: 'ads' }).consent
  }
  const preferences = (categoryPreferences: object) => ({ consent: { categoryPreferences } })
  const lists = (allowedConsentIds: string[], deniedConsentIds: string[]) => ({
    consentManagement: { allowedConsentIds, deniedConsentIds },
  })
  assert.deepEqual(consentOf(preferences({ analytics: true })), { advertising: 'unknown' })
  assert.deepEqual(consentOf(preferences({ ads: 'false' })), { advertising: 'unknown' })
  assert.deepEqual(consentOf(lists(['analytics'], [])), { advertising: 'unknown' })
  assert.deepEqual(consentOf({ ...preferences({ ads: true }), ...lists([], ['ads']) }), {
    advertising: 'denied',
  })
  assert.deepEqual(consentOf(preferences({ ads: true })), { advertising: 'granted' })
  assert.equal(consentOf({}), undefined)
  const wrong = { allowedConsentIds: 'uploads', deniedConsentIds: { ads: true } }
  assert.deepEqual(consentOf({ consentManagement: wrong }), { advertising: 'unknown' })
})

it('gives no event and no visitor the ID of others', () => {
  const ids = [null, '', ' ', 0, 'null', 'undefined', 'NaN', '{{id}}', '\u200b', {}, []]
  for (const id of ids) {
    const given = { ...PURCHASE, value_data: MONEY, event_id: id, visitor_id: id }
    const { event, dropped } = fitEvent(given)
    assert.deepEqual(event, { ...PURCHASE, value_data: MONEY })
    const fields = dropped.map(({ field }) => field)
    assert.deepEqual(fields, id === null ? [] : ['event_id', 'visitor_id'], JSON.stringify(id))
  }
  assert.equal(fitEvent({ event_id: 1001 }).event.event_id, '1001')
})

it('keeps a purchase whose lesser members are of another kind', () => {
  const wrong = [Number.NaN, Number.POSITIVE_INFINITY, 5n, () => 1, new Date(Number.NaN), [null], 7]
  for (const value of wrong) {
    const given = { user_data: { em: value }, click_ids: value, referrer_url: value }
    const { event, dropped } = fitEvent({ ...PURCHASE, ...given, value_data: MONEY })
    assert.deepEqual(refusedFields(event), [])
    assert.deepEqual(event.value_data, MONEY)
    const fields = dropped.map(({ field }) => field)
    assert.ok(fields.includes('click_ids') && fields.includes('referrer_url'), String(value))
    const isKept = Array.isArray(value) || value === 7
    assert.equal(fields.includes('user_data'), !isKept, String(value))
  }
})

it('takes no name such as __proto__ for a member', () => {
  const value_data = JSON.parse('{"__proto__": {"value": "1", "currency": "USD"}, "order_id": "a"}')
  const { event } = fitEvent({ ...PURCHASE, value_data })
  assert.deepEqual(Object.keys(event.value_data as object), ['__proto__', 'order_id'])
  const { value_data: sent } = mapServerEvent(
    {
      event_name: 'Purchase',
      event_id: 'a',
      event_time: 1,
      action_source: 'website',
      user_data: {},
      custom_data: JSON.parse('{"__proto__": {"value": "1"}}'),
    },
    {},
  )
  assert.equal(JSON.stringify(sent), '{"custom_properties":{"__proto__":{"value":"1"}}}')
})

it('leaves an amount in another form and a wrong currency for the service to refuse', () => {
  for (const value of ['1.234,56', ['19.95'], true, {}]) {
    const container = { event_name: 'purchase', event_id: 'a', value, currency: 'EUR' }
    assert.deepEqual(refusedFields(mapContainerEvent(container)), ['value_data.value'])
  }
  for (const currency of ['null', '\u0421AD', 'EURO', ['EUR']] as string[]) {
    const container = { event_name: 'purchase', event_id: 'a', value: '1', currency }
    assert.deepEqual(refusedFields(mapContainerEvent(container)), ['value_data.currency'])
  }
})

it('counts no items of a quantity that is no number', () => {
  const countOf = (quantity: unknown) => {
    const container = { event_name: 'purchase', event_id: 'a', items: [{ item_id: 'x', quantity }] }
    return mapContainerEvent(container, { log: () => {} }).value_data?.num_items
  }
  const counts = [null, 2, '3', '', 'two', [3], true, {}].map(countOf)
  assert.deepEqual(counts, [1, 2, 3, ...Array(5).fill(undefined)])
})
