/**
 * An amount as people read it, with the sign where it is a difference: `€50.00`, `+€10.00`. The
 * point is put by hand, so that no amount goes through a fraction that binary cannot hold.
 */
export function formatAmount(minor: number, currency: string, isChange = false): string {
  const format = new Intl.NumberFormat(LOCALE, {
    style: 'currency',
    currency,
    signDisplay: isChange ? 'exceptZero' : 'auto',
  })
  return format.format(
    formatMinorUnits(minor, minorUnitDigits(currency)) as Intl.StringNumericLiteral,
  )
}

const LOCALE = 'en-GB'

/** How many digits a currency has after the point, by ISO 4217 as ICU knows it. */
export function minorUnitDigits(currency: string): number {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency })
  return format.resolvedOptions().maximumFractionDigits ?? 0
}

/** Minor units as a plain decimal, as it stands in a form: `5000` with two digits is `50.00`. */
export function formatMinorUnits(minor: number, digits: number): string {
  const sign = minor < 0 ? '-' : ''
  const text = String(Math.abs(minor)).padStart(digits + 1, '0')
  const point = text.length - digits
  return digits === 0 ? sign + text : `${sign}${text.slice(0, point)}.${text.slice(point)}`
}

/**
 * What `formatDecimal` writes, read back; null for everything else. No comma: in some countries it
 * groups thousands, and a limit must not be a thousand times what was meant.
 */
export function parseMinorUnits(text: string, digits: number): number | null {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,3}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.length > digits) return null
  return Number(whole + fraction.padEnd(digits, '0'))
}
