import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import {
  addDecimals,
  type ExactDecimal,
  formatDecimal,
  parseDecimal,
  TotalsByDataset,
} from './dataset-totals.ts'

it('counts the 10,001st dataset in the total only', () => {
  const tallies = new TotalsByDataset()
  for (let dataset = 1; dataset <= 10_001; dataset++) tallies.countRefused(String(dataset))
  assert.equal(tallies.summary('10000').requests, 1)
  assert.equal(tallies.summary('10001').requests, 0)
  assert.equal(tallies.summary(undefined).requests, 10_001)
})

it('clears the totals of every dataset', () => {
  const tallies = new TotalsByDataset()
  tallies.countAccepted('1', [{ isTest: false, deduplicated: false }])
  tallies.clear()
  assert.equal(tallies.summary('1').receipts, 0)
  assert.equal(tallies.summary(undefined).receipts, 0)
})

it('adds exactly where floats do not: 0.1 + 0.2 is 0.3', () => {
  assert.equal(sum('0.1', '0.2'), '0.3')
})

it('keeps more digits than a float', () => {
  assert.equal(sum('123456789012345.678901', '0.000001'), '123456789012345.678902')
})

it('formats plain digits without trailing zeros, so that equal sums are equal strings', () => {
  assert.equal(sum('10.00'), '10')
  assert.equal(sum('12.50'), '12.5')
  assert.equal(sum('-0.0'), '0')
  assert.equal(sum('-1.05', '1'), '-0.05')
  assert.equal(sum('100'), '100')
})

it('parses the exponents that JSON allows', () => {
  assert.equal(sum('1.5e3'), '1500')
  assert.equal(sum('15E-1'), '1.5')
  assert.equal(sum('1e+2'), '100')
})

it('agrees with integer arithmetic on any list of cents in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 1 }), cents => {
      const texts = cents.map(amount => `${amount < 0 ? '-' : ''}${centsText(Math.abs(amount))}`)
      const total = cents.reduce((left, right) => left + right, 0)
      assert.equal(sum(...texts), formatDecimal({ units: BigInt(total), scale: 2 }))
      assert.equal(sum(...texts.reverse()), formatDecimal({ units: BigInt(total), scale: 2 }))
    }),
  )
})

it('rejects text that is not a number or would take seconds to add', () => {
  for (const text of ['', '12,50', '0x10', 'NaN', '1e999999999', '1e-51', '1'.repeat(65), ' 1'])
    assert.equal(parseDecimal(text), undefined, text)
})

function centsText(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}

function sum(...texts: string[]): string {
  const numbers = texts.map(text => parseDecimal(text) as ExactDecimal)
  return formatDecimal(numbers.reduce(addDecimals))
}
