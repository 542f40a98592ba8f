import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatAmount, formatMinorUnits, parseMinorUnits } from './amounts.ts'

it('formats an amount with the digits of its currency', () => {
  assert.equal(formatAmount(5_000, 'EUR'), '€50.00')
  assert.equal(formatAmount(5_000, 'JPY'), 'JP¥5,000')
  assert.equal(formatAmount(5_000, 'KWD').replace(/\s/, ' '), 'KWD 5.000')
  assert.equal(formatAmount(1, 'EUR'), '€0.01')
  assert.equal(formatAmount(2_147_483_647, 'USD'), 'US$21,474,836.47')
})

it('adds a sign to a change', () => {
  assert.equal(formatAmount(1_000, 'EUR', true), '+€10.00')
  assert.equal(formatAmount(-1_000, 'EUR', true), '-€10.00')
  assert.equal(formatAmount(0, 'EUR', true), '€0.00')
})

it('parses a formatted amount', () => {
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

it('rejects ambiguous amounts', () => {
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
