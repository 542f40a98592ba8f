import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { collectClickIds } from '../../identity/click-ids.ts'
import type { OutboundEvent } from '../platform.ts'
import { readConversionAnswer } from './api-answers.ts'
import { redditPlatform } from './client.ts'
import type { IpAddressForm } from './normalize-identity.ts'
import { redditPayload, toRedditType } from './payload.ts'

const NOW = new Date('2026-11-21T12:00:00Z')

function createReddit(baseUrl = 'http://127.0.0.1:9', ipAddress: IpAddressForm = 'plain') {
  return redditPlatform({ baseUrl, version: 'v3', ipAddress, timeoutMilliseconds: 5_000 })
}
const offline = createReddit()

async function withReddit(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const target = { pixelId: 'a2_abc' }
  const connection = { target, accessToken: 'token-a', testCode: null }
  return { url, platform: createReddit(url), connection }
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the request
function sent(changes: Partial<OutboundEvent>, testCode: string | null = null): any {
  const body = redditPayload([sampleOutboundEvent(changes)], testCode)
  return JSON.parse(JSON.stringify(body)).data.events[0]
}

it('marks test events by an ID beside the events, where the simulator reads it', async test => {
  const { url, platform, connection } = await withReddit(test)
  const answer = await platform.send({ ...connection, testCode: 't2_abc' }, [sampleOutboundEvent()])
  assert.equal(answer.outcome, 'accepted')
  const [received] = await listConversions(url, 'reddit')
  assert.equal(received?.test, true)
  const { data } = redditPayload([sampleOutboundEvent()], 't2_abc')
  assert.deepEqual(Object.keys(data as object).sort(), ['events', 'test_id'])
})

it('has a type for every standard name, and a custom name for all others', () => {
  const types = {
    Purchase: 'PURCHASE',
    AddToCart: 'ADD_TO_CART',
    AddToWishlist: 'ADD_TO_WISHLIST',
    CompleteRegistration: 'SIGN_UP',
    Lead: 'LEAD',
    PageView: 'PAGE_VISIT',
    Search: 'SEARCH',
    ViewContent: 'VIEW_CONTENT',
    SIGN_UP: 'SIGN_UP',
  }
  for (const [platformName, tracking_type] of Object.entries(types)) {
    assert.deepEqual(toRedditType({ eventName: 'any', platformName }), { tracking_type })
  }
  for (const name of ['InitiateCheckout', 'Contact', '__proto__', 'purchase']) {
    assert.deepEqual(toRedditType({ eventName: name, platformName: name }), {
      tracking_type: 'CUSTOM',
      custom_event_name: name,
    })
  }
  const mapped = toRedditType({ eventName: 'Quiz', platformName: 'CUSTOM' })
  assert.deepEqual(mapped, { tracking_type: 'CUSTOM', custom_event_name: 'Quiz' })
})

it('names the place of an event in capitals, and a page only for events on pages', () => {
  for (const [actionSource, expected] of [
    ['website', 'WEBSITE'],
    ['app', 'APP'],
    ['physical_store', 'PHYSICAL_STORE'],
    ['phone_call', 'OTHER'],
    ['__proto__', 'OTHER'],
  ] as const) {
    const event = sent({ actionSource })
    assert.equal(event.action_source, expected)
    assert.equal(event.event_source_url !== undefined, expected === 'WEBSITE')
  }
})

it('sends every digit of an amount as a number, with its currency or not at all', () => {
  for (const [valueAmount, valueCurrency, value] of [
    ['19.90', 'EUR', 19.9],
    ['1200', 'JPY', 1_200],
    ['1.234', 'KWD', 1.234],
    ['0.3000', 'EUR', 0.3],
    ['0', 'USD', 0],
  ] as const) {
    const { metadata } = sent({ valueAmount, valueCurrency })
    assert.deepEqual([metadata.value, metadata.currency], [value, valueCurrency])
  }
  const long = JSON.stringify(
    redditPayload([sampleOutboundEvent({ valueAmount: '999999999999.99' })], null),
  )
  assert.match(long, /"value":999999999999\.99,/)
  assert.equal(sent({ valueCurrency: null }).metadata.value, undefined)
  assert.equal(sent({ valueAmount: null }).metadata.currency, undefined)
})

it('sends value and number of items for the types alone that have them', () => {
  const members = (platformName: string) => {
    const { metadata } = sent({ platformName, numItems: 2 })
    return [metadata.value !== undefined, metadata.item_count !== undefined]
  }
  assert.deepEqual(members('Purchase'), [true, true])
  assert.deepEqual(members('Quiz'), [true, true])
  assert.deepEqual(members('Lead'), [true, false])
  assert.deepEqual(members('CompleteRegistration'), [true, false])
  assert.deepEqual(members('ViewContent'), [false, false])
  assert.deepEqual(members('PageView'), [false, false])
})

it('sends the products of an order in members that Reddit knows', () => {
  const contents = [
    { id: 7, title: 'Lamp', category: 'Home', item_price: '9.950', quantity: '2', color: 'red' },
    { id: 'b', item_price: 1e21, quantity: 1.5 },
  ]
  assert.deepEqual(sent({ contents }).metadata.products, [
    { id: '7', name: 'Lamp', category: 'Home', item_price: 9.95, quantity: 2 },
    { id: 'b' },
  ])
})

it('limits the use of data where anyone restricts it', () => {
  const limited = { modes: ['LDU'], country: 'US' }
  const read = (changes: Partial<OutboundEvent>) => sent(changes).user.data_processing_options
  assert.equal(read({}), undefined)
  assert.equal(read({ dataProcessing: { options: [], country: null, state: null } }), undefined)
  for (const changes of [
    { optOut: true },
    { advertiserTracking: false },
    { adConsent: { userData: true, personalization: false } },
    { dataProcessing: { options: ['LDU'], country: 0, state: 0 } },
  ] as const) {
    assert.deepEqual(read(changes as Partial<OutboundEvent>), limited)
  }
})

it('refuses locally what would cost its batch', () => {
  const refuses = (changes: Partial<OutboundEvent>, text: RegExp) =>
    assert.match(offline.validateEvent(sampleOutboundEvent(changes))?.message ?? '', text)
  refuses({ digests: {} }, /needs an identifier/)
  refuses({ digests: { em: ['short'] } }, /SHA-256/)
  refuses({ eventName: 'Refund' }, /no refunds/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  refuses({ eventId: '' }, /event_id/)
  const plain = { uuid: 'abc' }
  assert.equal(offline.validateEvent(sampleOutboundEvent({ digests: {}, plain })), null)
  const mapped = sampleOutboundEvent({ eventName: 'Refund', platformName: 'RefundedOrder' })
  assert.equal(offline.validateEvent(mapped), null)
})

it('halves a batch of which Reddit says that it processed a part', () => {
  const read = (processed: string, count: number) =>
    readConversionAnswer(
      { status: 200, body: JSON.stringify({ data: { message: processed } }), waitSeconds: 0 },
      count,
    )
  assert.equal(read('Successfully processed 3 conversion events.', 3).outcome, 'accepted')
  assert.equal(read('Done.', 3).outcome, 'accepted')
  const partly = read('Successfully processed 2 conversion events.', 3)
  assert.deepEqual([partly.outcome, partly.events], ['permanent', undefined])
  assert.deepEqual(partly.answer, { events_received: 3, events_processed: 2 })
})

it('keeps the reason of a refusal, with the fields that it names', async test => {
  const { platform, connection, url } = await withReddit(test)
  const body = JSON.stringify({
    error: { code: 400, message: 'bad request', fields: [{ field: 'user.email', message: 'no' }] },
  })
  await scriptPlatformFaults('reddit')(url, [{ times: 1, respond: { status: 400, body } }])
  const { outcome, error } = await platform.send(connection, [sampleOutboundEvent()])
  assert.deepEqual([outcome, error?.code], ['permanent', 400])
  assert.equal(error?.message, 'bad request user.email: no')
})

const digest = (text: string) => [hash('sha256', text)]

function normalize(userData: Record<string, unknown>, ipAddress: IpAddressForm = 'plain') {
  return createReddit('http://127.0.0.1:9', ipAddress).normalizeIdentity({
    userData,
    clickIds: {},
    eventSource: undefined,
    eventTime: NOW,
    observedAt: NOW,
  })
}

/** What callers send, and the text that is hashed; null: nothing is. */
const EMAILS: [given: string, hashed: string | null][] = [
  ['alice@example.com', 'alice@example.com'],
  [' Al.ice$+Apple@Example.Com ', 'alice@example.com'],
  ['jane.roe+shop@gmail.com', 'janeroe@gmail.com'],
  ['jane_roe-1@example.co.uk', 'janeroe1@example.co.uk'],
  ['a+b+c@example.com', 'a@example.com'],
  ['+news@example.com', null],
  ['josé@example.com', null],
  ['..@example.com', null],
  ['no address', null],
]

it('normalizes email addresses as the example of Reddit does, at every domain', () => {
  assert.deepEqual(normalize({ em: 'Al.ice$+Apple@Example.Com' }).digests.em, [
    'ff8d9819fc0e12bf0d24892e45987e249a28dce836a85cad60e28eaaa8c6d976',
  ])
  for (const [given, hashed] of EMAILS) {
    const { digests } = normalize({ em: given })
    assert.deepEqual(digests.em, hashed === null ? undefined : digest(hashed), given)
  }
})

const PHONES: [given: string, country: string | undefined, hashed: string | null][] = [
  ['+1 650 555 1212', undefined, '+16505551212'],
  ['16505551212', undefined, '+16505551212'],
  ['(650) 555-1212', 'US', '+16505551212'],
  ['030 901820', 'DE', '+4930901820'],
  ['+86 138 0013 8000', undefined, '+8613800138000'],
  ['555-1212', undefined, null],
]

it('normalizes phone numbers with +, and keeps the case of your own IDs', () => {
  for (const [given, country, hashed] of PHONES) {
    const { digests } = normalize({ ph: given, ...(country && { country }) })
    assert.deepEqual(digests.ph, hashed === null ? undefined : digest(hashed), given)
  }
  assert.deepEqual(normalize({ external_id: ' Customer-7 ' }).digests, {
    external_id: digest('Customer-7'),
  })
})

it("says why a caller's own digest is not sent", () => {
  const { digests, dropped } = normalize({ em: 'a'.repeat(64), ph: 'b'.repeat(64) })
  assert.deepEqual(digests, {})
  assert.deepEqual(
    dropped.map(({ field }) => field),
    ['user_data.em', 'user_data.ph'],
  )
})

it('sends the address of the network as it is, hashed or not at all', () => {
  const given = { client_ip_address: '93.184.216.34', client_user_agent: 'B/1' }
  const agent = { client_user_agent: 'B/1' }
  assert.deepEqual(normalize(given).plain, given)
  const hashed = normalize(given, 'hashed')
  assert.deepEqual(hashed.plain, agent)
  assert.deepEqual(hashed.digests, { client_ip_address: digest('93.184.216.34') })
  const none = normalize(given, 'none')
  assert.deepEqual([none.plain, none.digests], [agent, {}])
  assert.equal(sent(hashed).user.ip_address, hash('sha256', '93.184.216.34'))
})

it('joins the click of the event, else the one of an earlier visit, and the browser', () => {
  const page = 'https://shop.example/?rdt_cid=0123abc'
  assert.deepEqual(collectClickIds({ event_source: page }).clickIds, { rdt_cid: '0123abc' })
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: NOW })
  assert.deepEqual(join({ rdt_cid: 'a' }, { rdt_cid: 'b' }), { click_id: 'a' })
  assert.deepEqual(join({}, { rdt_uuid: '1700000000000.d9bf-42' }), { uuid: 'd9bf-42' })
  assert.deepEqual(join({ rdt_uuid: 'd9bf-42' }), { uuid: 'd9bf-42' })
  assert.deepEqual(join({ rdt_uuid: 'a.b.c' }), {})
})
