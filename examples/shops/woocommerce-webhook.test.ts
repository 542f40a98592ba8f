import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'
import { it } from 'node:test'
import {
  importGuide,
  readPayload,
  SECRET,
  signedRequest,
  startShopService,
} from './webhook-fixture.ts'
import { createWooCommerceWebhook, mapWooCommerceOrder } from './woocommerce-webhook.ts'

const HEADER = 'x-wc-webhook-signature'
const digest = (text: string) => [hash('sha256', text)]

function delivery(payload: object, topic = 'order.updated'): Request {
  const headers = {
    'x-wc-webhook-topic': topic,
    'x-wc-webhook-source': 'https://shop.example/',
    'x-wc-webhook-delivery-id': '36e520ebabc2fa725092ff4a47acedf2',
  }
  return signedRequest(payload, { header: HEADER, headers })
}

const readOrder = (changes: object = {}) => ({
  ...readPayload('woocommerce-order.json'),
  ...changes,
})

it('makes one Purchase of a paid order, however often it is delivered', async test => {
  const { service, options, lines, deliver } = await startShopService(test)
  const webhook = createWooCommerceWebhook(options)
  for (const topic of ['order.created', 'order.updated', 'order.updated']) {
    assert.equal((await webhook(delivery(readOrder(), topic))).status, 200)
  }
  const received = await deliver()
  assert.deepEqual([...received.keys()], ['woocommerce-order-4750'])
  const purchase = received.get('woocommerce-order-4750') ?? {}
  assert.equal(purchase.event_name, 'Purchase')
  assert.equal(purchase.event_time, Date.parse('2026-11-21T11:30:00Z') / 1_000)
  assert.deepEqual(purchase.custom_data, {
    value: 49.8,
    currency: 'EUR',
    order_id: '4750',
    num_items: 3,
    content_ids: ['23', '25'],
    contents: [
      { id: '23', quantity: 2, item_price: 16.78 },
      { id: '25', quantity: 1, item_price: 3.39 },
    ],
  })
  const { fbc, ...person } = purchase.user_data as Record<string, unknown>
  assert.match(String(fbc), /^fb\.1\.\d+\.IwAR2F4-/)
  assert.deepEqual(person, {
    em: digest('ada@example.com'),
    ph: digest('493090182010'),
    fn: digest('ada'),
    ln: digest('lovelace'),
    ct: digest('berlin'),
    zp: digest('10119'),
    country: digest('de'),
    client_ip_address: '81.2.69.142',
    client_user_agent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)',
    fbp: 'fb.1.1795258800000.1098115397',
  })
  const { event } = (await service.read('woocommerce-order-4750')).body
  assert.equal(event.consent.advertising, 'granted')
  assert.equal(event.value_data.value, '49.80')
  assert.deepEqual(lines, [])
})

it('makes a Refund of each refund, below the Purchase', async test => {
  const { service, options, deliver } = await startShopService(test)
  const webhook = createWooCommerceWebhook(options)
  const first = { id: 4751, reason: 'broken', total: '-16.78' }
  await webhook(delivery(readOrder()))
  await webhook(delivery(readOrder({ refunds: [first] })))
  const second = { id: 4752, reason: '', total: '-33.02' }
  const cancelled = { status: 'refunded', refunds: [second, first] }
  await webhook(delivery(readOrder(cancelled)))
  const received = await deliver()
  assert.deepEqual([...received.keys()].sort(), [
    'woocommerce-order-4750',
    'woocommerce-refund-4751',
    'woocommerce-refund-4752',
  ])
  const { lineage } = (await service.read('woocommerce-order-4750')).body
  assert.deepEqual(
    lineage.children.map(({ value_amount }: { value_amount: number }) => value_amount).sort(),
    [-16.78, -33.02],
  )
})

it('sends nothing before an order is paid, or when the customer refused', () => {
  const unpaid = { status: 'on-hold', date_paid: null, date_paid_gmt: null }
  assert.deepEqual(mapWooCommerceOrder(readOrder(unpaid)), [])
  const cancelled = { ...unpaid, status: 'cancelled' }
  assert.deepEqual(mapWooCommerceOrder(readOrder(cancelled)), [])
  const refused = { meta_data: [{ key: '_signalbox_consent', value: 'denied' }] }
  assert.deepEqual(mapWooCommerceOrder(readOrder(refused)), [])
})

it('stores an order that says nothing about consent, without delivering it', async test => {
  const { service, options, deliver } = await startShopService(test)
  const webhook = createWooCommerceWebhook(options)
  assert.equal((await webhook(delivery(readOrder({ meta_data: [] })))).status, 200)
  assert.equal((await deliver()).size, 0)
  const [skipped] = (await service.read('woocommerce-order-4750')).body.deliveries
  assert.equal(skipped.status, 'skipped:consent')
})

it('refuses a body with another signature, and answers the unsigned check of a new webhook', async test => {
  const { service, options } = await startShopService(test)
  const webhook = createWooCommerceWebhook(options)
  const forged = delivery(readOrder())
  forged.headers.set(HEADER, 'AAAA')
  assert.equal((await webhook(forged)).status, 401)
  const changed = delivery(readOrder())
  const body = (await changed.text()).replace('49.80', '4980.0')
  const { headers } = changed
  const request = new Request(changed.url, { method: 'POST', headers, body })
  assert.equal((await webhook(request)).status, 401)
  const check = new Request('https://hooks.shop.example/orders', {
    method: 'POST',
    body: new URLSearchParams({ webhook_id: '3' }),
  })
  assert.equal((await webhook(check)).status, 200)
  const { total } = (await service.request('GET', '/api/v1/dashboard/events')).body.events
  assert.equal(total, 0)
})

it('answers 200 to an order that the service refuses, and 503 when it cannot be reached', async test => {
  const { service, options, lines } = await startShopService(test)
  const webhook = createWooCommerceWebhook(options)
  assert.equal((await webhook(delivery(readOrder({ currency: 'EURO' })))).status, 200)
  assert.deepEqual(lines, ['woocommerce-order-4750 was refused: value_data.currency'])
  await service.server.close()
  assert.equal((await webhook(delivery(readOrder()))).status, 503)
  assert.equal(lines[1], 'woocommerce-order-4750 was not sent: connection.')
})

it('works as the guide shows it', async test => {
  const { service, deliver } = await startShopService(test)
  const environment = {
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: service.url,
    WOOCOMMERCE_WEBHOOK_SECRET: SECRET,
  }
  const webhook = await importGuide(test, { page: 'woocommerce.md', environment })
  assert.equal((await webhook(delivery(readOrder()))).status, 200)
  assert.deepEqual([...(await deliver()).keys()], ['woocommerce-order-4750'])
})

it('does not start without its secret, and takes no request signed with an empty one', async test => {
  const { options, service } = await startShopService(test)
  for (const secret of ['', '  ', undefined]) {
    assert.throws(
      () => createWooCommerceWebhook({ ...options, secret: secret as string }),
      /secret/,
    )
  }
  for (const missing of ['WOOCOMMERCE_WEBHOOK_SECRET', 'SIGNALBOX_TOKEN']) {
    const environment = {
      SIGNALBOX_TOKEN: service.tracker.trackerSecret,
      SIGNALBOX_BASE_URL: service.url,
      WOOCOMMERCE_WEBHOOK_SECRET: SECRET,
      [missing]: ' ',
    }
    const guide = importGuide(test, { page: 'woocommerce.md', environment })
    await assert.rejects(guide, new RegExp(`Set ${missing}`))
  }
  const forged = delivery(readOrder())
  const body = await forged.clone().text()
  forged.headers.set(HEADER, createHmac('sha256', '').update(body).digest('base64'))
  assert.equal((await createWooCommerceWebhook(options)(forged)).status, 401)
})

it('keeps a purchase of many lines, of parts of a piece, and of what is no product', async test => {
  const { service, options, lines, deliver } = await startShopService(test)
  const product = readPayload('woocommerce-order.json').line_items[0]
  const line_items = [
    { ...product, product_id: 0, variation_id: 0, quantity: 1.5, name: 'Gift wrap' },
    ...Array.from({ length: 51 }, (_, at) => ({ ...product, product_id: at + 1 })),
  ]
  const webhook = createWooCommerceWebhook(options)
  assert.equal((await webhook(delivery(readOrder({ line_items })))).status, 200)
  const { custom_data } = (await deliver()).get('woocommerce-order-4750') ?? {}
  const { contents, num_items, value } = custom_data as Record<string, unknown>
  assert.deepEqual([(contents as unknown[]).length, num_items, value], [50, undefined, 49.8])
  const { event } = (await service.read('woocommerce-order-4750')).body
  assert.doesNotMatch(JSON.stringify(event.value_data), /"id":"(0|null|undefined)"/)
  assert.deepEqual(lines, [
    'woocommerce-order-4750: lines without a product are not in contents.',
    'woocommerce-order-4750: only the first 50 lines are in contents.',
    'woocommerce-order-4750: num_items is left out, because a quantity is no whole number.',
  ])
})

it('maps an order with missing and odd members, and invents no ID', () => {
  const lines: string[] = []
  const map = (changes: object) =>
    mapWooCommerceOrder({ ...readPayload('woocommerce-order.json'), ...changes }, undefined, line =>
      lines.push(line),
    )
  for (const id of [null, undefined, 0, '', 'null', {}]) assert.deepEqual(map({ id }), [])
  assert.deepEqual(map({ date_paid_gmt: '' }), [])
  assert.equal(lines.length, 6)
  const odd = { billing: null, line_items: {}, refunds: [null, { id: 1, total: '-1,50' }] }
  const [purchase, ...others] = map({ ...odd, meta_data: null, customer_id: null, number: null })
  assert.deepEqual(others, [])
  assert.equal(purchase?.user_data?.external_id, undefined)
  assert.equal(purchase?.value_data?.order_id, undefined)
  assert.match(lines.join(), /an amount that is no number was not sent/)
})
