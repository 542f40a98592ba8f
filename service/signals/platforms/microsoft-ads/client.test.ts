import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleCommerce, sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import type { OutboundEvent } from '../platform.ts'
import { readEventsAnswer } from './api-answers.ts'
import { microsoftAdsPlatform } from './client.ts'
import type { IdentityForms } from './normalize-identity.ts'
import { microsoftPayload, toMicrosoftName } from './payload.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const CLICK = 'cdd4afcccb1c9a4cad9544dd7e5006d5'

function createPlatform(baseUrl = 'http://127.0.0.1:9', forms: Partial<IdentityForms> = {}) {
  const identity = { emailForm: 'plain', phoneForm: 'digits', ...forms } as const
  return microsoftAdsPlatform({ baseUrl, version: 'v1', timeoutMilliseconds: 5_000, ...identity })
}

const offline = createPlatform()

async function withMicrosoft(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const platform = createPlatform(url)
  const connection = { target: { tagId: '97247724' }, accessToken: 'token-a' }
  const send = (changes: Partial<OutboundEvent>[], testCode: string | null = null) =>
    platform.send({ ...connection, testCode }, changes.map(sampleOutboundEvent))
  return { url, send, list: () => listConversions(url, 'microsoft_ads') }
}

function read(status: number, body: unknown, eventCount = 3) {
  return readEventsAnswer({ status, body: JSON.stringify(body), waitSeconds: 0 }, eventCount)
}

it('settles each event by its place, and keeps no value that Microsoft repeats', async test => {
  const { send, list } = await withMicrosoft(test)
  const bad = { eventId: 'b', digests: { em: ['jane@example.com'] } }
  const answer = await send([{ eventId: 'a' }, bad, { eventId: 'c' }])
  assert.deepEqual([answer.outcome, answer.httpStatus, answer.error], ['accepted', 200, null])
  assert.deepEqual(
    answer.events?.map(({ outcome, error }) => [outcome, error?.message ?? null]),
    [
      ['accepted', null],
      ['permanent', 'userData.em (InvalidValue) is not valid.'],
      ['accepted', null],
    ],
  )
  assert.ok(!JSON.stringify(answer).includes('jane'))
  assert.deepEqual(
    (await list()).map(({ event_id }) => event_id),
    ['a', 'c'],
  )
})

it('reads a part that was received, whichever events Microsoft counts', () => {
  const details = [{ index: 1, propertyName: 'eventTime', errorCode: 'Old', isWarning: false }]
  const error = { code: 'ValidationError', details }
  const outcomes = (status: number, body: unknown) =>
    read(status, body).events?.map(({ outcome }) => outcome)
  const partly = ['accepted', 'permanent', 'accepted']
  assert.deepEqual(outcomes(200, { eventsReceived: 2, error }), partly)
  assert.deepEqual(outcomes(200, { eventsReceived: 3, error }), partly)
  assert.deepEqual(outcomes(400, { eventsReceived: 2, error }), partly)
  const uncertain = ['unknown', 'permanent', 'unknown']
  assert.deepEqual(outcomes(200, { eventsReceived: 1, error }), uncertain)
  // Nothing was received: the batch is halved.
  for (const body of [{ error }, { eventsReceived: 0, error }]) {
    const whole = read(400, body)
    assert.deepEqual([whole.outcome, whole.events], ['permanent', undefined])
  }
})

it('takes no answer that it cannot read for an acceptance', () => {
  for (const body of [
    {},
    { eventsReceived: '3' },
    { eventsReceived: 2 },
    { eventsReceived: 3, error: 'none' },
    { eventsReceived: 3, error: { details: [{ index: 3 }] } },
    { eventsReceived: 3, error: { details: [{ index: -1 }] } },
    { eventsReceived: 3, error: { details: ['bad'] } },
  ]) {
    assert.equal(read(200, body).outcome, 'unknown', JSON.stringify(body))
  }
  assert.equal(read(200, { eventsReceived: 3, traceId: 'trace-0001' }).traceId, 'trace-0001')
})

it('keeps warnings by member and code, and accepts their events', () => {
  const detail = { index: 0, errorCode: 'Unusual', isWarning: true, attemptedValue: 'jane' }
  const details = [
    { ...detail, propertyName: 'customData.currency' },
    { ...detail, propertyName: 'jane@example.com', errorMessage: 'jane' },
  ]
  const answer = read(200, { eventsReceived: 3, error: { details } })
  assert.deepEqual([answer.outcome, answer.events], ['accepted', undefined])
  assert.deepEqual(answer.answer?.warnings, [
    'customData.currency (Unusual) is not valid.',
    'An event (Unusual) is not valid.',
  ])
})

it('classes what Microsoft refuses, and trusts no page of a proxy', async test => {
  const { url, send } = await withMicrosoft(test)
  for (const [respond, outcome] of [
    [{ status: 401 }, 'auth'],
    [{ status: 403 }, 'config'],
    [{ status: 404 }, 'config'],
    [{ status: 500 }, 'unknown'],
    [{ status: 503 }, 'retry'],
    [{ status: 401, body: '<html>' }, 'unknown'],
    [{ status: 404, body: '' }, 'unknown'],
  ] as const) {
    await scriptPlatformFaults('microsoft_ads')(url, [{ times: 1, respond }])
    assert.equal((await send([{}])).outcome, outcome, JSON.stringify(respond))
  }
})

it('sends no test event, which would count', async test => {
  const { send, list } = await withMicrosoft(test)
  const answer = await send([{}, {}], 'TEST12345')
  assert.deepEqual([answer.outcome, answer.httpStatus], ['permanent', null])
  assert.match(answer.error?.message ?? '', /no test mode/)
  assert.deepEqual(await list(), [])
})

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the event
function sent(changes: Partial<OutboundEvent>): any {
  return (microsoftPayload([sampleOutboundEvent(changes)]).data as unknown[])[0]
}

it('keeps the name of an event, but for page views', () => {
  for (const name of ['Purchase', 'purchase', 'PRODUCT_PURCHASE', '__proto__']) {
    assert.equal(toMicrosoftName(name), name)
    const { eventType, eventName } = sent({ platformName: name })
    assert.deepEqual([eventType, eventName], ['custom', name])
  }
  const { eventType, eventName } = sent({ eventName: 'PageView' })
  assert.deepEqual([eventType, eventName], ['pageLoad', undefined])
})

it('sends members that Microsoft knows, in its types', () => {
  const event = sent({
    orderId: 'order-7',
    contents: [{ id: 7, quantity: '2', item_price: '9.95', title: 'Lamp', color: 'red' }],
    commerce: sampleCommerce({ customProperties: { color: 'red' } }),
    digests: { em: ['a'.repeat(64), 'b'.repeat(64)], external_id: ['c'.repeat(64)] },
    plain: { msclkid: CLICK, client_ip_address: '198.51.100.7' },
    referrer: 'https://search.example/',
  })
  assert.deepEqual(JSON.parse(JSON.stringify(event)), {
    eventType: 'custom',
    eventName: 'Purchase',
    eventId: 'order-1001',
    eventTime: 1_795_262_340,
    eventSourceUrl: 'https://shop.example/checkout',
    referrerUrl: 'https://search.example/',
    adStorageConsent: 'G',
    userData: {
      em: 'a'.repeat(64),
      externalId: 'c'.repeat(64),
      msclkid: CLICK,
      clientIpAddress: '198.51.100.7',
    },
    customData: {
      value: 19.9,
      currency: 'EUR',
      transactionId: 'order-7',
      itemIds: ['7'],
      items: [{ id: '7', name: 'Lamp', price: 9.95, quantity: 2 }],
    },
  })
})

it('sends money as numbers with every digit', () => {
  for (const [valueAmount, valueCurrency, text] of [
    ['1200', 'JPY', '1200'],
    ['1.234', 'kwd', '1.234'],
    ['0.300000', 'USD', '0.300000'],
    ['999999999999999.999999', 'EUR', '999999999999999.999999'],
  ] as const) {
    const { customData } = sent({ valueAmount, valueCurrency })
    assert.equal(JSON.stringify(customData.value), text)
    assert.equal(customData.currency, valueCurrency.toUpperCase())
  }
  assert.equal(sent({ valueAmount: null, valueCurrency: null }).customData, undefined)
})

it('denies storage where the person, the device or the law restricts it', () => {
  assert.equal(sent({ optOut: true }).adStorageConsent, 'D')
  assert.equal(sent({ advertiserTracking: false }).adStorageConsent, 'D')
  const dataProcessing = { options: ['LDU'], country: 1, state: 1_000 }
  assert.equal(sent({ dataProcessing }).adStorageConsent, 'D')
  assert.equal(sent({ dataProcessing: { ...dataProcessing, options: [] } }).adStorageConsent, 'G')
})

it('refuses locally what Microsoft would refuse', () => {
  const refuses = (changes: Partial<OutboundEvent>, text: RegExp) =>
    assert.match(offline.validateEvent(sampleOutboundEvent(changes))?.message ?? '', text)
  refuses({ eventName: 'Refund' }, /Refunds are not sent/)
  refuses({ eventName: 'PageView', eventSource: null }, /address of the page/)
  refuses({ digests: {} }, /or the click ID msclkid/)
  refuses({ digests: { em: ['short'] } }, /SHA-256/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  const click = sampleOutboundEvent({ digests: {}, plain: { msclkid: CLICK } })
  assert.equal(offline.validateEvent(click), null)
})

const at = { eventTime: NOW, observedAt: NOW, eventSource: undefined, clickIds: {} }

it('hashes email addresses and phones in the form of the settings', () => {
  const digest = (text: string) => [hash('sha256', text)]
  for (const [forms, userData, expected] of [
    [{}, { em: ' Jane.Roe+a@Example.COM ' }, { em: digest('jane.roe+a@example.com') }],
    [{}, { ph: '+86 138 0013 8000' }, { ph: digest('8613800138000') }],
    [{ phoneForm: 'e164' }, { ph: '030 901820', country: 'DE' }, { ph: digest('+4930901820') }],
    [{ phoneForm: 'none' }, { ph: '+1 650 555 1212' }, {}],
    [
      { emailForm: 'without_dots_and_tags' },
      { em: 'Jane.Roe+a.b@Mail.Example.com' },
      { em: digest('janeroe@mail.example.com') },
    ],
    [{ emailForm: 'without_dots_and_tags' }, { em: '+tag@example.com' }, {}],
    [{ emailForm: 'without_dots_and_tags' }, { em: hash('sha256', 'a@b.example') }, {}],
    [{ phoneForm: 'e164' }, { ph: hash('sha256', '16505551212') }, {}],
    [{}, { external_id: 'User-7' }, { external_id: digest('user-7') }],
  ] as const) {
    const platform = createPlatform(undefined, forms)
    assert.deepEqual(platform.normalizeIdentity({ ...at, userData }).digests, expected)
  }
})

it('joins a click ID in the form of Microsoft alone', () => {
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: NOW })
  const uuid = 'cdd4afcc-cb1c-9a4c-ad95-44dd7e5006d5'
  assert.deepEqual(join({ msclkid: CLICK }, { msclkid: uuid }), { msclkid: CLICK })
  assert.deepEqual(join({ msclkid: 'no-click' }, { msclkid: `${uuid}-1` }), { msclkid: uuid })
  for (const text of ['', `${CLICK}0`, `${CLICK}-2`, 'jane@example.com']) {
    assert.deepEqual(join({ msclkid: text }), {})
  }
})
