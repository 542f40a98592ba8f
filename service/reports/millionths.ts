const DECIMALS = 6

/** Scores are reckoned in millionths: whole numbers, so that 7.3 less 7 is 0.3 and nothing else. */
export function millionthsOf(decimal: number | string): bigint {
  return BigInt(Math.round(Number(decimal) * 10 ** DECIMALS))
}

/** Decimal text with a digit after the point at least, as Meta writes scores: `6.0`, `-1.25`. */
export function decimalOf(millionths: bigint): string {
  const sign = millionths < 0n ? '-' : ''
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '').padEnd(1, '0')
  return `${sign}${digits.slice(0, -DECIMALS)}.${fraction}`
}
