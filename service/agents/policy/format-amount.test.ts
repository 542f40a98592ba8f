import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatAmount, formatMinorUnits, parseMinorUnits } from './format-amount.ts'

it('writes an amount with as many digits as its currency has', () => {
  assert.equal(formatAmount(5_000, 'EUR'), '€50.00')
  assert.equal(formatAmount(5_000, 'JPY'), 'JP¥5,000')
  assert.equal(formatAmount(5_000, 'KWD').replace(/\s/, ' '), 'KWD 5.000')
  assert.equal(formatAmount(1, 'EUR'), '€0.01')
  assert.equal(formatAmount(2_147_483_647, 'USD'), 'US$21,474,836.47')
})

it('gives a difference its sign', () => {
  assert.equal(formatAmount(1_000, 'EUR', true), '+€10.00')
  assert.equal(formatAmount(-1_000, 'EUR', true), '-€10.00')
  assert.equal(formatAmount(0, 'EUR', true), '€0.00')
})

it('what stands in a form is read back as it was', () => {
  for (const digits of [0, 2, 3]) {
    for (const minor of [0, 1, 10, 999, 5_000, 2_147_483_647]) {
      assert.equal(
        parseMinorUnits(formatMinorUnits(minor, digits), digits),
        minor,
        `${minor} ${digits}`,
      )
    }
  }
  assert.equal(parseMinorUnits('50', 2), 5_000)
  assert.equal(parseMinorUnits('50.5', 2), 5_050)
})

it('takes nothing that could be meant as another amount', () => {
  for (const text of [
    '1,000',
    '1.000,00',
    '1 000',
    '-5',
    '+5',
    '5.',
    '.5',
    '1e3',
    '',
    '٥',
    '5.001',
  ]) {
    assert.equal(parseMinorUnits(text, 2), null, text)
  }
  assert.equal(parseMinorUnits('5.0', 0), null)
})
