import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { deliverPurchase } from '../../../testing/fixtures/deliveries.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

it('delivers every commerce member, money with all its digits', async test => {
  const service = await startTestService(test)
  const value_data = {
    value: '123456789012345.670000',
    currency: 'eur',
    order_id: '1001',
    contents: [{ id: 'a', item_price: '9.950', title: 'Blue mug' }],
    num_items: 1,
    content_type: 'product_group',
    content_ids: ['group-1', 7],
    content_name: 'Checkout',
    content_category: 'Kitchen > Mugs',
    search_string: 'blue mug',
    status: 'registered',
    predicted_ltv: '98765432109876.5000',
    net_revenue: '-0.10',
    delivery_category: 'home_delivery',
    custom_properties: { coupon: 'SPRING', loyal: true, tags: ['a', 'b'], shop: { id: 7 } },
  }
  const { custom_data } = await deliverPurchase(service, { value_data })
  const { custom_properties, ...standard } = value_data
  assert.deepEqual(custom_data, {
    ...custom_properties,
    ...standard,
    currency: 'EUR',
    content_ids: ['group-1', '7'],
    value: 123456789012345.67,
    predicted_ltv: 98765432109876.5,
    net_revenue: -0.1,
  })
  const { event } = (await service.read('order-1')).body
  assert.deepEqual(event.value_data, { ...value_data, currency: 'EUR' })
})

it('takes content ids from the contents, and does not say that they are products', async test => {
  const service = await startTestService(test)
  const value_data = { value: '1', currency: 'EUR', contents: [{ id: 'a' }] }
  const { custom_data } = await deliverPurchase(service, { value_data })
  assert.equal(custom_data?.content_type, undefined)
  assert.deepEqual(custom_data?.content_ids, ['a'])
})

it('delivers the content types of catalogs for travel, vehicles and property', async test => {
  const service = await startTestService(test)
  const types = ['product', 'hotel', 'flight', 'destination', 'vehicle', 'home_listing']
  const given = [...types, types, ['flight', 'hotel'], ['hotel']]
  for (const [index, content_type] of given.entries()) {
    const value_data = { value: '1', currency: 'EUR', content_type, content_ids: ['a'] }
    const { custom_data } = await deliverPurchase(service, { value_data }, `type-${index}`)
    const expected =
      Array.isArray(content_type) && content_type.length === 1 ? 'hotel' : content_type
    assert.deepEqual(custom_data?.content_type, expected)
  }
})

it('reads one content id and the text of a list as a list', async test => {
  const service = await startTestService(test)
  const cases: [unknown, string[]][] = [
    ['sku-1', ['sku-1']],
    [7, ['7']],
    ['["a","b"]', ['a', 'b']],
    ['[1, 2]', ['1', '2']],
    ['[broken', ['[broken']],
    ['[{"id":1}]', ['[{"id":1}]']],
    ['a,b', ['a,b']],
    [
      ['a', 0],
      ['a', '0'],
    ],
  ]
  for (const [content_ids, expected] of cases) {
    const value_data = { value: '1', currency: 'EUR', content_ids }
    const id = `case-${cases.findIndex(one => one[0] === content_ids)}`
    const { custom_data } = await deliverPurchase(service, { value_data }, id)
    assert.deepEqual(custom_data?.content_ids, expected, id)
  }
})

it('drops placeholders among content ids, and names each', async test => {
  const service = await startTestService(test)
  const content_ids = ['a', 'undefined', 'null', '{{id}}', '', 0]
  const value_data = { value: '1', currency: 'EUR', content_ids }
  const { body } = await service.submit(samplePurchase({ event_id: 'order-1', value_data }))
  const fields = body.notices.map((notice: { field: string }) => notice.field)
  assert.deepEqual(
    fields,
    [1, 2, 3, 4].map(place => `value_data.content_ids[${place}]`),
  )
  await service.deliver()
  const received = await service.received('?event_id=order-1')
  const [event] = received.events as Record<string, Record<string, unknown>>[]
  assert.deepEqual(event?.custom_data?.content_ids, ['a', '0'])
})

it('names items that have no id, sends the others, and stores all as they are', async test => {
  const service = await startTestService(test)
  const contents = [
    { id: 'a', quantity: 2 },
    { item_id: 'b', price: '1' },
    { product_id: 7 },
    { id: 'undefined', sku: 'd' },
    { title: 'no id' },
    { id: null },
    { id: { nested: true } },
    { id: 'NaN' },
    'text',
    null,
    ['list'],
  ]
  const value_data = { value: '1', currency: 'EUR', contents }
  const reply = await service.submit(samplePurchase({ event_id: 'order-1', value_data }))
  assert.equal(reply.status, 202, reply.text)
  assert.deepEqual(
    reply.body.notices.map(({ field }: { field: string }) => field),
    [4, 5, 6, 7, 8, 9, 10].map(index => `value_data.contents[${index}]`),
  )
  await service.deliver()
  const { events } = await service.received()
  const { custom_data } = events[0] as { custom_data?: Record<string, unknown> }
  assert.deepEqual(custom_data?.contents, [
    { id: 'a', quantity: 2 },
    { id: 'b', price: '1' },
    { id: 7 },
    { id: 'd' },
  ])
  assert.deepEqual(custom_data?.content_ids, ['a', 'b', '7', 'd'])
  const { event } = (await service.read('order-1')).body
  assert.deepEqual(event.value_data.contents, contents)
})

it('drops the ID of an order that was never filled, and keeps the purchase', async test => {
  const service = await startTestService(test)
  const unfilled = [
    ...['undefined', 'null', 'None', 'NaN', 'N/A', '[object Object]', '(not set)', '{{order.id}}'],
    ...['-', '', ' ', '0'.repeat(64), hash('sha256', 'undefined'), hash('sha256', '')],
  ]
  for (const [index, order_id] of unfilled.entries()) {
    const value_data = { value: '1', currency: 'EUR', order_id }
    const reply = await service.submit(samplePurchase({ event_id: `o-${index}`, value_data }))
    assert.equal(reply.status, 202, order_id)
    assert.deepEqual(
      reply.body.notices.map(({ field }: { field: string }) => field),
      ['value_data.order_id'],
      order_id,
    )
    const { event } = (await service.read(`o-${index}`)).body
    assert.equal(event.order_id, null, order_id)
    assert.equal(event.value_amount, 1)
  }
  for (const order_id of ['0', '-1', 'null-7', hash('sha256', '1001')]) {
    const value_data = { value: '1', currency: 'EUR', order_id }
    const reply = await service.submit(samplePurchase({ event_id: `kept-${order_id}`, value_data }))
    assert.deepEqual(reply.body.notices, [], order_id)
  }
})
