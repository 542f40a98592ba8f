const DOLLARS = /^(\d+)(?:\.(\d{1,2})0*)?$/

/**
 * Money as whole cents, exactly, from decimal text: "29.33", "29.3" and "29.330000" are readable,
 * "29.333" is not. Throws a RangeError.
 */
export function toCents(dollars: string): bigint {
  const [, whole, fraction = ''] = DOLLARS.exec(dollars) ?? []
  if (whole === undefined) throw new RangeError(`"${dollars}" is no amount of dollars and cents.`)
  return BigInt(whole + fraction.padEnd(2, '0'))
}

export function formatDollars(cents: bigint): string {
  const digits = cents.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

export function sumCents(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, dollars) => sum + toCents(dollars), 0n)
}

type ExactReviver = (key: string, value: unknown, context: { source?: string }) => unknown

/**
 * Reads JSON with every number as the text that stood there: 29.30 stays "29.30", and no amount
 * passes through binary floating point.
 */
export function parseExactJson(text: string): unknown {
  const exactly: ExactReviver = (_key, value, { source }) =>
    typeof value === 'number' ? source : value
  // The third argument is in Node 24 and not yet in TypeScript's library.
  return JSON.parse(text, exactly as (key: string, value: unknown) => unknown)
}
