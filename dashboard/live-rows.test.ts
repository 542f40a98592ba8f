import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { type EventSummary, STATUS_GROUPS } from '@signalbox/contract/session/events.ts'
import type { LiveMessage } from '@signalbox/contract/session/live.ts'
import {
  applyMessage,
  type LiveRows,
  matchesFilters,
  NO_ROWS,
  showWaiting,
} from './src/events/live-rows.ts'

const START = Date.parse('2026-11-21T12:00:00.000Z')

function row(second: number, status: DeliveryStatus = 'queued'): EventSummary {
  const created_at = new Date(START + second * 1_000).toISOString()
  return {
    id: `order-${second}`,
    space: 'secret',
    event_name: 'Purchase',
    event_time: created_at,
    created_at,
    event_class: 'commerce',
    action_source: 'website',
    order_id: String(second),
    parent_event_id: null,
    value_amount: '19.95',
    value_currency: 'EUR',
    deliveries: [
      { delivery_id: second, destination_id: null, status, is_test: false, attempt_count: 0 },
    ],
  }
}

function take(rows: LiveRows, message: Partial<LiveMessage>, isHeld = false): LiveRows {
  const whole = { events: [], changed: [], has_left_out: false, ...message }
  return applyMessage(rows, { message: whole, filters: {}, isHeld })
}

const idsOf = (rows: readonly EventSummary[]) => rows.map(({ id }) => id)

it('shows each event once, newest first, also after the stream repeats some', () => {
  const first = take(NO_ROWS, { events: [row(1), row(2)] })
  assert.equal(first.added.size, 0, 'the first message is the list')
  const second = take(first, { events: [row(2), row(3), row(4)] })
  assert.deepEqual(idsOf(second.shown), ['order-4', 'order-3', 'order-2', 'order-1'])
  assert.deepEqual([...second.added], ['secret order-3', 'secret order-4'])
  const late = take(second, { events: [row(2.5), row(5)] })
  assert.deepEqual(idsOf(late.shown).slice(0, 4), ['order-5', 'order-4', 'order-3', 'order-2.5'])
})

it('keeps new events waiting while the list is read, and updates those that it shows', () => {
  const first = take(NO_ROWS, { events: [row(1)] })
  const held = take(first, { events: [row(2), row(3)], changed: [row(1, 'accepted')] }, true)
  assert.deepEqual(idsOf(held.shown), ['order-1'])
  assert.equal(held.shown[0]?.deliveries[0]?.status, 'accepted')
  assert.deepEqual(idsOf(held.waiting), ['order-3', 'order-2'])
  const changed = take(held, { changed: [row(2, 'accepted'), row(9, 'accepted')] }, true)
  const shown = showWaiting(changed)
  assert.deepEqual(idsOf(shown.shown), ['order-3', 'order-2', 'order-1'])
  assert.equal(shown.shown[1]?.deliveries[0]?.status, 'accepted')
  assert.deepEqual(shown.waiting, [])
})

it('keeps at most 200 rows, and remembers that events were left out', () => {
  const events = Array.from({ length: 150 }, (_, index) => row(index))
  const more = Array.from({ length: 150 }, (_, index) => row(index + 150))
  const rows = take(take(NO_ROWS, { events, has_left_out: true }), { events: more })
  assert.equal(rows.shown.length, 200)
  assert.equal(rows.shown[0]?.id, 'order-299')
  assert.equal(rows.hasLeftOut, true)
})

it('filters as the search of the service does', () => {
  const purchase = row(10)
  for (const filters of [
    { name: 'Purchase', order: '10', from: purchase.created_at },
    { to: new Date(START + 11_000).toISOString() },
  ]) {
    assert.ok(matchesFilters(purchase, filters), JSON.stringify(filters))
  }
  for (const filters of [
    { name: 'Refund' },
    { order: '11' },
    { parent: 'order-1' },
    { to: purchase.created_at },
    { from: new Date(START + 11_000).toISOString() },
  ]) {
    assert.equal(matchesFilters(purchase, filters), false, JSON.stringify(filters))
  }
  for (const status of DELIVERY_STATUSES) {
    assert.ok(matchesFilters(row(1, status), { status }), status)
    for (const [group, statuses] of Object.entries(STATUS_GROUPS)) {
      const isMember = (statuses as readonly string[]).includes(status)
      assert.equal(matchesFilters(row(1, status), { status: group }), isMember, status)
    }
  }
})
