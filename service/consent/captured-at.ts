import type { IngestionWarning } from '@signalbox/contract/submissions.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Two clocks may differ by this much before a time counts as later than it can be. */
const CLOCK_TOLERANCE_MINUTES = 5

/** Consent older than this no longer speaks: TCF asks for a reminder at least every 13 months. */
export const CONSENT_AGE_DAYS_MAX = 395

const DAY = String.raw`(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
const TIME = String.raw`(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,6})?`
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`
const RFC_3339_DATE_TIME = new RegExp(`^${DAY}T${TIME}${ZONE}$`)

/** The time that consent was captured, or how it is not a time. */
export type CapturedAt = Date | 'missing' | 'invalid'

/**
 * Reads `captured_at`: RFC 3339 with capital T and with Z or an offset, a fraction of 1 to 6
 * digits, a real calendar time (wire shapes, "consent.captured_at grammar"). Null and absence are
 * missing; a number of seconds, a leap second (:60) and hour 24 are invalid. Date keeps
 * milliseconds; the digits after them are cut.
 */
export function parseCapturedAt(value: unknown): CapturedAt {
  if (value === undefined || value === null) return 'missing'
  if (typeof value !== 'string') return 'invalid'
  const parts = RFC_3339_DATE_TIME.exec(value)
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
export function toCredibleTime(captured: CapturedAt, receivedAt: Date): string | null {
  if (!(captured instanceof Date)) return null
  return isLaterThan(captured, receivedAt) ? null : captured.toISOString()
}

/** True when the time is past the moment by more than the clock tolerance. */
function isLaterThan(captured: Date, moment: Date): boolean {
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

/** Consent older than this is still honoured, and the caller is told that it grows old. */
const CONSENT_WARNING_AGE_DAYS = 180

/**
 * What is doubtful about `consent.captured_at`, for the 202 answer (decisions, section 3). There
 * is one code for all of it; the message tells which. It warns and never refuses. The age is
 * counted at receipt, since that is when the consent is used; an old event may earn two warnings.
 */
export function buildCaptureWarnings(
  captured: CapturedAt,
  moment: ConsentContext,
): IngestionWarning[] {
  if (captured === 'missing') return moment.identityPresent ? [toWarning(MISSING)] : []
  if (captured === 'invalid') return [toWarning(INVALID)]
  const warnings: IngestionWarning[] = []
  // A time in the future is later than the event as well; saying it once is enough.
  if (isLaterThan(captured, moment.receivedAt)) warnings.push(toWarning(IN_FUTURE))
  else if (isLaterThan(captured, moment.eventTime)) warnings.push(toWarning(AFTER_EVENT))
  if (isOlderThanDays(captured, moment.receivedAt, CONSENT_WARNING_AGE_DAYS)) {
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

/** Built anew each time, so that no caller can change the warning of another event. */
function toWarning(message: string): IngestionWarning {
  return { code: 'consent_captured_at_invalid', field: 'consent.captured_at', message }
}

/** What the decision must know beside the inputs; the room reads no clock of its own. */
export interface ConsentContext {
  /** When the service received the event. Ages are counted from here. */
  receivedAt: Date
  /** When the event took place; consent captured later than this cannot cover it. */
  eventTime: Date
  /** True when the event carries a usable identifier of a person. */
  identityPresent: boolean
}
