import type { PolicyLimits } from './policy.ts'

/** The limits on amounts, which each currency may have of its own. */
export const AMOUNT_LIMITS = [
  'change_minor_max',
  'daily_total_minor_max',
  'weekly_total_minor_max',
  'monthly_total_minor_max',
  'entity_budget_minor_max',
  'account_budget_minor_max',
] as const
export type AmountLimit = (typeof AMOUNT_LIMITS)[number]

/** The limits that are whole numbers, not amounts. Null means no limit. */
export const NUMBER_LIMITS = [
  'change_percent_max',
  'actions_per_day_max',
  'entity_budget_times_max',
  'active_spend_percent_max',
] as const
export type NumberLimit = (typeof NUMBER_LIMITS)[number]

/** The limits for ad accounts in one currency: its own, else the general ones. */
export function limitsForCurrency(limits: PolicyLimits, currency: string): PolicyLimits {
  const own = limits.currency_limits.find(other => other.currency === currency)
  const amounts = AMOUNT_LIMITS.map(member => [member, own?.[member] ?? limits[member]])
  return { ...limits, ...Object.fromEntries(amounts) }
}

/**
 * Formats an amount for people, with a sign if it is a change: `€50.00`, `+€10.00`. Minor units
 * are converted to decimal text, never to a binary fraction.
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

/** Digits after the decimal point of a currency (ISO 4217, from ICU). */
export function minorUnitDigits(currency: string): number {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency })
  return format.resolvedOptions().maximumFractionDigits ?? 0
}

/** Formats minor units as a plain decimal for a form: `5000` with two digits is `50.00`. */
export function formatMinorUnits(minor: number, digits: number): string {
  const sign = minor < 0 ? '-' : ''
  const text = String(Math.abs(minor)).padStart(digits + 1, '0')
  const point = text.length - digits
  return digits === 0 ? sign + text : `${sign}${text.slice(0, point)}.${text.slice(point)}`
}

/**
 * Parses the output of `formatMinorUnits`; null for anything else. Rejects commas: some locales use
 * them to group thousands, and a limit must not become a thousand times larger.
 */
export function parseMinorUnits(text: string, digits: number): number | null {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,3}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.length > digits) return null
  return Number(whole + fraction.padEnd(digits, '0'))
}
