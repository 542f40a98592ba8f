const DOLLARS = /^(\d+)(?:\.(\d{1,2})0*)?$/

/**
 * Parses decimal text as whole cents: "29.33", "29.3" and "29.330000" are valid, "29.333" is not.
 * Throws a RangeError.
 */
export function toCents(dollars: string): bigint {
  const [, whole, fraction = ''] = DOLLARS.exec(dollars) ?? []
  if (whole === undefined)
    throw new RangeError(`"${dollars}" is not an amount of dollars and cents.`)
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
 * Parses JSON with every number as its source text: 29.30 becomes "29.30", and no amount is
 * converted to binary floating point.
 */
export function parseExactJson(text: string): unknown {
  const exactly: ExactReviver = (_key, value, { source }) =>
    typeof value === 'number' ? source : value
  // The third argument exists in Node 24, but not yet in TypeScript's types.
  return JSON.parse(text, exactly as (key: string, value: unknown) => unknown)
}
