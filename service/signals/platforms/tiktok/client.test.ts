import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleCommerce, sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { collectClickIds } from '../../identity/click-ids.ts'
import type { Connection, OutboundEvent } from '../platform.ts'
import { readTrackAnswer } from './api-answers.ts'
import { tiktokPlatform } from './client.ts'
import { type TiktokTarget, tiktokPayload, toTiktokName } from './payload.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const OPTIONS = { version: 'v1.3', windowDays: 7, timeoutMilliseconds: 5_000 }
const TARGET: TiktokTarget = {
  pixelCode: 'C4A0EXAMPLE1GH2IJKLM',
  offlineEventSetId: '7300000000000000001',
}
const LIMITED = { options: ['LDU'], country: 1, state: 1_000 }
const IN_STORE = { actionSource: 'physical_store', eventSource: null }

const offline = tiktokPlatform({ ...OPTIONS, baseUrl: 'http://127.0.0.1:9' })

async function withTiktok(test: TestContext, target: TiktokTarget = TARGET) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const platform = tiktokPlatform({ ...OPTIONS, baseUrl: url })
  const connection: Connection<TiktokTarget> = { target, accessToken: 'token-a', testCode: null }
  const send = async (changes: Partial<OutboundEvent>[], testCode: string | null = null) =>
    platform.send({ ...connection, testCode }, changes.map(sampleOutboundEvent))
  const list = () => listConversions(url, 'tiktok')
  return { url, send, list }
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the event
function sent(changes: Partial<OutboundEvent>): any {
  const request = { target: TARGET, testCode: null }
  return (tiktokPayload([sampleOutboundEvent(changes)], request).data as unknown[])[0]
}

function refuses(changes: Partial<OutboundEvent>, text: RegExp): void {
  assert.match(offline.validateEvent(sampleOutboundEvent(changes))?.message ?? '', text)
}

it('reads the outcome from the code of the body, also with HTTP 200', async test => {
  const { url, send } = await withTiktok(test)
  for (const [respond, outcome] of [
    [{ status: 200, code: 40_000 }, 'permanent'],
    [{ status: 200, code: 40_001 }, 'config'],
    [{ status: 200, code: 40_007 }, 'config'],
    [{ status: 200, code: 40_100 }, 'throttle'],
    [{ status: 200, code: 40_104 }, 'auth'],
    [{ status: 200, code: 50_000 }, 'unknown'],
    [{ status: 200, code: 61_234 }, 'unknown'],
    [{ status: 500 }, 'unknown'],
  ] as const) {
    await scriptPlatformFaults('tiktok')(url, [{ times: 1, respond }])
    assert.equal((await send([{}])).outcome, outcome, JSON.stringify(respond))
  }
})

it('accepts no code 0 of another kind or with an error status', () => {
  for (const [status, body, outcome] of [
    [200, { code: 0 }, 'accepted'],
    [200, { code: '0' }, 'unknown'],
    [200, { message: 'OK' }, 'unknown'],
    [500, { code: 0 }, 'unknown'],
    [302, { code: 0 }, 'unknown'],
  ] as const) {
    const answer = readTrackAnswer({ status, body: JSON.stringify(body), waitSeconds: 0 }, 2)
    assert.equal(answer.outcome, outcome, JSON.stringify([status, body]))
  }
})

it('halves a request of which a part was taken, and settles an event that is alone', () => {
  const response = { status: 200, body: '{"code":20001,"message":"Partial"}', waitSeconds: 0 }
  const [many, one] = [readTrackAnswer(response, 2), readTrackAnswer(response, 1)]
  assert.deepEqual([many.outcome, many.events], ['permanent', undefined])
  assert.deepEqual([one.outcome, one.answer], ['accepted', { events_received: 1, code: 20_001 }])
})

it('keeps the place that a message names, and never the message', () => {
  const read = (message: unknown) => {
    const body = JSON.stringify({ code: 40_002, message, request_id: '20261121AB' })
    return readTrackAnswer({ status: 200, body, waitSeconds: 0 }, 2)
  }
  const named = read('Batch.1.properties.contents.0.content_id: Not a valid string: jane@x.example')
  const place = 'properties.contents.0.content_id of the event at place 2.'
  assert.equal(named.error?.message, `An event has an invalid parameter. It is ${place}`)
  assert.equal(named.traceId, '20261121AB')
  for (const message of [
    'Batch.0.user.jane: no',
    'jane@x.example is no email',
    'Batch.0.user.email jane',
    7,
    { a: 'jane' },
  ]) {
    const { error, answer } = read(message)
    assert.equal(error?.message, 'An event has an invalid parameter.', String(message))
    assert.ok(!JSON.stringify([error, answer]).includes('jane'))
  }
})

it('sends what happened in no browser to the event set, without browser IDs', async test => {
  const { send, list } = await withTiktok(test)
  const plain = { client_ip_address: '198.51.100.7', ttclid: 'E.C.P.1', ttp: 'browser-1' }
  assert.equal((await send([{ ...IN_STORE, plain }])).outcome, 'accepted')
  assert.equal((await send([{ eventId: 'web', plain }])).outcome, 'accepted')
  const [store, web] = await list()
  assert.deepEqual([store?.account, store?.event.page], [TARGET.offlineEventSetId, undefined])
  assert.deepEqual(store?.event.user, { email: ['e'.repeat(64)] })
  assert.deepEqual([web?.account, web?.event.user.ttclid], [TARGET.pixelCode, 'E.C.P.1'])
  const events = [IN_STORE, {}, IN_STORE].map(changes => sampleOutboundEvent(changes))
  assert.deepEqual(offline.splitBatch?.(events, {} as never), [[events[0], events[2]], [events[1]]])
})

it('sends no offline event without an event set, and makes no request for it', async test => {
  const { send, list } = await withTiktok(test, { ...TARGET, offlineEventSetId: null })
  const answer = await send([IN_STORE, { ...IN_STORE, eventId: 'b' }])
  assert.deepEqual([answer.outcome, answer.httpStatus], ['permanent', null])
  assert.deepEqual(
    answer.events?.map(({ outcome }) => outcome),
    ['permanent', 'permanent'],
  )
  assert.match(answer.error?.message ?? '', /no offline event set/)
  assert.deepEqual(await list(), [])
})

it('settles what the destination cannot send beside what it sends', async test => {
  const { url, send, list } = await withTiktok(test)
  const changes = [{ eventId: 'a' }, { eventId: 'b', eventSource: null }, { eventId: 'c' }]
  const answer = await send(changes)
  assert.deepEqual(
    answer.events?.map(({ outcome, error }) => [outcome, error?.message ?? null]),
    [
      ['accepted', null],
      ['permanent', 'TikTok needs the address of the page: send event_source.'],
      ['accepted', null],
    ],
  )
  assert.deepEqual(
    (await list()).map(({ event_id }) => event_id),
    ['a', 'c'],
  )
  const respond = { status: 200, code: 40_002 }
  await scriptPlatformFaults('tiktok')(url, [{ respond }])
  assert.equal((await send(changes)).events, undefined)
  const pair = await send(changes.slice(0, 2))
  assert.deepEqual(
    pair.events?.map(({ error }) => error?.code),
    [40_002, null],
  )
})

it('limits the use of an event where the person, the device or the law does', async test => {
  const plain = { client_ip_address: '198.51.100.7' }
  assert.equal(sent({ plain }).limited_data_use, undefined)
  assert.equal(sent({ plain, optOut: true }).limited_data_use, true)
  assert.equal(sent({ plain, advertiserTracking: false }).limited_data_use, true)
  assert.equal(sent({ plain, dataProcessing: LIMITED }).limited_data_use, true)
  const unlimited = { options: [], country: null, state: null }
  assert.equal(sent({ plain, dataProcessing: unlimited }).limited_data_use, undefined)
  const { send } = await withTiktok(test)
  const isSent = async (changes: Partial<OutboundEvent>) =>
    (await send([changes])).error?.message ?? null
  assert.equal(await isSent({ plain, dataProcessing: LIMITED }), null)
  assert.match((await isSent({ optOut: true })) ?? '', /needs user_data.client_ip_address/)
  assert.match((await isSent({ ...IN_STORE, optOut: true })) ?? '', /cannot limit the use/)
})

it('sends a test purchase to the pixel, where it counts as no live event', async test => {
  const { send, list } = await withTiktok(test, { ...TARGET, offlineEventSetId: null })
  const purchase = { actionSource: 'system_generated', eventSource: null, optOut: true }
  assert.equal((await send([purchase], 'TEST12345')).outcome, 'accepted')
  const [receipt] = await list()
  assert.deepEqual([receipt?.test, receipt?.account], [true, TARGET.pixelCode])
  assert.equal(receipt?.event.limited_data_use, undefined)
})

const STANDARD = `AddPaymentInfo AddToCart AddToWishlist CompleteRegistration Contact
  CustomizeProduct FindLocation InitiateCheckout Lead Purchase Schedule Search StartTrial
  SubmitApplication Subscribe ViewContent`.split(/\s+/)

it('has a name of TikTok for every event, from the map of the destination first', () => {
  for (const name of STANDARD) assert.equal(toTiktokName(name), name)
  assert.equal(toTiktokName('PageView'), 'Pageview')
  assert.equal(sent({ platformName: 'CompletePayment' }).event, 'CompletePayment')
  for (const name of ['MyEvent', 'constructor', 'a-b_3', 'A'.repeat(50)]) {
    assert.equal(offline.validateEvent(sampleOutboundEvent({ eventName: name })), null)
  }
  for (const name of ['__proto__', '', 'My event', '3D', 'Bestellung ü', 'A'.repeat(51)]) {
    refuses({ eventName: name }, /at most 50/)
  }
  refuses({ ...IN_STORE, eventName: 'MyEvent' }, /standard events only/)
  refuses({ ...IN_STORE, eventName: 'PageView' }, /standard events only/)
  assert.equal(offline.validateEvent(sampleOutboundEvent(IN_STORE)), null)
})

it('refuses locally what would cost its batch', () => {
  refuses({ eventName: 'Refund' }, /no refunds/)
  refuses({ actionSource: 'app' }, /allow list/)
  refuses({ digests: { ph: ['short'] } }, /SHA-256/)
  refuses({ valueAmount: '-0.01' }, /negative/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  const mapped = sampleOutboundEvent({ eventName: 'Refund', platformName: 'Contact' })
  assert.equal(offline.validateEvent(mapped), null)
  assert.equal(offline.validateEvent(sampleOutboundEvent({ digests: {}, plain: {} })), null)
})

it('sends money as numbers with every digit', () => {
  for (const [valueAmount, valueCurrency, text] of [
    ['1200', 'JPY', '1200'],
    ['1.234', 'kwd', '1.234'],
    ['0.300000', 'USD', '0.300000'],
    ['999999999999999.999999', 'EUR', '999999999999999.999999'],
    ['007.50', 'EUR', '7.50'],
  ] as const) {
    const { properties } = sent({ valueAmount, valueCurrency })
    assert.equal(JSON.stringify(properties.value), text)
    assert.equal(properties.currency, valueCurrency.toUpperCase())
  }
  assert.deepEqual(sent({ valueAmount: null, valueCurrency: null }).properties, {})
})

it('sends an order with its items, and properties of the caller that are no objects', () => {
  const commerce = sampleCommerce({
    contentIds: [7],
    contentTypes: ['product_group'],
    searchString: 'lamp',
    predictedLifetimeValue: '250.50',
    customProperties: { color: 'red', query: {}, 'a b': 1, gift: true, tags: ['x'], Price: 'x' },
  })
  const contents = [
    { id: 7, quantity: '2', item_price: '9.95', title: 'Lamp', brand: 'Lux', category: 'Home' },
    { id: 'b', quantity: 1.5, item_price: 1e21, title: ['x'] },
  ]
  const { properties } = sent({ commerce, contents, numItems: 3, orderId: 'order-7' })
  assert.deepEqual(JSON.parse(JSON.stringify(properties)), {
    color: 'red',
    gift: true,
    value: 19.9,
    currency: 'EUR',
    order_id: 'order-7',
    num_items: 3,
    content_type: 'product_group',
    content_ids: ['7'],
    contents: [
      {
        content_id: '7',
        content_type: 'product_group',
        content_name: 'Lamp',
        content_category: 'Home',
        brand: 'Lux',
        price: 9.95,
        quantity: 2,
      },
      { content_id: 'b', content_type: 'product_group' },
    ],
    query: 'lamp',
    search_string: 'lamp',
    predicted_ltv: 250.5,
  })
})

it('parses the ID of a pixel, with or without that of an event set', () => {
  const parse = (config: Record<string, unknown>) => offline.parseTarget(config)
  const pixel_code = 'C4A0'
  assert.deepEqual(parse({ pixel_code }), { pixelCode: pixel_code, offlineEventSetId: null })
  assert.deepEqual(parse({ pixel_code, offline_event_set_id: '' })?.offlineEventSetId, null)
  assert.equal(parse({ pixel_code, offline_event_set_id: '73' })?.offlineEventSetId, '73')
  for (const offline_event_set_id of ['7/3', 73, {}]) {
    assert.equal(parse({ pixel_code, offline_event_set_id }), null)
  }
  assert.equal(parse({ pixel_code: 'a/b' }), null)
})

it('joins the click and the browser of the event, else those of an earlier visit', () => {
  const at = NOW
  const read = (eventSource: string) =>
    offline.normalizeIdentity({
      userData: {},
      ...collectClickIds({ event_source: eventSource }),
      eventTime: at,
      observedAt: at,
    }).clickIds
  assert.deepEqual(read('https://shop.example/?ttclid=E.C.P.CjD-x_1'), { ttclid: 'E.C.P.CjD-x_1' })
  assert.deepEqual(read('https://shop.example/?ttclid=jane%40example.com'), {})
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: at })
  assert.deepEqual(join({ ttclid: 'a' }, { ttclid: 'b', ttp: 'p' }), { ttclid: 'a', ttp: 'p' })
  assert.deepEqual(join({}, {}, { ttclid: 'b' }), { ttclid: 'b' })
  assert.deepEqual(join({}), {})
})

it('has the windows of its setting', () => {
  const wide = tiktokPlatform({ ...OPTIONS, windowDays: 28, baseUrl: 'http://127.0.0.1:9' })
  assert.deepEqual(
    [offline, wide].map(one => one.windowSeconds('website') / 86_400),
    [7, 28],
  )
})
