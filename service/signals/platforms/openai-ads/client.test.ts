import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleCommerce, sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions } from '../../../../testing/fixtures/simulator.ts'
import type { OutboundEvent } from '../platform.ts'
import { openaiAdsPlatform, readEventsAnswer } from './client.ts'
import { openaiPayload, toOpenaiName } from './payload.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const PIXEL = '2atj5meVpvtJ5kCtqhG3yX'

const create = (baseUrl: string) => openaiAdsPlatform({ baseUrl, timeoutMilliseconds: 5_000 })
const offline = create('http://127.0.0.1:9')

async function withOpenai(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const connection = { target: { pixelId: PIXEL }, accessToken: 'key-a', testCode: null }
  return { url, platform: create(url), connection }
}

function write(changes: Partial<OutboundEvent>): string {
  return JSON.stringify(openaiPayload([sampleOutboundEvent(changes)], { isTest: false }))
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the event
function sent(changes: Partial<OutboundEvent>): any {
  return JSON.parse(write(changes)).events[0]
}

it('has a type, a form of data and a name for every event that OpenAI takes', () => {
  const read = (name: string) => {
    const { type, custom_event_name, data } = sent({ eventName: name })
    return [type, data.type, custom_event_name]
  }
  for (const [name, ...expected] of [
    ['Purchase', 'order_created', 'contents'],
    ['PageView', 'page_viewed', 'contents'],
    ['ViewContent', 'contents_viewed', 'contents'],
    ['AddToCart', 'items_added', 'contents'],
    ['InitiateCheckout', 'checkout_started', 'contents'],
    ['Lead', 'lead_created', 'customer_action'],
    ['Contact', 'lead_created', 'customer_action'],
    ['CompleteRegistration', 'registration_completed', 'customer_action'],
    ['Schedule', 'appointment_scheduled', 'customer_action'],
    ['app_opened', 'app_opened', 'customer_action'],
    ['Subscribe', 'subscription_created', 'plan_enrollment'],
    ['StartTrial', 'trial_started', 'plan_enrollment'],
    ['AddPaymentInfo', 'custom', 'custom', 'AddPaymentInfo'],
    ['constructor', 'custom', 'custom', 'constructor'],
    ['q', 'custom', 'custom', 'q'],
    ['quote-requested_2', 'custom', 'custom', 'quote-requested_2'],
  ] as const) {
    assert.deepEqual(read(name), [expected[0], expected[1], expected[2]], name)
  }
  for (const name of [
    'Refund',
    'custom',
    '',
    '-a',
    'a-',
    'a b',
    'é',
    'a'.repeat(65),
    '__proto__',
  ]) {
    assert.equal(toOpenaiName(name), null, name)
    assert.equal(offline.hasNameFor?.(name), false, name)
  }
  assert.equal(toOpenaiName('a'.repeat(64))?.customName?.length, 64)
})

it('sends money as a whole number of the smallest unit of its currency', () => {
  const read = (valueAmount: string, valueCurrency: string) => {
    const [, amount] =
      /"amount":(-?\d+),"currency"/.exec(write({ valueAmount, valueCurrency })) ?? []
    return amount
  }
  for (const [amount, currency, minor] of [
    ['129.99', 'USD', '12999'],
    ['19.9', 'eur', '1990'],
    ['1200', 'JPY', '1200'],
    ['1200.5', 'JPY', '1201'],
    ['7.125', 'KWD', '7125'],
    ['0.3', 'TND', '300'],
    ['1.2345', 'CLF', '12345'],
    ['0.1', 'EUR', '10'],
    ['0.30000000000000004', 'EUR', undefined],
    ['0.005', 'EUR', '1'],
    ['0', 'EUR', '0'],
    ['123456789012345.678', 'KWD', '123456789012345678'],
  ] as const) {
    assert.equal(read(amount, currency), minor, `${amount} ${currency}`)
  }
  assert.equal(sent({ valueCurrency: 'eur' }).data.currency, 'EUR')
  assert.deepEqual(sent({ valueCurrency: null }).data, { type: 'contents' })
  assert.deepEqual(sent({ valueAmount: null }).data, { type: 'contents' })
})

it('sends items and plans where the form of the data has them, and nothing else', () => {
  const contents = [
    { id: 7, quantity: '2', item_price: '9.95', title: 'Lamp', brand: 'Lux', color: 'red' },
    { id: 'b', quantity: 1.5, price: 0.1 + 0.2 },
  ]
  const customProperties = { plan_id: 'plan-1', color: 'red' }
  const commerce = sampleCommerce({ contentTypes: ['product'], customProperties })
  const read = (eventName: string) => sent({ eventName, contents, commerce }).data
  const items = [
    {
      id: '7',
      name: 'Lamp',
      content_type: 'product',
      quantity: 2,
      amount: 995,
      currency: 'EUR',
    },
    { id: 'b', content_type: 'product' },
  ]
  const money = { amount: 1_990, currency: 'EUR' }
  assert.deepEqual(read('Purchase'), { type: 'contents', ...money, contents: items })
  assert.deepEqual(read('Lead'), { type: 'customer_action', ...money })
  const plan = { plan_id: 'plan-1' }
  assert.deepEqual(read('Subscribe'), {
    type: 'plan_enrollment',
    ...money,
    contents: items,
    ...plan,
  })
  assert.deepEqual(read('Quote'), { type: 'custom', ...money, contents: items, ...plan })
})

it('sends the time in milliseconds, the source, the page and the opt-out', () => {
  const event = sent({})
  assert.equal(event.timestamp_ms, Date.parse('2026-11-21T11:59:00.999Z'))
  assert.deepEqual(
    [event.action_source, event.source_url],
    ['web', 'https://shop.example/checkout'],
  )
  const sources = ['app', 'physical_store', 'phone_call', 'email', 'chat', 'system_generated']
  assert.deepEqual(
    sources.map(actionSource => sent({ actionSource, eventSource: null }).action_source),
    ['mobile_app', 'physical_store', 'phone_call', 'email', 'other', 'other'],
  )
  assert.equal(event.opt_out, undefined)
  const limited = { options: ['LDU'], country: 0, state: 0 }
  for (const changes of [
    { optOut: true },
    { advertiserTracking: false },
    { adConsent: { userData: true, personalization: false } as const },
    { dataProcessing: limited },
  ]) {
    assert.equal(sent(changes).opt_out, true)
  }
})

it('sends three values of each identifier, and the two IDs of OpenAI in their places', () => {
  const digest = (mark: number) => String(mark).repeat(64)
  const digests = { em: [1, 2, 3, 4].map(digest), ph: [digest(5)], external_id: [digest(6)] }
  const plain = {
    oppref: 'Opp-1',
    obref: 'Ob-2',
    client_ip_address: '198.51.100.7',
    client_user_agent: 'B/1',
    fbc: 'fb.1.2.3',
  }
  const { oppref, user } = sent({ digests: { ...digests, zp: [digest(7)] }, plain })
  assert.equal(oppref, 'Opp-1')
  assert.deepEqual(user, {
    emails_sha256: [1, 2, 3].map(digest),
    phone_numbers_sha256: [digest(5)],
    external_ids_sha256: [digest(6)],
    ip_address: '198.51.100.7',
    user_agent: 'B/1',
    obref: 'Ob-2',
  })
  assert.equal(sent({ digests: {}, plain: {} }).user, undefined)
})

it('refuses locally what would cost its batch', () => {
  const refuses = (changes: Partial<OutboundEvent>, text: RegExp) =>
    assert.match(offline.validateEvent(sampleOutboundEvent(changes))?.message ?? '', text)
  refuses({ eventName: 'Refund' }, /no event of this name/)
  refuses({ eventName: 'Quote Requested' }, /no event of this name/)
  refuses({ eventSource: null }, /needs its page/)
  refuses({ eventSource: '/checkout' }, /needs its page/)
  refuses({ digests: { fn: ['raw'] } }, /SHA-256/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  refuses({ valueAmount: '1e3' }, /decimal number/)
  for (const changes of [
    { digests: {}, plain: {} },
    { actionSource: 'physical_store', eventSource: null },
    { eventName: 'Refund', platformName: 'refund_made' },
  ]) {
    assert.equal(offline.validateEvent(sampleOutboundEvent(changes)), null)
  }
})

it('reads the status alone, and shows what the body says', () => {
  const read = (status: number, body = '') => readEventsAnswer({ status, body, waitSeconds: 0 })
  for (const [status, outcome] of [
    ...[200, 202, 204].map(each => [each, 'accepted'] as const),
    [302, 'config'],
    [400, 'permanent'],
    [401, 'auth'],
    [403, 'config'],
    [404, 'config'],
    [408, 'retry'],
    [413, 'permanent'],
    [422, 'permanent'],
    [429, 'throttle'],
    [500, 'retry'],
    [503, 'retry'],
  ] as const) {
    assert.equal(read(status).outcome, outcome, String(status))
  }
  const bodies = ['{"error":{"message":"A"}}', '{"error":"A"}', '{"message":"A"}', '{"detail":"A"}']
  for (const body of bodies) assert.equal(read(400, body).error?.message, 'A')
  for (const body of ['', '<html>', '[]', '{"error":{"message":5}}']) {
    assert.equal(read(400, body).error?.message, 'The platform answered HTTP 400.')
  }
})

it('validates in test mode, and counts nothing', async test => {
  const { platform, connection, url } = await withOpenai(test)
  const events = [sampleOutboundEvent()]
  const answer = await platform.send({ ...connection, testCode: 'TEST12345' }, events)
  assert.equal(answer.outcome, 'accepted')
  const [received] = await listConversions(url, 'openai_ads')
  assert.deepEqual([received?.account, received?.test], [PIXEL, true])
})
