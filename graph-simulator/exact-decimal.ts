/** An exact decimal number: `units` divided by ten to the power of `scale`. */
export interface ExactDecimal {
  units: bigint
  /** Digits after the point, 0 or more. */
  scale: number
}

/** Longer than any amount of money; a limit keeps a hostile number from costing seconds. */
const TEXT_LENGTH_MAX = 64
const EXPONENT_MAX = 50

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Reads the text of a JSON number, digit for digit. Undefined when it is no number or too long. */
export function exactDecimal(text: string): ExactDecimal | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined
  const [, sign, whole, fraction = '', exponentText = '0'] = NUMBER.exec(text) ?? []
  const exponent = Number(exponentText)
  if (whole === undefined || Math.abs(exponent) > EXPONENT_MAX) return undefined
  const units = BigInt(`${sign}${whole}${fraction}`)
  const scale = fraction.length - exponent
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale }
}

export function addDecimals(left: ExactDecimal, right: ExactDecimal): ExactDecimal {
  const scale = Math.max(left.scale, right.scale)
  return { units: unitsAt(left, scale) + unitsAt(right, scale), scale }
}

/** Plain digits without trailing zeros ("12.5", "0"), so that equal sums are equal texts. */
export function decimalText({ units, scale }: ExactDecimal): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`
}

function unitsAt({ units, scale }: ExactDecimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale)
}
