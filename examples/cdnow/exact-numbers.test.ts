import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatDollars, sumCents, toCents } from './exact-numbers.ts'

it('parses dollars to the cent, with any trailing zeros', () => {
  assert.equal(toCents('29.33'), 2933n)
  assert.equal(toCents('29.3'), 2930n)
  assert.equal(toCents('29'), 2900n)
  assert.equal(toCents('29.330000'), 2933n)
  assert.equal(toCents('0.00'), 0n)
})

it('throws for fractions of a cent instead of rounding', () => {
  for (const text of ['29.333', '', '-1.00', '1e3', '.5', '1,000.00']) {
    assert.throws(() => toCents(text), RangeError, text)
  }
})

it('adds exactly where binary floating point does not', () => {
  assert.equal(sumCents(Array.from({ length: 1_000 }, () => '0.10')), 10_000n)
  assert.equal(formatDollars(sumCents(['90071992547409.93', '0.01'])), '90071992547409.94')
})

it('keeps the leading zeros of small amounts', () => {
  assert.deepEqual([0n, 5n, 50n, 100n].map(formatDollars), ['0.00', '0.05', '0.50', '1.00'])
})
