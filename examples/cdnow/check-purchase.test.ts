import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkPurchase } from './check-purchase.ts'
import { parseExactly } from './parse-exactly.ts'
import type { Purchase } from './read-purchases.ts'
import type { Receipt } from './read-received.ts'
import type { StoredEvent } from './read-stored.ts'

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
    value_data: { value: '29.30', num_items: '2' },
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

it('a purchase that is stored and counted as it was has no differences', () => {
  assert.deepEqual(checkPurchase(PURCHASE, STORED, [RECEIPT]), {
    storedDollars: '29.30',
    receivedDollars: '29.30',
    copies: 0,
    differences: [],
  })
})

it('a copy that the simulator recognised is shown and is no difference', () => {
  const copy = { ...RECEIPT, deduplicated: true }
  const { copies, differences } = checkPurchase(PURCHASE, STORED, [RECEIPT, copy])
  assert.deepEqual({ copies, differences }, { copies: 1, differences: [] })
})

it('a receipt that is missing, or counted twice, is a difference and no money', () => {
  for (const receipts of [[], [RECEIPT, RECEIPT]]) {
    const check = checkPurchase(PURCHASE, STORED, receipts)
    assert.equal(check.receivedDollars, null)
    assert.deepEqual(check.differences, [
      `cdnow-0001-00004-1997-01-01: the simulator counted it ${receipts.length} times`,
    ])
  }
})

it('an event that is not stored, or stored otherwise, is a difference', () => {
  assert.equal(checkPurchase(PURCHASE, null, [RECEIPT]).storedDollars, null)
  assert.deepEqual(checkPurchase(PURCHASE, null, [RECEIPT]).differences, [
    'cdnow-0001-00004-1997-01-01: is not stored',
  ])
  const { event, deliveries } = STORED
  const spoilt: StoredEvent[] = [
    { event: { ...event, value_amount: '29.3' }, deliveries },
    { event: { ...event, value_currency: 'EUR' }, deliveries },
    { event: { ...event, value_data: null }, deliveries },
    { event, deliveries: [] },
    { event, deliveries: [...deliveries, ...deliveries] },
    { event, deliveries: [{ status: 'retrying', explanation: 'Later.' }] },
  ]
  for (const stored of spoilt) {
    assert.ok(checkPurchase(PURCHASE, stored, [RECEIPT]).differences.length > 0)
  }
})

it('a receipt with other money, another time or a raw customer number is a difference', () => {
  const spoilt: Receipt[] = [
    { ...RECEIPT, custom_data: { ...RECEIPT.custom_data, value: '29.31' } },
    { ...RECEIPT, custom_data: { ...RECEIPT.custom_data, num_items: '3' } },
    { ...RECEIPT, event_time: '1794744001' },
    { ...RECEIPT, user_data: { external_id: ['00004'] } },
  ]
  for (const receipt of spoilt) {
    assert.equal(checkPurchase(PURCHASE, STORED, [receipt]).differences.length, 1)
  }
})

it('numbers are read as the text that stood there', () => {
  assert.deepEqual(parseExactly('{"a":29.30,"b":[1e2],"c":"1.0","d":null,"e":true}'), {
    a: '29.30',
    b: ['1e2'],
    c: '1.0',
    d: null,
    e: true,
  })
})
