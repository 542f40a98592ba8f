import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import {
  type Purchase,
  parsePurchases,
  purchaseEvent,
  purchaseEventId,
  readPurchases,
  spreadOverRecentDays,
} from './purchases.ts'

const SAMPLE = join(import.meta.dirname, 'CDNOW_sample.txt')

it('has the SHA-256 that SOURCE.md names', () => {
  const digest = createHash('sha256').update(readFileSync(SAMPLE)).digest('hex')
  const source = readFileSync(join(import.meta.dirname, 'SOURCE.md'), 'utf8')
  assert.ok(source.includes(`SHA-256 \`${digest}\``))
})

it('parses every line of the sample, with a unique event ID', () => {
  const purchases = readPurchases(SAMPLE)
  assert.equal(purchases.length, 6_919)
  assert.deepEqual(purchases[0], {
    line: 1,
    customer: '00004',
    date: '1997-01-01',
    items: 2,
    dollars: '29.33',
  })
  assert.equal(new Set(purchases.map(purchaseEventId)).size, 6_919)
})

it('throws with the number of a malformed line', () => {
  const good = ' 00004 0001 19970101  2   29.33'
  for (const bad of ['', '00004 0001 19970101 2 29.33', ' 00004 0001 19970101  2   29.333']) {
    assert.throws(() => parsePurchases(`${good}\r\n${bad}\r\n${good}\r\n`), /^Error: Line 2 /)
  }
  assert.equal(parsePurchases(`${good}\r\n${good}`).length, 2)
})

const PURCHASE: Purchase = {
  line: 7,
  customer: '00021',
  date: '1997-01-01',
  items: 3,
  dollars: '63.30',
}

it('maps a line to a Purchase with decimal text and earlier consent', () => {
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

it('maps two equal orders on one day to two events', () => {
  assert.notEqual(purchaseEventId(PURCHASE), purchaseEventId({ ...PURCHASE, line: 8 }))
})

const NOW = new Date('2026-11-21T12:00:00.900Z')
const DAY_MILLISECONDS = 86_400_000

it('maps the sample to the six days before now, in order', () => {
  const purchases = readPurchases(join(import.meta.dirname, 'CDNOW_sample.txt'))
  const timeOf = spreadOverRecentDays(purchases, NOW)
  const inOrder = purchases.toSorted((a, b) => a.date.localeCompare(b.date))
  const times = inOrder.map(purchase => timeOf(purchase).getTime())
  assert.equal(times[0], Date.parse('2026-11-15T12:00:00Z'))
  assert.ok((times.at(-1) ?? 0) < NOW.getTime())
  assert.ok(NOW.getTime() - (times.at(-1) ?? 0) < DAY_MILLISECONDS)
  for (const [index, purchase] of inOrder.slice(1).entries()) {
    const [before = 0, at = 0] = times.slice(index)
    if (inOrder[index]?.date === purchase.date) assert.equal(at, before)
    else assert.ok(at > before)
  }
})

it('maps a single day to six days ago, in whole seconds', () => {
  const purchase: Purchase = {
    line: 1,
    customer: '00004',
    date: '1997-01-01',
    items: 1,
    dollars: '1.00',
  }
  const at = spreadOverRecentDays([purchase], NOW)(purchase)
  assert.equal(at.toISOString(), '2026-11-15T12:00:00.000Z')
})

it('throws for more days than it can keep distinct', () => {
  const far = ['0001-01-01', '9999-01-01'].map(date => ({ date }) as Purchase)
  assert.throws(() => spreadOverRecentDays(far, NOW), RangeError)
})
