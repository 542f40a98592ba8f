import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { addDecimals, decimalText, type ExactDecimal, exactDecimal } from './exact-decimal.ts'

it('adds what a float cannot: 0.1 and 0.2 make 0.3', () => {
  assert.equal(sum('0.1', '0.2'), '0.3')
})

it('keeps more digits than a float has', () => {
  assert.equal(sum('123456789012345.678901', '0.000001'), '123456789012345.678902')
})

it('prints plain digits without trailing zeros, so that equal sums are equal texts', () => {
  assert.equal(sum('10.00'), '10')
  assert.equal(sum('12.50'), '12.5')
  assert.equal(sum('-0.0'), '0')
  assert.equal(sum('-1.05', '1'), '-0.05')
  assert.equal(sum('100'), '100')
})

it('reads the exponents that JSON allows', () => {
  assert.equal(sum('1.5e3'), '1500')
  assert.equal(sum('15E-1'), '1.5')
  assert.equal(sum('1e+2'), '100')
})

it('agrees with whole-number arithmetic on any list of cents, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 1 }), cents => {
      const texts = cents.map(amount => `${amount < 0 ? '-' : ''}${centsText(Math.abs(amount))}`)
      const total = cents.reduce((left, right) => left + right, 0)
      assert.equal(sum(...texts), decimalText({ units: BigInt(total), scale: 2 }))
      assert.equal(sum(...texts.reverse()), decimalText({ units: BigInt(total), scale: 2 }))
    }),
  )
})

it('refuses what is no number or would cost seconds to add', () => {
  for (const text of ['', '12,50', '0x10', 'NaN', '1e999999999', '1e-51', '1'.repeat(65), ' 1'])
    assert.equal(exactDecimal(text), undefined, text)
})

function centsText(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}

function sum(...texts: string[]): string {
  const numbers = texts.map(text => exactDecimal(text) as ExactDecimal)
  return decimalText(numbers.reduce(addDecimals))
}
