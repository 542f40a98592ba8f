/** Money as decimal text: up to 15 digits before the point and 6 after it. Never a float. */
export const DECIMAL_PATTERN = '^-?\\d{1,15}(\\.\\d{1,6})?$'

/** Money that cannot be negative. */
export const UNSIGNED_DECIMAL_PATTERN = '^\\d{1,15}(\\.\\d{1,6})?$'

/** The letters of an ISO 4217 code, stored in upper case. */
export const CURRENCY_PATTERN = '^[A-Za-z]{3}$'

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/

interface RawJson {
  rawJSON(text: string): unknown
}

/**
 * Decimal text as a JSON number token, so that no digit changes on the way out: "19.950" is
 * written as 19.950. Binary floating point would turn 123456789012345.678 into …345.67.
 * Leading zeros, which JSON forbids, are dropped. Throws a TypeError when `text` is no decimal.
 */
export function decimalToken(text: string): number {
  const canonical = text.replace(/^(-?)0+(?=\d)/, '$1')
  if (!JSON_NUMBER.test(canonical)) throw new TypeError('not a decimal')
  // JSON.rawJSON is in Node 24 and not yet in TypeScript's library. It stringifies as a number.
  return (JSON as unknown as RawJson).rawJSON(canonical) as number
}
