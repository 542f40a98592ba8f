import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { type Purchase, readPurchases } from './read-purchases.ts'
import { recentTimes } from './recent-times.ts'

const NOW = new Date('2026-11-21T12:00:00.900Z')
const DAY_MILLISECONDS = 86_400_000

it('the whole sample lands in the six days before now, in its order', () => {
  const purchases = readPurchases(join(import.meta.dirname, 'CDNOW_sample.txt'))
  const timeOf = recentTimes(purchases, NOW)
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
  const at = recentTimes([purchase], NOW)(purchase)
  assert.equal(at.toISOString(), '2026-11-15T12:00:00.000Z')
})

it('days that are too many to stay apart are refused', () => {
  const far = ['0001-01-01', '9999-01-01'].map(date => ({ date }) as Purchase)
  assert.throws(() => recentTimes(far, NOW), RangeError)
})
