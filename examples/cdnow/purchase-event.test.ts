import assert from 'node:assert/strict'
import { it } from 'node:test'
import { purchaseEvent, purchaseEventId } from './purchase-event.ts'
import type { Purchase } from './read-purchases.ts'

const PURCHASE: Purchase = {
  line: 7,
  customer: '00021',
  date: '1997-01-01',
  items: 3,
  dollars: '63.30',
}

it('a line becomes a Purchase with its money as text and its consent before it', () => {
  assert.deepEqual(purchaseEvent(PURCHASE, new Date('2026-11-15T12:00:00Z')), {
    event_id: 'cdnow-0007-00021-1997-01-01',
    event_name: 'Purchase',
    event_time: 1_794_744_000,
    consent_basis: 'consent',
    consent: { advertising: 'granted', captured_at: '2026-11-15T11:59:00.000Z' },
    user_data: { external_id: '00021' },
    value_data: { value: '63.30', currency: 'USD', num_items: 3 },
  })
})

it('two equal orders of one day are two events', () => {
  assert.notEqual(purchaseEventId(PURCHASE), purchaseEventId({ ...PURCHASE, line: 8 }))
})
