import assert from 'node:assert/strict'
import { it } from 'node:test'
import { HourlyBuckets, hourOf } from './hourly-buckets.ts'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const HOUR = hourOf(NOW)

function bookOf(
  places: [hour: number, name: string][],
  now = NOW,
): HourlyBuckets<{ count: number }> {
  const book = new HourlyBuckets(() => ({ count: 0 }))
  for (const [hour, name] of places) book.cell({ dataset: '1', hour, name }, now)
  return book
}

it('keeps one cell for each hour and name, and finds it again', () => {
  const book = bookOf([])
  const place = { dataset: '1', hour: HOUR, name: '__proto__' }
  assert.equal(book.find(place), undefined)
  const cell = book.cell(place, NOW)
  assert.ok(cell)
  assert.equal(book.cell(place, NOW), cell)
  assert.equal(book.find(place), cell)
  assert.notEqual(book.cell({ ...place, dataset: '2' }, NOW), cell)
})

it('shows the hours of a span in order, whatever the order in which they came', () => {
  const book = bookOf([
    [HOUR, 'a'],
    [HOUR - 2, 'a'],
    [HOUR - 1, 'a'],
  ])
  const hours = book.hours('1', HOUR - 2, HOUR).map(([hour]) => hour)
  assert.deepEqual(hours, [HOUR - 2, HOUR - 1])
})

it('keeps no hour that began 8 days ago, neither at once nor later', () => {
  const book = bookOf([
    [HOUR - 8 * 24, 'too old'],
    [HOUR, 'a'],
  ])
  assert.equal(book.hours('1', 0, HOUR + 1).length, 1)
  const later = new Date(NOW.getTime() + 8 * 86_400_000)
  book.cell({ dataset: '1', hour: hourOf(later), name: 'a' }, later)
  const hours = book.hours('1', 0, hourOf(later) + 1).map(([hour]) => hour)
  assert.deepEqual(hours, [hourOf(later)])
})

it('counts no name that is too long, and no dataset after ten thousand others', () => {
  const book = bookOf([[HOUR, 'a']])
  const place = { dataset: '1', hour: HOUR, name: 'x'.repeat(1_001) }
  assert.equal(book.cell(place, NOW), undefined)
  for (let dataset = 2; dataset <= 10_001; dataset++)
    book.cell({ dataset: `${dataset}`, hour: HOUR, name: 'a' }, NOW)
  assert.ok(book.find({ dataset: '10000', hour: HOUR, name: 'a' }))
  assert.equal(book.find({ dataset: '10001', hour: HOUR, name: 'a' }), undefined)
  assert.ok(book.cell({ dataset: '1', hour: HOUR, name: 'b' }, NOW))
})
