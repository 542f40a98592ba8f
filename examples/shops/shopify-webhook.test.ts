import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'
import { it } from 'node:test'
import { Signalbox } from '@signalbox/sdk'
import { addAmounts, parseWebhook } from './order-webhook.ts'
import { createShopifyWebhook, mapShopifyOrder } from './shopify-webhook.ts'
import {
  importGuide,
  readPayload,
  SECRET,
  signedRequest,
  startShopService,
} from './webhook-fixture.ts'

const HEADER = 'x-shopify-hmac-sha256'
const digest = (text: string) => [hash('sha256', text)]

function delivery(payload: object, topic = 'orders/paid'): Request {
  const headers = {
    'x-shopify-topic': topic,
    'x-shopify-shop-domain': 'acme.myshopify.com',
    'x-shopify-api-version': '2026-10',
    'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
  }
  return signedRequest(payload, { header: HEADER, headers })
}

const readOrder = (changes: object = {}) => ({ ...readPayload('shopify-order.json'), ...changes })

it('makes one Purchase of a paid order, however often it is delivered', async test => {
  const { service, options, lines, deliver } = await startShopService(test)
  const webhook = createShopifyWebhook(options)
  for (const topic of ['orders/paid', 'orders/updated', 'orders/paid']) {
    assert.equal((await webhook(delivery(readOrder(), topic))).status, 200)
  }
  const received = await deliver()
  assert.deepEqual([...received.keys()], ['shopify-order-6200407294252'])
  const purchase = received.get('shopify-order-6200407294252') ?? {}
  assert.equal(purchase.event_time, Date.parse('2026-11-21T11:30:00Z') / 1_000)
  assert.deepEqual(purchase.custom_data, {
    value: 186.9,
    currency: 'USD',
    order_id: '1042',
    num_items: 2,
    content_ids: ['44610569208040'],
    contents: [{ id: '44610569208040', quantity: 2, item_price: 99.5 }],
  })
  const { fbc, ...person } = purchase.user_data as Record<string, unknown>
  assert.match(String(fbc), /^fb\.1\.\d+\.IwAR2F4-/)
  assert.deepEqual(person, {
    em: digest('ada@example.com'),
    ph: digest('16165550100'),
    fn: digest('ada'),
    ln: digest('lovelace'),
    ct: digest('grandrapids'),
    st: digest('mi'),
    zp: digest('49503'),
    country: digest('us'),
    external_id: digest('7110987654321'),
    client_ip_address: '81.2.69.142',
    client_user_agent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)',
    fbp: 'fb.1.1795258800000.1098115397',
  })
  const { event } = (await service.read('shopify-order-6200407294252')).body
  assert.equal(event.value_data.value, '186.90')
  assert.deepEqual(lines, [])
})

it('makes a Refund of what was paid back, below the Purchase', async test => {
  const { service, options, deliver } = await startShopService(test)
  const webhook = createShopifyWebhook(options)
  const restocked = { ...readPayload('shopify-refund.json'), id: 929361463, transactions: [] }
  const refunds = [readPayload('shopify-refund.json'), restocked]
  const order = readOrder({ financial_status: 'partially_refunded', refunds })
  await webhook(delivery(order, 'orders/updated'))
  const received = await deliver()
  assert.deepEqual([...received.keys()].sort(), [
    'shopify-order-6200407294252',
    'shopify-refund-929361462',
  ])
  const { event, lineage } = (await service.read('shopify-refund-929361462')).body
  assert.equal(event.value_data.value, '-99.50')
  assert.equal(event.event_time, '2026-11-21T11:45:00.000Z')
  assert.equal(lineage.parent.id, 'shopify-order-6200407294252')
})

it('sends nothing for an order that is unpaid, canceled before payment, or a test', () => {
  for (const changes of [
    { financial_status: 'pending' },
    { financial_status: 'voided', cancelled_at: '2026-11-21T06:40:00-05:00' },
    { test: true },
    { note_attributes: [{ name: 'signalbox_consent', value: 'denied' }] },
  ]) {
    assert.deepEqual(mapShopifyOrder(readOrder(changes)), [])
  }
})

it('reads a sale in a store and an order without a customer', () => {
  const bare = {
    source_name: 'pos',
    customer: null,
    email: '',
    billing_address: null,
    client_details: null,
    landing_site: null,
    note_attributes: [],
  }
  const [purchase] = mapShopifyOrder(readOrder(bare))
  assert.ok(purchase)
  assert.equal(purchase.action_source, 'physical_store')
  assert.deepEqual(purchase.user_data, {})
  assert.deepEqual(purchase.consent, { advertising: 'unknown', method: 'checkout' })
})

it('erases a customer who asks for it, and says so when it cannot', async test => {
  const { options, service, lines } = await startShopService(test)
  const webhook = createShopifyWebhook(options)
  await webhook(delivery(readOrder()))
  const redaction = {
    shop_id: 954889,
    shop_domain: 'acme.myshopify.com',
    customer: { id: 7110987654321, email: 'ada@example.com', phone: null },
    orders_to_redact: [6200407294252],
  }
  assert.equal((await webhook(delivery(redaction, 'customers/redact'))).status, 200)
  const { event } = (await service.read('shopify-order-6200407294252')).body
  assert.deepEqual([event.payload_expired, event.user_data_hashed], [true, {}])

  const baseUrl = `${service.url}/api/v1`
  const signalbox = new Signalbox({ token: 'sbx_sk_unknown', baseUrl })
  const failing = createShopifyWebhook({ ...options, signalbox })
  assert.equal((await failing(delivery(redaction, 'customers/redact'))).status, 503)
  assert.deepEqual(lines, ['The erasure of customer 7110987654321 failed: authentication.'])
})

it('answers 503, which Shopify repeats, when its token is refused', async test => {
  const { service, options, lines } = await startShopService(test)
  const baseUrl = `${service.url}/api/v1`
  const signalbox = new Signalbox({ token: 'sbx_sk_unknown', baseUrl })
  const webhook = createShopifyWebhook({ ...options, signalbox })
  assert.equal((await webhook(delivery(readOrder()))).status, 503)
  assert.match(lines[0] ?? '', /was not sent: authentication\. Check SIGNALBOX_TOKEN\.$/)
})

it('refuses a forged or huge body, and ignores other topics', async test => {
  const { options } = await startShopService(test)
  const webhook = createShopifyWebhook(options)
  const forged = delivery(readOrder())
  forged.headers.delete(HEADER)
  assert.equal((await webhook(forged)).status, 401)
  const huge = delivery({ note: 'x'.repeat(3_000_000) })
  assert.equal((await webhook(huge)).status, 413)
  assert.equal((await webhook(delivery({ id: 1 }, 'products/update'))).status, 200)
})

it('adds amounts of any currency exactly', () => {
  assert.equal(addAmounts(['79.40', '20.10']), '99.50')
  assert.equal(addAmounts(['0.1', '0.205']), '0.305')
  assert.equal(addAmounts(['100', '-250']), '-150')
  assert.equal(addAmounts([]), '0')
})

it('works as the guide shows it', async test => {
  const { service, deliver } = await startShopService(test)
  const environment = {
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: service.url,
    SHOPIFY_CLIENT_SECRET: SECRET,
  }
  const webhook = await importGuide(test, { page: 'shopify.md', environment })
  assert.equal((await webhook(delivery(readOrder()))).status, 200)
  assert.deepEqual([...(await deliver()).keys()], ['shopify-order-6200407294252'])
})

it('does not start without its secret, and takes no request signed with an empty one', async test => {
  const { options, service } = await startShopService(test)
  for (const secret of ['', '  ', undefined]) {
    assert.throws(() => createShopifyWebhook({ ...options, secret: secret as string }), /secret/)
  }
  for (const missing of ['SHOPIFY_CLIENT_SECRET', 'SIGNALBOX_TOKEN']) {
    const environment = {
      SIGNALBOX_TOKEN: service.tracker.trackerSecret,
      SIGNALBOX_BASE_URL: service.url,
      SHOPIFY_CLIENT_SECRET: SECRET,
      [missing]: ' ',
    }
    const guide = importGuide(test, { page: 'shopify.md', environment })
    await assert.rejects(guide, new RegExp(`Set ${missing}`))
  }
  const customer = { id: 7110987654321, email: 'ada@example.com', phone: null }
  const forged = delivery({ customer }, 'customers/redact')
  const body = await forged.clone().text()
  forged.headers.set(HEADER, createHmac('sha256', '').update(body).digest('base64'))
  assert.equal((await createShopifyWebhook(options)(forged)).status, 401)
})

it('sends a custom line as no product', () => {
  const [line] = readPayload('shopify-order.json').line_items
  const custom = { ...line, product_id: null, variant_id: null, quantity: 1 }
  const noted: string[] = []
  const order = readOrder({ line_items: [custom, line] })
  const [purchase] = mapShopifyOrder(order, undefined, text => noted.push(text))
  assert.deepEqual(purchase?.value_data?.contents, [
    { id: '44610569208040', quantity: 2, item_price: 99.5 },
  ])
  assert.equal(purchase?.value_data?.num_items, 3)
  const id = 'shopify-order-6200407294252'
  assert.deepEqual(noted, [`${id}: lines without a product are not in contents.`])
  for (const id of [null, undefined, 0, '0', '', 'null', 'undefined', Number.NaN, {}]) {
    const nothing = { ...custom, product_id: id, variant_id: id }
    const [bare] = mapShopifyOrder(readOrder({ line_items: [nothing] }), undefined, () => {})
    assert.equal(bare?.value_data?.contents, undefined, String(id))
  }
})

it('answers every body with its signature, and invents no ID and no price', async test => {
  const { options, lines, deliver } = await startShopService(test)
  const webhook = createShopifyWebhook(options)
  for (const body of [[], 'text', 1]) {
    assert.equal((await webhook(delivery(body as object))).status, 400)
  }
  for (const id of [null, 0, '', 'null', 'undefined', '{{id}}', {}]) {
    assert.equal((await webhook(delivery(readOrder({ id })))).status, 200)
  }
  const line = { product_id: 7, variant_id: null, quantity: '2', price: '1.234,56' }
  const odd = {
    line_items: [null, line, { ...line, product_id: 0, quantity: null }],
    note_attributes: [null, ...readOrder().note_attributes],
    refunds: [null, { id: 1, transactions: null }],
    customer: { id: null },
    order_number: null,
  }
  const whole = readOrder().id
  assert.equal((await webhook(delivery(readOrder(odd)))).status, 200)
  const none = { line_items: {}, refunds: null, note_attributes: null, customer: null, id: 11 }
  assert.equal((await webhook(delivery(readOrder(none)))).status, 200)
  const received = await deliver()
  assert.deepEqual([...received.keys()], [`shopify-order-${whole}`])
  const { custom_data, user_data } = received.get(`shopify-order-${whole}`) as {
    custom_data: Record<string, unknown>
    user_data: Record<string, unknown>
  }
  assert.deepEqual(custom_data, {
    value: 186.9,
    currency: 'USD',
    content_ids: ['7'],
    contents: [{ id: '7', quantity: 2 }],
  })
  assert.equal(user_data.external_id, undefined)
  const noted = lines.filter(text => text.startsWith(`shopify-order-${whole}: `))
  assert.match(noted.join(), /num_items is left out.*a price of a line is left out/s)
  assert.equal(lines.filter(text => text === 'An order without an ID was not sent.').length, 7)
})

it('leaves out a refund whose amount cannot be added, and keeps the purchase', () => {
  for (const amount of ['1.234,56', 'null', '', null, 5, 'NaN', {}]) {
    const lines: string[] = []
    const transaction = { kind: 'refund', status: 'success', amount, currency: 'USD' }
    const refunds = [{ id: 1, processed_at: 'x', transactions: [transaction] }]
    const events = mapShopifyOrder(readOrder({ refunds }), 'no address', line => lines.push(line))
    assert.deepEqual(
      events.map(({ event_name, event_source }) => [event_name, event_source]),
      [['Purchase', undefined]],
    )
    assert.match(lines.join(), /a refund without an ID or with an amount that is no number/)
  }
})

it('keeps the digits of a large ID', () => {
  const { id } = parseWebhook<{ id: unknown }>('{"id": 9007199254740993}') ?? {}
  assert.equal(id, '9007199254740993')
})
