import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleCommerce, sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { collectClickIds } from '../../identity/click-ids.ts'
import type { OutboundEvent } from '../platform.ts'
import { readConversionAnswer } from './api-answers.ts'
import { pinterestPlatform } from './client.ts'
import { pinterestPayload, toPinterestName } from './payload.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const OFFLINE = { actionSource: 'physical_store' }

async function withPinterest(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const platform = pinterestPlatform({ baseUrl: url, version: 'v5', timeoutMilliseconds: 5_000 })
  const target = { adAccountId: '5497' }
  return { url, platform, connection: { target, accessToken: 'token-a', testCode: null } }
}

const offline = pinterestPlatform({
  baseUrl: 'http://127.0.0.1:9',
  version: 'v5',
  timeoutMilliseconds: 1,
})

function numbered(count: number, changes: Partial<OutboundEvent> = {}): OutboundEvent[] {
  return Array.from({ length: count }, (_, index) =>
    sampleOutboundEvent({ eventId: `event-${index}`, ...changes }),
  )
}

it('settles each event by its own result, also where a 422 has them in its details', async test => {
  const { platform, connection, url } = await withPinterest(test)
  const events = numbered(3)
  events[1] = { ...events[1], digests: { em: ['no-digest'] } } as OutboundEvent
  const { outcome, error, events: settled, httpStatus } = await platform.send(connection, events)
  assert.deepEqual([httpStatus, outcome, error], [422, 'accepted', null])
  assert.deepEqual(
    settled?.map(one => one.outcome),
    ['accepted', 'permanent', 'accepted'],
  )
  assert.equal((await listConversions(url, 'pinterest')).length, 2)
})

it('says what a request without results means for each kind of event', () => {
  const body = JSON.stringify({ code: 0, message: 'Not all events were processed.' })
  const read = (events: OutboundEvent[]) =>
    readConversionAnswer({ status: 422, body, waitSeconds: 0 }, events)
  const halved = read(numbered(2))
  assert.deepEqual([halved.outcome, halved.events], ['permanent', undefined])
  const [store] = numbered(1, OFFLINE) as [OutboundEvent]
  const alone = read([store])
  assert.deepEqual([alone.outcome, alone.events], ['permanent', undefined])
  const mixed = read([...numbered(2), store])
  assert.deepEqual(
    mixed.events?.map(({ outcome }) => outcome),
    ['retry', 'retry', 'unknown'],
  )
})

it('takes no result of another number of events, and no page of a proxy, for an answer', () => {
  const results = JSON.stringify({ code: 0, events: [{ status: 'processed' }] })
  const two = readConversionAnswer({ status: 200, body: results, waitSeconds: 0 }, numbered(2))
  assert.equal(two.outcome, 'unknown')
  const page = readConversionAnswer({ status: 422, body: '<html>', waitSeconds: 0 }, numbered(2))
  assert.equal(page.outcome, 'unknown')
  const strange = JSON.stringify({ events: [{ status: 'queued' }] })
  const one = readConversionAnswer({ status: 200, body: strange, waitSeconds: 0 }, numbered(1))
  assert.equal(one.outcome, 'unknown')
})

it('records nothing in test mode, twenty events at a time', async test => {
  const { platform, connection, url } = await withPinterest(test)
  const testConnection = { ...connection, testCode: 'TEST12345' }
  const parts = platform.splitBatch?.(numbered(23), testConnection) ?? []
  assert.deepEqual(
    parts.map(({ length }) => length),
    [20, 3],
  )
  assert.equal(platform.splitBatch?.(numbered(23), connection).length, 1)
  for (const part of parts) {
    assert.equal((await platform.send(testConnection, part)).outcome, 'accepted')
  }
  const receipts = await listConversions(url, 'pinterest')
  assert.deepEqual([receipts.length, receipts.every(one => one.test)], [23, true])
})

it('tells a closed endpoint from an unexpected error, which may have been processed', async test => {
  const { platform, connection, url } = await withPinterest(test)
  for (const [respond, outcome] of [
    [{ status: 503 }, 'retry'],
    [{ status: 500, code: 12 }, 'unknown'],
    [{ status: 404, code: 1 }, 'config'],
    [{ status: 403 }, 'config'],
    [{ status: 401 }, 'auth'],
  ] as const) {
    await scriptPlatformFaults('pinterest')(url, [{ times: 1, respond }])
    assert.equal((await platform.send(connection, numbered(1))).outcome, outcome)
  }
})

it('keeps the warnings of events that were processed', () => {
  const events = [{ status: 'processed', warning_message: 'currency is not standard' }]
  const body = JSON.stringify({ num_events_received: 1, num_events_processed: 1, events })
  const answer = readConversionAnswer({ status: 200, body, waitSeconds: 0 }, numbered(1))
  assert.equal(answer.outcome, 'accepted')
  assert.deepEqual(answer.answer, { events_received: 1, warnings: ['currency is not standard'] })
})

it('has a name of Pinterest for every event, from the map of the destination first', () => {
  assert.equal(toPinterestName('Purchase'), 'checkout')
  assert.equal(toPinterestName('CompleteRegistration'), 'signup')
  assert.equal(toPinterestName('watch_video'), 'watch_video')
  for (const name of ['MyEvent', '__proto__', 'constructor']) {
    assert.equal(toPinterestName(name), 'custom')
  }
})

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the event
function sent(changes: Partial<OutboundEvent>): any {
  return (pinterestPayload([sampleOutboundEvent(changes)]).data as unknown[])[0]
}

it('tells where an event happened, and which events are not deduplicated', () => {
  const app = { actionSource: 'app' }
  for (const [changes, source] of [
    [{ actionSource: 'website' }, 'web'],
    [{ ...app, appData: { extinfo: ['i2'] } }, 'app_ios'],
    [{ ...app, appData: { extinfo: ['a2'] } }, 'app_android'],
    [{ actionSource: 'physical_store' }, 'offline'],
    [{ actionSource: 'system_generated' }, 'offline'],
  ] as const) {
    assert.equal(sent(changes).action_source, source)
    const event = sampleOutboundEvent(changes)
    assert.equal(offline.isDeduplicated?.(event), source !== 'offline')
    assert.equal(offline.validateEvent(event), null)
  }
  const unknown = offline.validateEvent(sampleOutboundEvent(app))
  assert.match(unknown?.message ?? '', /app_data.extinfo/)
})

it('opts out where the person, the device or the caller restricts tracking', () => {
  assert.equal(sent({}).opt_out, false)
  assert.equal(sent({ optOut: true }).opt_out, true)
  assert.equal(sent({ advertiserTracking: false }).opt_out, true)
  assert.equal(sent({ adConsent: { userData: true, personalization: false } }).opt_out, true)
  const limited = { options: ['LDU'], country: 0, state: 0 }
  assert.equal(sent({ dataProcessing: limited }).custom_data.opt_out_type, 'LDP')
  const unlimited = { options: [], country: null, state: null }
  assert.equal(sent({ dataProcessing: unlimited }).custom_data.opt_out_type, undefined)
})

it('sends members that Pinterest knows, in its types, and no others', () => {
  const commerce = sampleCommerce({
    contentIds: [7],
    customProperties: { color: 'red' },
    predictedLifetimeValue: '0250.5',
  })
  const contents = [{ id: 7, quantity: '2', item_price: 1e21, color: 'red', brand: ['Lux'] }]
  const { custom_data } = sent({ commerce, contents, numItems: 1.5 })
  assert.deepEqual(custom_data, {
    value: '19.90',
    currency: 'EUR',
    content_ids: ['7'],
    contents: [{ id: '7', quantity: 2 }],
    predicted_ltv: '250.5',
  })
})

it('refuses locally what would cost its batch', () => {
  const refuses = (changes: Partial<OutboundEvent>, text: RegExp) =>
    assert.match(offline.validateEvent(sampleOutboundEvent(changes))?.message ?? '', text)
  refuses({ digests: {} }, /needs user_data.em/)
  refuses({ digests: { ph: ['a'.repeat(64)] } }, /needs user_data.em/)
  refuses({ digests: { em: ['short'] } }, /SHA-256/)
  refuses({ eventName: 'Refund' }, /no refunds/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  const plain = { client_ip_address: '198.51.100.7', client_user_agent: 'B/1' }
  assert.equal(offline.validateEvent(sampleOutboundEvent({ digests: {}, plain })), null)
  const mapped = sampleOutboundEvent({ eventName: 'Refund', platformName: 'custom' })
  assert.equal(offline.validateEvent(mapped), null)
})

const digest = (text: string) => [hash('sha256', text)]

it('normalizes by the written rules of Pinterest', () => {
  const at = NOW
  const normalize = (userData: Record<string, unknown>) =>
    offline.normalizeIdentity({
      userData,
      clickIds: {},
      eventSource: undefined,
      eventTime: at,
      observedAt: at,
    }).digests
  assert.deepEqual(normalize({ em: ' Jane@Example.COM ', ph: '+49 (0)30 901820' }), {
    em: digest('jane@example.com'),
    ph: digest('4930901820'),
  })
  assert.deepEqual(normalize({ zp: '94025-1234', st: 'California', country: 'US' }), {
    zp: digest('94025'),
    st: digest('ca'),
    country: digest('us'),
  })
  assert.deepEqual(normalize({ zp: 'K1A 0B1', st: 'Bayern' }), {})
  assert.deepEqual(normalize({ ct: 'San  Francisco!', db: '1990-05-03', ge: 'Female' }), {
    ct: digest('sanfrancisco'),
    db: digest('19900503'),
    ge: digest('f'),
  })
})

it('joins the click of the event, else the one of an earlier visit, and keeps its case', () => {
  const at = NOW
  const read = (eventSource: string, clickIds: Record<string, string> = {}) =>
    offline.normalizeIdentity({
      userData: {},
      ...collectClickIds({ click_ids: clickIds, event_source: eventSource }),
      eventTime: at,
      observedAt: at,
    }).clickIds
  const page = 'https://shop.example/?epik=dj0yJnU9b2'
  assert.deepEqual(read(page), { epik: 'dj0yJnU9b2' })
  assert.deepEqual(read(page, { epik: 'named' }), { epik: 'named' })
  assert.deepEqual(read('https://shop.example/?epik=jane%40example.com'), {})
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: at })
  assert.deepEqual(join({ epik: 'a' }, { epik: 'b' }), { click_id: 'a' })
  assert.deepEqual(join({}, {}, { epik: 'b' }), { click_id: 'b' })
  assert.deepEqual(join({}), {})
})

it('shares 5,000 calls a minute between the destinations of an ad account', () => {
  const target = { adAccountId: '5497' }
  const credential = { kind: 'bearer_token', accessToken: 'a' } as const
  const budget = offline.requestBudget?.({ target, credential })
  assert.deepEqual([budget?.key, budget?.perMinute], ['pinterest:5497', 5_000])
})
