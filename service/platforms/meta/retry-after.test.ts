import assert from 'node:assert/strict'
import { it } from 'node:test'
import { retryAfterSeconds } from './retry-after.ts'

const DATE = 'Sat, 21 Nov 2026 12:00:00 GMT'

function waitOf(retryAfter: string | null, date: string | null = DATE): number {
  return retryAfterSeconds(name => (name === 'retry-after' ? retryAfter : date))
}

it('reads whole seconds, also without a Date', () => {
  for (const date of [DATE, null]) {
    assert.deepEqual([waitOf('120', date), waitOf(' 7 ', date), waitOf('0', date)], [120, 7, 0])
  }
})

it('reads a date in each of its three forms, counted from the Date of the answer', () => {
  assert.equal(waitOf('Sat, 21 Nov 2026 12:02:00 GMT'), 120)
  assert.equal(waitOf('Saturday, 21-Nov-26 12:02:00 GMT'), 120)
  assert.equal(waitOf('Sat Nov 21 12:02:00 2026'), 120)
  assert.equal(waitOf('Sun Nov 22 00:00:00 2026', 'Saturday, 21-Nov-26 23:59:00 GMT'), 60)
})

it('asks for nothing when the date is past, or there is no Date to count from', () => {
  assert.equal(waitOf('Sat, 21 Nov 2026 11:59:59 GMT'), 0)
  for (const date of [null, '', 'yesterday', '1795262400']) {
    assert.equal(waitOf('Sat, 21 Nov 2026 12:02:00 GMT', date), 0)
  }
})

it('counts a header that cannot be read as absent', () => {
  const odd = ['', ' ', '-5', '+5', '1.5', '1e3', '0x10', 'soon', '7 seconds', '2026-11-21', 'Sat']
  for (const text of [null, ...odd, '2026-11-21T12:02:00Z', 'Sat, 99 Nov 2026 12:02:00 GMT']) {
    assert.equal(waitOf(text), 0, String(text))
  }
})

it('never asks for more than a day, whatever the header says', () => {
  for (const text of ['86401', '999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    assert.equal(waitOf(text), 86_400)
  }
})
