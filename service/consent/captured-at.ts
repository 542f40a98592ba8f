const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Two clocks may differ by this much before a time counts as later than it can be. */
export const CLOCK_TOLERANCE_MINUTES = 5

/** Consent older than this no longer speaks: TCF asks for a reminder at least every 13 months. */
export const CONSENT_AGE_DAYS_MAX = 395

const DAY = String.raw`(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
const TIME = String.raw`(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,6})?`
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`
const GRAMMAR = new RegExp(`^${DAY}T${TIME}${ZONE}$`)

/** The time that consent was captured, or how it is not a time. */
export type CapturedAt = Date | 'missing' | 'invalid'

/**
 * Reads `captured_at`: RFC 3339 with capital T and with Z or an offset, a fraction of 1 to 6
 * digits, a real calendar time (wire shapes, "consent.captured_at grammar"). Null and absence are
 * missing; a number of seconds, a leap second (:60) and hour 24 are invalid. Date keeps
 * milliseconds; the digits after them are cut.
 */
export function readCapturedAt(value: unknown): CapturedAt {
  if (value === undefined || value === null) return 'missing'
  if (typeof value !== 'string') return 'invalid'
  const parts = GRAMMAR.exec(value)
  if (parts === null) return 'invalid'
  const [, year, month, day] = parts
  // Date would roll 30 February over into March instead of refusing it.
  if (Number(day) > daysInMonth(Number(year), Number(month))) return 'invalid'
  return new Date(value)
}

/**
 * The time as evidence: ISO 8601 in UTC, or null when there is none or when it lies in the future
 * of the receipt. A time still to come would outrun every later withdrawal.
 */
export function credibleTime(captured: CapturedAt, receivedAt: Date): string | null {
  if (!(captured instanceof Date)) return null
  return isLaterThan(captured, receivedAt) ? null : captured.toISOString()
}

/** True when the time is past the moment by more than the clock tolerance. */
export function isLaterThan(captured: Date, moment: Date): boolean {
  return captured.getTime() - moment.getTime() > CLOCK_TOLERANCE_MINUTES * MINUTE_MS
}

export function isOlderThanDays(captured: Date, moment: Date, days: number): boolean {
  return moment.getTime() - captured.getTime() > days * DAY_MS
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}
