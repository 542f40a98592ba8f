import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DECIMAL_PATTERN } from '@signalbox/contract/decimal.ts'
import fc from 'fast-check'
import {
  minorUnitDigits,
  toMinorUnits,
  toMoneyNumber,
  toMoneyText,
  toRfc3339,
  toUnixMilliseconds,
  toUnixSeconds,
} from './units.ts'

const amounts = fc.stringMatching(new RegExp(DECIMAL_PATTERN))
const currencies = fc.constantFrom('EUR', 'jpy', 'KWD', 'CLF', 'USD', 'XOF', 'TND')
/** RFC 3339 has four digits for a year. */
const times = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59Z'),
  noInvalidDate: true,
})

/** The amount as a fraction: exact, and by another way than the code. */
function toFraction(amount: string): { numerator: bigint; denominator: bigint } {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.')
  const sign = amount.startsWith('-') ? -1n : 1n
  const denominator = 10n ** BigInt(fraction.length)
  return { numerator: sign * (BigInt(whole) * denominator + BigInt(fraction || '0')), denominator }
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}

describe('money of platforms', () => {
  it('is at most half a minor unit from the amount, and exact where the currency allows', () => {
    fc.assert(
      fc.property(amounts, currencies, (amount, currency) => {
        const { numerator, denominator } = toFraction(amount)
        const scale = 10n ** BigInt(minorUnitDigits(currency))
        const minor = BigInt(toMinorUnits(amount, currency) ?? 'none')
        const difference = minor * denominator - numerator * scale
        assert.ok(2n * absolute(difference) <= denominator)
        if ((numerator * scale) % denominator === 0n) assert.equal(difference, 0n)
      }),
    )
  })

  it('has the opposite sign for the opposite amount', () => {
    fc.assert(
      fc.property(amounts, currencies, (amount, currency) => {
        const opposite = amount.startsWith('-') ? amount.slice(1) : `-${amount}`
        const sum =
          BigInt(toMinorUnits(amount, currency) ?? 'none') +
          BigInt(toMinorUnits(opposite, currency) ?? 'none')
        assert.equal(sum, 0n)
      }),
    )
  })

  it('keeps every digit as a number and as text', () => {
    fc.assert(
      fc.property(amounts, amount => {
        const text = toMoneyText(amount)
        assert.equal(JSON.stringify({ value: toMoneyNumber(amount) }), `{"value":${text}}`)
        assert.match(text, /^-?(0|[1-9]\d*)(\.\d+)?$/)
        const [given, written] = [toFraction(amount), toFraction(text)]
        assert.equal(given.denominator, written.denominator)
        assert.equal(given.numerator, written.numerator)
      }),
    )
  })

  it('has the digits that ISO 4217 names, and refuses what is no currency', () => {
    const examples = { JPY: 0, ISK: 0, EUR: 2, MGA: 2, TND: 3, KWD: 3, CLF: 4, UYW: 4 }
    for (const [code, digits] of Object.entries(examples)) {
      assert.equal(minorUnitDigits(code), digits, code)
    }
    assert.equal(toMinorUnits('123456789012345.678', 'EUR'), '12345678901234568')
    assert.equal(toMinorUnits('-0.005', 'EUR'), '-1')
    assert.equal(toMinorUnits('-0.004', 'EUR'), '0')
    assert.equal(toMinorUnits('1', 'EURO'), null)
    assert.equal(toMinorUnits('1', 'XXX'), null)
    assert.throws(() => toMinorUnits('1e3', 'EUR'), TypeError)
  })
})

describe('times of platforms', () => {
  it('agree: seconds are never later, and RFC 3339 reads back to the same millisecond', () => {
    fc.assert(
      fc.property(times, time => {
        const milliseconds = toUnixMilliseconds(time)
        const seconds = toUnixSeconds(time)
        assert.ok(Number.isSafeInteger(seconds))
        assert.ok(seconds * 1_000 <= milliseconds && milliseconds < (seconds + 1) * 1_000)
        assert.match(toRfc3339(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.equal(Date.parse(toRfc3339(time)), milliseconds)
      }),
    )
  })
})
