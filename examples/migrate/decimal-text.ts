/** Signalbox takes up to six decimals; no currency has more than four. */
const DECIMALS_MAX = 6
const DECIMAL = /^-?\d{1,15}(\.\d{1,6})?$/

/**
 * A JSON number as decimal text. A number with more than six decimals is the result of an addition
 * in binary, such as 0.30000000000000004, and is rounded. Text is returned as it is.
 */
export function toDecimalText(amount: unknown): string | undefined {
  if (typeof amount === 'string') return amount
  if (typeof amount === 'bigint') return String(amount)
  if (typeof amount !== 'number') return undefined
  const text = String(amount)
  return DECIMAL.test(text) ? text : amount.toFixed(DECIMALS_MAX)
}
