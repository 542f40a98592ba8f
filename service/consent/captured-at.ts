import type { IngestionWarning } from '@signalbox/contract/submissions.ts'

const MINUTE_MILLISECONDS = 60_000
const DAY_MILLISECONDS = 86_400_000

/** Accepted difference between two clocks. */
const CLOCK_TOLERANCE_MINUTES = 5

/** Older consent is expired. TCF requires asking again at least every 13 months. */
export const CONSENT_AGE_DAYS_MAX = 395

const DAY = String.raw`(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
const TIME = String.raw`(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,6})?`
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`
const RFC_3339_DATE_TIME = new RegExp(`^${DAY}T${TIME}${ZONE}$`)

/** The time of capture, or why there is none. */
export type CapturedAt = Date | 'missing' | 'invalid'

/**
 * Parses `captured_at`: RFC 3339 with an uppercase T, Z or an offset, and a fraction of up to 6
 * digits. Null and absence are missing. Unix seconds, leap seconds (:60), hour 24, and days that do
 * not exist are invalid. Fractions are truncated to milliseconds.
 */
export function parseCapturedAt(value: unknown): CapturedAt {
  if (value === undefined || value === null) return 'missing'
  if (typeof value !== 'string') return 'invalid'
  const parts = RFC_3339_DATE_TIME.exec(value)
  if (parts === null) return 'invalid'
  const [, year, month, day] = parts
  // Date would turn 30 February into a day of March.
  if (Number(day) > daysInMonth(Number(year), Number(month))) return 'invalid'
  return new Date(value)
}

/**
 * The time as ISO 8601 in UTC. Null if it is missing, invalid, or later than the receipt: a future
 * time would override every later withdrawal.
 */
export function toCredibleTime(captured: CapturedAt, receivedAt: Date): string | null {
  if (!(captured instanceof Date)) return null
  return isLaterThan(captured, receivedAt) ? null : captured.toISOString()
}

/** Whether `captured` is later than `at` by more than the clock tolerance. */
function isLaterThan(captured: Date, at: Date): boolean {
  return captured.getTime() - at.getTime() > CLOCK_TOLERANCE_MINUTES * MINUTE_MILLISECONDS
}

/** Whether `captured` is more than `days` before `at`. */
export function isOlderThanDays(captured: Date, at: Date, days: number): boolean {
  return at.getTime() - captured.getTime() > days * DAY_MILLISECONDS
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Older consent still counts, with a warning. */
const CONSENT_WARNING_AGE_DAYS = 180

/**
 * Warnings about `consent.captured_at` for the 202 response. All use one code, and the message
 * names the problem. The age counts from the receipt, because the consent is used then. An old
 * event may get two warnings.
 */
export function buildCaptureWarnings(
  captured: CapturedAt,
  { receivedAt, eventTime, identityPresent }: ConsentContext,
): IngestionWarning[] {
  if (captured === 'missing') return identityPresent ? [toWarning(MISSING)] : []
  if (captured === 'invalid') return [toWarning(INVALID)]
  const warnings: IngestionWarning[] = []
  // A time in the future is also later than the event; one warning is enough.
  if (isLaterThan(captured, receivedAt)) warnings.push(toWarning(IN_FUTURE))
  else if (isLaterThan(captured, eventTime)) warnings.push(toWarning(AFTER_EVENT))
  if (isOlderThanDays(captured, receivedAt, CONSENT_WARNING_AGE_DAYS)) {
    warnings.push(toWarning(OLD))
  }
  return warnings
}

const MISSING =
  'consent.captured_at is missing: say when consent was captured, since the event carries identity.'
const INVALID =
  'consent.captured_at is not an RFC 3339 date-time with Z or an offset, like 2026-05-04T12:30:00Z.'
const IN_FUTURE = `consent.captured_at is over ${CLOCK_TOLERANCE_MINUTES} minutes in the future.`
const AFTER_EVENT =
  'consent.captured_at is later than the event: consent must come before the event it covers.'
const OLD = `consent.captured_at is older than ${CONSENT_WARNING_AGE_DAYS} days: ask again soon.`

function toWarning(message: string): IngestionWarning {
  return { code: 'consent_captured_at_invalid', field: 'consent.captured_at', message }
}

/** What the consent rules need besides the submitted signals. They read no clock of their own. */
export interface ConsentContext {
  /** When the service received the event. Ages count from here. */
  receivedAt: Date
  /** When the event happened. Consent captured later cannot cover it. */
  eventTime: Date
  /** Whether the event has a usable identifier of a person. */
  identityPresent: boolean
}
