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

it('the sample is byte for byte what SOURCE.md says that it is', () => {
  const digest = createHash('sha256').update(readFileSync(SAMPLE)).digest('hex')
  const source = readFileSync(join(import.meta.dirname, 'SOURCE.md'), 'utf8')
  assert.ok(source.includes(`SHA-256 \`${digest}\``))
})

it('every line of the sample is a purchase, and each has an event id of its own', () => {
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

it('a line of another form is refused with its number, not skipped', () => {
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

const NOW = new Date('2026-11-21T12:00:00.900Z')
const DAY_MILLISECONDS = 86_400_000

it('the whole sample lands in the six days before now, in its order', () => {
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

it('one day alone is six days ago, and times are whole seconds', () => {
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

it('days that are too many to stay apart are refused', () => {
  const far = ['0001-01-01', '9999-01-01'].map(date => ({ date }) as Purchase)
  assert.throws(() => spreadOverRecentDays(far, NOW), RangeError)
})
