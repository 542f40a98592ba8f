import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'

export type QuietHours = NonNullable<PolicyLimits['quiet_hours']>

/**
 * Whether the local time is within quiet hours. `from` is inclusive, `until` exclusive; they span
 * midnight if `until` is earlier, and the whole day if both are equal.
 */
export function isWithinQuietHours(
  { from, until }: QuietHours,
  at: Date,
  timeZone: string,
): boolean {
  const minute = minuteOfDay(at, timeZone)
  // HH:MM compares as text.
  if (from < until) return from <= minute && minute < until
  return from <= minute || minute < until
}

function minuteOfDay(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
}

/** Longer than any local day, including those with a time zone change. */
const DAY_HOURS_MAX = 48

/**
 * When the local day of `at` begins in an IANA time zone. Searches by local date instead of
 * counting hours, because a local day can have 23, 24 or 25 hours and can begin at 01:00.
 */
export function startOfAccountDay(at: Date, timeZone: string): Date {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' })
  const today = format.format(at)
  let before = at.getTime() - DAY_HOURS_MAX * HOUR_MILLISECONDS
  let inside = at.getTime()
  while (inside - before > 1) {
    const middle = Math.floor((before + inside) / 2)
    if (format.format(middle) === today) inside = middle
    else before = middle
  }
  return new Date(inside)
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
