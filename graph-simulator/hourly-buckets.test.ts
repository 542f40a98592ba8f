import assert from 'node:assert/strict'
import { it } from 'node:test'
import { HourlyBuckets, toHour } from './hourly-buckets.ts'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const HOUR = toHour(NOW)

function bookOf(
  places: [hour: number, name: string][],
  now = NOW,
): HourlyBuckets<{ count: number }> {
  const book = new HourlyBuckets(() => ({ count: 0 }))
  for (const [hour, name] of places) book.bucket({ dataset: '1', hour, name }, now)
  return book
}

it('keeps one bucket for each hour and name', () => {
  const book = bookOf([])
  const place = { dataset: '1', hour: HOUR, name: '__proto__' }
  assert.equal(book.find(place), undefined)
  const cell = book.bucket(place, NOW)
  assert.ok(cell)
  assert.equal(book.bucket(place, NOW), cell)
  assert.equal(book.find(place), cell)
  assert.notEqual(book.bucket({ ...place, dataset: '2' }, NOW), cell)
})

it('returns the hours of a range in order, regardless of arrival order', () => {
  const book = bookOf([
    [HOUR, 'a'],
    [HOUR - 2, 'a'],
    [HOUR - 1, 'a'],
  ])
  const hours = book.hours('1', HOUR - 2, HOUR).map(([hour]) => hour)
  assert.deepEqual(hours, [HOUR - 2, HOUR - 1])
})

it('keeps no hour that began 8 days ago', () => {
  const book = bookOf([
    [HOUR - 8 * 24, 'too old'],
    [HOUR, 'a'],
  ])
  assert.equal(book.hours('1', 0, HOUR + 1).length, 1)
  const later = new Date(NOW.getTime() + 8 * 86_400_000)
  book.bucket({ dataset: '1', hour: toHour(later), name: 'a' }, later)
  const hours = book.hours('1', 0, toHour(later) + 1).map(([hour]) => hour)
  assert.deepEqual(hours, [toHour(later)])
})

it('counts no name that is too long, and no dataset beyond ten thousand', () => {
  const book = bookOf([[HOUR, 'a']])
  const place = { dataset: '1', hour: HOUR, name: 'x'.repeat(1_001) }
  assert.equal(book.bucket(place, NOW), undefined)
  for (let dataset = 2; dataset <= 10_001; dataset++)
    book.bucket({ dataset: `${dataset}`, hour: HOUR, name: 'a' }, NOW)
  assert.ok(book.find({ dataset: '10000', hour: HOUR, name: 'a' }))
  assert.equal(book.find({ dataset: '10001', hour: HOUR, name: 'a' }), undefined)
  assert.ok(book.bucket({ dataset: '1', hour: HOUR, name: 'b' }, NOW))
})
