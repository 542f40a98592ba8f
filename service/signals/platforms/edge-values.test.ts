import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { connectSimulated } from '../../../testing/fixtures/two-platforms.ts'
import { createOfflinePlatforms } from './registry.ts'

const DAY_SECONDS = 86_400
const EVENT_NAMES = ['Purchase', 'Lead', 'Refund', 'AddToCart', 'Subscribe']

type Members = Record<string, unknown>

const money = (value: string, currency = 'EUR', more: Members = {}): Members => ({
  value_data: { value, currency, ...more },
})
const items = (...contents: Members[]) => money('5', 'EUR', { contents })

/** Values at the edges of what the API takes, by event ID. */
function listEdges(now: Date): Record<string, Members> {
  const ago = (seconds: number) => ({
    event_time: new Date(now.getTime() - seconds * 1_000).toISOString(),
  })
  return {
    zero: money('0'),
    'zero-digits': money('0.000000'),
    'minus-zero': money('-0'),
    negative: money('-0.01'),
    fils: money('0.001', 'KWD'),
    'beyond-fils': money('0.000001', 'KWD'),
    'half-yen': money('0.5', 'JPY'),
    'four-digits': money('1.2345', 'CLF'),
    ouguiya: money('1.25', 'MRU'),
    largest: money('999999999999999.999999'),
    'no-value': { value_data: { order_id: 'order' } },
    'no-value-data': { value_data: undefined },
    'no-contents': items(),
    'many-of-one': items({ id: 'a', quantity: 2_147_483_648, item_price: '0.01' }),
    none: items({ id: 'a', quantity: 0, item_price: 0 }),
    returned: items({ id: 'a', quantity: -2, item_price: '-3.00' }),
    fraction: items({ id: 'a', quantity: 0.333333333, item_price: 0.1 + 0.2 }),
    comma: items({ id: 'a', quantity: '3', item_price: '1,50' }),
    'long-id': items({ id: 'x'.repeat(2_000), quantity: 1 }),
    'other-scripts': items({ id: '日本\u202eلغة😀', title: '👩‍👩‍👧‍👦'.repeat(40), quantity: 1 }),
    'number-id': items({ id: 7 }),
    'fifty-items': items(...Array.from({ length: 50 }, (_, id) => ({ id, quantity: 1 }))),
    'long-names': money('5', 'EUR', {
      content_name: 'n'.repeat(1_000),
      content_category: 'ü'.repeat(1_000),
      search_string: '😀'.repeat(400),
      order_id: 'Ж№ 12/34 "x" & <b>',
    }),
    'long-page': { event_source: `https://shop.example/${'a'.repeat(1_900)}?q=${'é'.repeat(20)}` },
    'named-page': { event_source: 'https://müller.example/ä?ü=ö#frag' },
    'fast-clock': ago(-4 * 60),
    'a-week': ago(7 * DAY_SECONDS - 61),
    'over-a-week': ago(7 * DAY_SECONDS + 1),
    'in-store': { ...ago(28 * DAY_SECONDS - 120), action_source: 'physical_store' },
    'in-store-earlier': { ...ago(61 * DAY_SECONDS), action_source: 'physical_store' },
    'other-source': { action_source: 'carrier_pigeon' },
    'free-lead': { event_name: 'Lead', ...money('0') },
    lead: { event_name: 'Lead', value_data: undefined },
    subscription: { event_name: 'Subscribe', ...money('0.001', 'TND') },
    'own-name': { event_name: 'Zoé’s Größe 😀' },
    'long-name': { event_name: 'N'.repeat(100) },
    refund: { event_name: 'Refund', parent_event_id: 'fils', ...money('0.001', 'KWD') },
    'whole-refund': { event_name: 'Refund', parent_event_id: 'largest', value_data: undefined },
    'opted-out': { opt_out: true },
    limited: {
      data_processing_options: ['LDU'],
      data_processing_options_country: 0,
      data_processing_options_state: 0,
    },
    'address-only': { user_data: { client_ip_address: '2a00:1450::1', client_user_agent: 'ua' } },
    person: {
      user_data: {
        em: 'jané@exämple.com',
        fn: '李',
        ln: 'O’Neill-Ğ',
        ct: 'São Paulo',
        db: '19000101',
      },
    },
  }
}

it('sends edge values to every platform, of which none refuses one that was sent', async test => {
  const service = await startTestService(test)
  const { all } = createOfflinePlatforms()
  for (const { name, conversionTargets } of all.filter(one => one.name !== 'meta')) {
    const names = Object.fromEntries(EVENT_NAMES.map(eventName => [eventName, '123456789']))
    await connectSimulated(service, name, conversionTargets && { routing: { event_names: names } })
  }
  const edges = listEdges(service.clock.now())
  for (const [event_id, members] of Object.entries(edges)) {
    const reply = await service.submit(samplePurchase({ event_id, ...members }))
    assert.equal(reply.status, 202, `${event_id}: ${reply.text}`)
  }
  await service.deliver()
  const { rows } = await service.database.pool.query(
    `select destination.type, event_id, delivery.status, delivery.status_reason, attempt_count,
       last_error
     from deliveries delivery join destinations destination on destination.id = destination_id`,
  )
  for (const { type } of rows) assert.ok(all.some(({ name }) => name === type))
  const ofPlatform = Map.groupBy(rows, ({ type }) => type)
  assert.equal(ofPlatform.size, all.length)
  for (const row of rows) {
    const text = `${row.type} ${row.event_id}: ${JSON.stringify(row)}`
    if (row.status === 'failed:permanent') {
      assert.equal(row.status_reason, 'refused_before_sending', text)
      assert.equal(row.attempt_count, 0, text)
      assert.match(row.last_error.message, /^[A-Z].+\.$/, text)
    } else {
      assert.match(row.status, /^(accepted|expired|skipped:not_selected)$/, text)
    }
  }
  const accepted = rows.filter(({ status }) => status === 'accepted')
  const sent = (id: string) =>
    accepted.filter(row => row.event_id === id).map(({ type }) => type as string)
  // What says nothing wrong reaches all ten.
  for (const id of ['zero', 'fils', 'half-yen', 'largest', 'many-of-one', 'other-scripts']) {
    assert.equal(sent(id).length, all.length, `${id}: ${sent(id)}`)
  }
  assert.deepEqual(sent('over-a-week').sort(), ['google_ads', 'linkedin', 'snapchat', 'webhook'])
  const waiting = await service.database.pool.query('select status_reason from delivery_queue')
  assert.deepEqual(
    new Set(waiting.rows.map(row => row.status_reason)),
    new Set(['waiting_for_purchase']),
  )
})
