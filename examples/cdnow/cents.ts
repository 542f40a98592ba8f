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

export function dollarText(cents: bigint): string {
  const digits = cents.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

export function sumOfCents(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, dollars) => sum + toCents(dollars), 0n)
}
