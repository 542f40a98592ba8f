import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import { DECIMAL_PATTERN, decimalToken } from '@signalbox/contract/decimal.ts'

/**
 * Money and time in the units of platforms. Amounts are decimal text and stay digits all the way:
 * none of these passes a binary floating-point number.
 */

const DECIMAL = new RegExp(DECIMAL_PATTERN)

/** Whether an amount is decimal text, as the functions here require. */
export function isDecimal(amount: string): boolean {
  return DECIMAL.test(amount)
}

/** Why an event's value cannot be sent; null where it can, or where there is none. */
export function findValueError(amount: string | null, currency: string | null): string | null {
  if (amount !== null && !isDecimal(amount)) return 'The value_data.value must be a decimal number.'
  return currency && !isCurrencyCode(currency)
    ? 'The value_data.currency must be a currency of ISO 4217.'
    : null
}

/** A JSON number with every digit of the amount: 19.950 stays 19.950. */
export function toMoneyNumber(amount: string): number {
  return decimalToken(amount)
}

/** The amount as text without leading zeros, for platforms that take money as a JSON string. */
export function toMoneyText(amount: string): string {
  return JSON.stringify(decimalToken(amount))
}

/**
 * The amount in minor units, such as cents, as the text of a whole number. What is below one minor
 * unit is rounded, half away from zero. Null for a currency that is not in ISO 4217.
 */
export function toMinorUnits(amount: string, currency: string): string | null {
  if (!isCurrencyCode(currency)) return null
  const digits = minorUnitDigits(currency)
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? []
  if (whole === '') throw new TypeError('not a decimal')
  const truncated = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'))
  const minor = truncated + (isHalfOrMore(fraction[digits]) ? 1n : 0n)
  return minor === 0n ? '0' : `${sign}${minor}`
}

function isHalfOrMore(digit: string | undefined): boolean {
  return digit !== undefined && digit >= '5'
}

/** The currencies of ISO 4217 whose minor unit has not two digits (list one, 2025). */
const MINOR_UNIT_DIGITS: ReadonlyMap<string, number> = new Map(
  (
    [
      [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
      [3, 'BHD IQD JOD KWD LYD OMR TND'],
      [4, 'CLF UYW'],
    ] as const
  ).flatMap(([digits, codes]) => codes.split(' ').map(code => [code, digits] as const)),
)

/** How many digits the minor unit of a currency has: 2 for EUR, 0 for JPY, 3 for KWD. */
export function minorUnitDigits(currency: string): number {
  return MINOR_UNIT_DIGITS.get(currency.toUpperCase()) ?? 2
}

/** Whole seconds since 1970, rounded down: never later than the event. */
export function toUnixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1_000)
}

/** Milliseconds since 1970. */
export function toUnixMilliseconds(time: Date): number {
  return time.getTime()
}

/** RFC 3339 in UTC with milliseconds: `2026-11-28T12:00:00.000Z`. */
export function toRfc3339(time: Date): string {
  return time.toISOString()
}
