import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkAnswers, checkPurchase } from './check-result.ts'
import { parseExactJson } from './exact-numbers.ts'
import type { Purchase } from './purchases.ts'
import type { Receipt, StoredEvent } from './read-back.ts'
import { type Answer, withRepeats } from './submit-events.ts'

const PURCHASE: Purchase = {
  line: 1,
  customer: '00004',
  date: '1997-01-01',
  items: 2,
  dollars: '29.30',
}

const STORED: StoredEvent = {
  event: {
    id: 'cdnow-0001-00004-1997-01-01',
    event_name: 'Purchase',
    event_time: '2026-11-15T12:00:00.000Z',
    value_amount: '29.30',
    value_currency: 'USD',
    value_data: { value: '29.30', num_items: 2 },
  },
  deliveries: [{ status: 'accepted', explanation: 'The platform accepted the event.' }],
}

const RECEIPT: Receipt = {
  dataset: '1',
  event_name: 'Purchase',
  event_time: '1794744000',
  user_data: {
    external_id: ['a5062280775101377f2ed2a5ac021f9c5ba0be42d583135ef8e94df6316d979e'],
  },
  custom_data: { value: '29.30', currency: 'USD', num_items: '2' },
  deduplicated: false,
}

it('finds no differences for a purchase that was stored and counted unchanged', () => {
  assert.deepEqual(checkPurchase(PURCHASE, STORED, [RECEIPT]), {
    storedDollars: '29.30',
    receivedDollars: '29.30',
    copies: 0,
    differences: [],
  })
})

it('counts a detected duplicate without a difference', () => {
  const copy = { ...RECEIPT, deduplicated: true }
  const { copies, differences } = checkPurchase(PURCHASE, STORED, [RECEIPT, copy])
  assert.deepEqual({ copies, differences }, { copies: 1, differences: [] })
})

it('reports a missing or repeated receipt, and does not count its amount', () => {
  for (const receipts of [[], [RECEIPT, RECEIPT]]) {
    const check = checkPurchase(PURCHASE, STORED, receipts)
    assert.equal(check.receivedDollars, null)
    assert.deepEqual(check.differences, [
      `cdnow-0001-00004-1997-01-01: the simulator counted it ${receipts.length} times`,
    ])
  }
})

it('reports an event that is missing or stored differently', () => {
  assert.equal(checkPurchase(PURCHASE, null, [RECEIPT]).storedDollars, null)
  assert.deepEqual(checkPurchase(PURCHASE, null, [RECEIPT]).differences, [
    'cdnow-0001-00004-1997-01-01: is not stored',
  ])
  const { event, deliveries } = STORED
  const altered: StoredEvent[] = [
    { event: { ...event, value_amount: '29.3' }, deliveries },
    { event: { ...event, value_currency: 'EUR' }, deliveries },
    { event: { ...event, value_data: null }, deliveries },
    { event, deliveries: [] },
    { event, deliveries: [...deliveries, ...deliveries] },
    { event, deliveries: [{ status: 'retrying', explanation: 'Later.' }] },
  ]
  for (const stored of altered) {
    assert.ok(checkPurchase(PURCHASE, stored, [RECEIPT]).differences.length > 0)
  }
})

it('reports a receipt with a different amount or time, or a raw customer number', () => {
  const altered: Receipt[] = [
    { ...RECEIPT, custom_data: { ...RECEIPT.custom_data, value: '29.31' } },
    { ...RECEIPT, custom_data: { ...RECEIPT.custom_data, num_items: '3' } },
    { ...RECEIPT, event_time: '1794744001' },
    { ...RECEIPT, user_data: { external_id: ['00004'] } },
  ]
  for (const receipt of altered) {
    assert.equal(checkPurchase(PURCHASE, STORED, [receipt]).differences.length, 1)
  }
})

it('reads numbers as their source text', () => {
  assert.deepEqual(parseExactJson('{"a":29.30,"b":[1e2],"c":"1.0","d":null,"e":true}'), {
    a: '29.30',
    b: ['1e2'],
    c: '1.0',
    d: null,
    e: true,
  })
})

const first: Answer = { eventId: 'a', status: 202, duplicate: false, retries: 0 }
const copy: Answer = { eventId: 'a', status: 200, duplicate: true, retries: 2 }

it('repeats every tenth event right after the original', () => {
  const sent = withRepeats(Array.from({ length: 25 }, (_, index) => index + 1))
  assert.equal(sent.length, 27)
  assert.deepEqual(sent.slice(8, 12), [9, 10, 10, 11])
})

it('counts new events, duplicates and retries', () => {
  assert.deepEqual(checkAnswers([first, copy]), {
    submissions: 2,
    accepted: 1,
    duplicates: 1,
    retries: 2,
    differences: [],
  })
})

it('reports an event that is new twice, in any order', () => {
  assert.deepEqual(checkAnswers([first, first]).differences, ['a: answered 202 twice'])
  assert.deepEqual(checkAnswers([copy, first, copy]).differences, [])
})

it('reports contradictory responses and refusals', () => {
  const wrong: Answer[] = [
    { ...first, duplicate: true },
    { ...copy, duplicate: false },
    { ...first, status: 503, duplicate: null },
    { ...first, status: 0, duplicate: null },
  ]
  for (const answer of wrong) assert.equal(checkAnswers([answer]).differences.length, 1)
})
