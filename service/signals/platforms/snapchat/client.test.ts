import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleCommerce, sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import type { OutboundEvent } from '../platform.ts'
import { readEventsAnswer } from './api-answers.ts'
import { snapchatPlatform } from './client.ts'
import { snapchatPayload, toSnapchatName, type ValueType } from './payload.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const ASSET = '1ec32188-754e-4be2-8e55-c949a984a39f'
const TOKEN = 'eyJhbGciOi.J9+/=x y'

const create = (baseUrl: string) =>
  snapchatPlatform({ baseUrl, valueType: 'number', timeoutMilliseconds: 5_000 })

const offline = create('http://127.0.0.1:9')

async function withSnapchat(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const connection = { target: { assetId: ASSET }, accessToken: TOKEN, testCode: null }
  return { url, platform: create(url), connection }
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the event
function sent(changes: Partial<OutboundEvent>, valueType: ValueType = 'number'): any {
  const body = JSON.stringify(snapchatPayload([sampleOutboundEvent(changes)], valueType))
  return JSON.parse(body).data[0]
}

const read = (body: unknown, status = 200) =>
  readEventsAnswer({ status, body: JSON.stringify(body), waitSeconds: 0 })

it('has a name of Snapchat for every standard event that it knows, and none for the others', () => {
  const names = Object.fromEntries(
    [
      ...['Purchase', 'AddPaymentInfo', 'AddToCart', 'AddToWishlist', 'CompleteRegistration'],
      ...['InitiateCheckout', 'PageView', 'Schedule', 'Search', 'StartTrial', 'Subscribe'],
      ...['ViewContent', 'Lead', 'Contact', 'Refund', 'purchase', 'constructor', 'CUSTOM_EVENT_5'],
    ].map(name => [name, toSnapchatName(name)]),
  )
  assert.deepEqual(names, {
    Purchase: 'PURCHASE',
    AddPaymentInfo: 'ADD_BILLING',
    AddToCart: 'ADD_CART',
    AddToWishlist: 'ADD_TO_WISHLIST',
    CompleteRegistration: 'SIGN_UP',
    InitiateCheckout: 'START_CHECKOUT',
    PageView: 'PAGE_VIEW',
    Schedule: 'RESERVE',
    Search: 'SEARCH',
    StartTrial: 'START_TRIAL',
    Subscribe: 'SUBSCRIBE',
    ViewContent: 'VIEW_CONTENT',
    Lead: null,
    Contact: null,
    Refund: null,
    purchase: null,
    constructor: null,
    CUSTOM_EVENT_5: 'CUSTOM_EVENT_5',
  })
  assert.equal(offline.hasNameFor?.('Lead'), false)
  assert.equal(offline.hasNameFor?.('Purchase'), true)
  assert.equal(sent({ eventName: 'Lead', platformName: 'SIGN_UP' }).event_name, 'SIGN_UP')
})

it('writes value as a number with every digit, or as a text, and numbers of items as texts', () => {
  const body = JSON.stringify(
    snapchatPayload([sampleOutboundEvent({ valueAmount: '123456789012345.678' })], 'number'),
  )
  assert.match(body, /"value":123456789012345\.678}/)
  const values = (amount: string, currency: string) =>
    (['number', 'text'] as const).map(type => {
      const { custom_data } = sent({ valueAmount: amount, valueCurrency: currency }, type)
      return [custom_data.value, custom_data.currency]
    })
  assert.deepEqual(values('1200', 'jpy'), [
    [1_200, 'JPY'],
    ['1200', 'JPY'],
  ])
  assert.deepEqual(values('007.125', 'KWD'), [
    [7.125, 'KWD'],
    ['7.125', 'KWD'],
  ])
  const contents = [
    { id: 7, quantity: '2', item_price: 0.1 + 0.2, color: 'red', brand: 'Lux' },
    { id: 'b', quantity: 3, price: '9.950', brand: ['Lux'] },
  ]
  assert.deepEqual(sent({ contents }).custom_data.contents, [
    { id: '7', quantity: '2', brand: 'Lux' },
    { id: 'b', quantity: '3', item_price: '9.950' },
  ])
})

it('sends the members of an order that Snapchat knows, and no others', () => {
  const commerce = sampleCommerce({
    contentTypes: ['product', 'product_group'],
    contentIds: [7],
    contentName: 'Lamps',
    contentCategory: 'Home',
    searchString: 'lamp',
    deliveryCategory: 'home_delivery',
    status: 'paid',
    predictedLifetimeValue: '0250.5',
    netRevenue: '3',
    customProperties: { color: 'red' },
  })
  assert.deepEqual(sent({ commerce, numItems: 3, orderId: 'o-1' }).custom_data, {
    currency: 'EUR',
    value: 19.9,
    order_id: 'o-1',
    num_items: 3,
    content_ids: ['7'],
    content_category: 'Home',
    content_name: 'Lamps',
    content_type: 'product',
    delivery_category: 'home_delivery',
    predicted_ltv: 250.5,
    search_string: 'lamp',
  })
  assert.equal(
    sent({ eventName: 'PageView', valueAmount: null, valueCurrency: null }).custom_data,
    undefined,
  )
})

it('tells web, app and offline apart, with the app only where there is one', () => {
  assert.equal(sent({}).action_source, 'WEB')
  for (const actionSource of ['physical_store', 'phone_call', 'email', 'other']) {
    assert.equal(sent({ actionSource }).action_source, 'OFFLINE')
  }
  const appData = { extinfo: ['i2', 5], app_id: 'com.shop', url_schemes: 'shop', madid: 'raw' }
  const app = sent({ actionSource: 'app', appData, advertiserTracking: true })
  assert.equal(app.action_source, 'MOBILE_APP')
  assert.deepEqual(app.app_data, {
    advertiser_tracking_enabled: true,
    app_id: 'com.shop',
    extinfo: ['i2', '5'],
  })
  assert.equal(sent({ appData }).app_data, undefined)
})

it('opts out where tracking is restricted, and limits the use where the caller says so', () => {
  assert.deepEqual([sent({}).opt_out, sent({}).data_processing_options], [undefined, undefined])
  assert.equal(sent({ optOut: true }).opt_out, true)
  assert.equal(sent({ advertiserTracking: false }).opt_out, true)
  assert.equal(sent({ adConsent: { userData: true, personalization: false } }).opt_out, true)
  const limited = { options: ['LDU'], country: 0, state: 0 }
  assert.deepEqual(sent({ dataProcessing: limited }).data_processing_options, ['LMU'])
  const unlimited = { options: [], country: null, state: null }
  assert.equal(sent({ dataProcessing: unlimited }).data_processing_options, undefined)
})

it('refuses locally what would cost its batch', () => {
  const refuses = (changes: Partial<OutboundEvent>, text: RegExp) =>
    assert.match(offline.validateEvent(sampleOutboundEvent(changes))?.message ?? '', text)
  refuses({ eventName: 'Lead' }, /no event of this name/)
  refuses({ eventName: 'Refund' }, /no event of this name/)
  refuses({ platformName: 'Lead!' }, /no event of this name/)
  refuses({ valueAmount: null }, /needs a value/)
  refuses({ valueCurrency: null }, /needs a value/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  refuses({ eventSource: null }, /needs its page/)
  refuses({ digests: {} }, /needs user_data.em or ph/)
  refuses({ digests: {}, plain: { sc_click_id: 'abc' } }, /needs user_data.em or ph/)
  refuses({ digests: { ph: ['short'] } }, /SHA-256/)
  refuses({ digests: { em: ['a'.repeat(64)], external_id: ['raw'] } }, /SHA-256/)
  const plain = { client_ip_address: '198.51.100.7', client_user_agent: 'B/1' }
  for (const changes of [
    { digests: { ph: ['a'.repeat(64)] } },
    { digests: {}, plain },
    { actionSource: 'physical_store', eventSource: null },
    { eventName: 'PageView', valueAmount: null, valueCurrency: null },
  ]) {
    assert.equal(offline.validateEvent(sampleOutboundEvent(changes)), null)
  }
})

it('reads a refusal in a 200, its codes and its reason, and no page of a proxy', () => {
  const errors = { codes: ['E12'], error_msgs: ['Insufficient PII'] }
  const refused = read({ status: 'INVALID', reason: 'Bad event', event: 3, errors })
  assert.equal(refused.outcome, 'permanent')
  assert.equal(refused.error?.message, 'Bad event Insufficient PII')
  assert.deepEqual(refused.answer, { status: 'INVALID', codes: ['E12'] })
  const validated = read({ status: 'INVALID', event_logs: [{ event: 0, errors }] }, 400)
  assert.equal(validated.error?.message, 'Insufficient PII')
  for (const [body, status, outcome] of [
    [{ status: 'VALID' }, 200, 'accepted'],
    [{ status: 'VALID' }, 202, 'unknown'],
    [{ status: 'SUCCESS' }, 200, 'unknown'],
    [{ status: 'INVALID' }, 401, 'auth'],
    ['Unauthorized', 401, 'auth'],
    [{ status: 'INVALID' }, 404, 'config'],
    ['Forbidden', 403, 'unknown'],
    [{ status: 'INVALID' }, 408, 'unknown'],
    [{ status: 'INVALID' }, 500, 'unknown'],
    [{ status: 'INVALID' }, 503, 'retry'],
    ['too large', 413, 'permanent'],
  ] as const) {
    assert.equal(read(body, status).outcome, outcome, `${status} ${JSON.stringify(body)}`)
  }
})

it('validates in test mode, counts nothing, and keeps the warnings', async test => {
  const { platform, connection, url } = await withSnapchat(test)
  const events = [sampleOutboundEvent()]
  const answer = await platform.send({ ...connection, testCode: 'TEST12345' }, events)
  assert.equal(answer.outcome, 'accepted')
  const [received, ...others] = await listConversions(url, 'snapchat')
  assert.deepEqual([received?.test, others], [true, []])
  const log = { event: 0, status: 'VALID', warnings: ['num_items is missing', 5] }
  const warned = read({ status: 'VALID', test_event: true, event_logs: [log, log, null] })
  assert.deepEqual(warned.answer, { warnings: ['num_items is missing'] })
})

it('sends any token in the query, and shows it nowhere, also not in the simulator', async test => {
  const { platform, connection, url } = await withSnapchat(test)
  const events = [sampleOutboundEvent()]
  assert.equal((await platform.send(connection, events)).outcome, 'accepted')
  const written = new URLSearchParams({ access_token: TOKEN }).toString().split('=')[1] ?? ''
  const repeated = `No answer from ${url}/v3/${ASSET}/events?access_token=${written} (${TOKEN})`
  await scriptPlatformFaults('snapchat')(url, [
    { times: 1, respond: { status: 400, message: `${repeated}; ${written} is no token` } },
  ])
  const refused = JSON.stringify(await platform.send(connection, events))
  assert.match(refused, /No answer from/)
  for (const path of ['received', 'summary']) {
    const shown = await (await fetch(`${url}/_simulator/snapchat/${path}`)).text()
    for (const form of [TOKEN, written]) assert.ok(!shown.includes(form))
  }
  for (const form of [TOKEN, written]) assert.ok(!refused.includes(form), refused)
  const broken = await platform.send({ ...connection, accessToken: 'a\ud800' }, events)
  assert.equal(broken.outcome, 'config')
})

it('says that there are no reports, and never zero', async () => {
  const credentials = { target: { assetId: ASSET }, accessToken: TOKEN }
  const day = { from: NOW, until: NOW }
  for (const report of [
    await offline.readDayCounts(credentials, day, 'server'),
    await offline.readMatchQuality(credentials),
  ]) {
    assert.ok(report.kind === 'unavailable' && report.cause === 'unsupported')
    assert.match(report.sentence, /Snapchat Events Manager/)
  }
})
