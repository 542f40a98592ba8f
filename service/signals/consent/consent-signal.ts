import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { CategoryMeanings } from './consent-names.ts'

/** The state of one input for advertising. Unknown neither grants nor denies. */
export type ConsentState = 'granted' | 'denied' | 'unknown'

/**
 * Why an input has its state. `no_signal` means that nothing was said; the other unknowns are
 * signals that grant nothing. `possible_refusal` is a refusal by the words of a name that is not in
 * the table of forms. `opt_out_not_made` is an opt-out that the person did not make, and
 * `advertising_not_mentioned` an object about other purposes, or one that is not readable.
 */
export type SignalReason =
  | 'words_granted'
  | 'words_denied'
  | 'words_unreadable'
  | 'possible_refusal'
  | 'opted_out'
  | 'gpp_opt_out'
  | 'opt_out_not_made'
  | 'advertising_not_mentioned'
  | 'ad_storage_or_ad_user_data_missing'
  | 'tc_ad_purposes_granted'
  | 'tc_ad_purposes_refused'
  | 'tc_vendor_refused'
  | 'tc_string_undecodable'
  | 'tc_policy_too_old'
  | 'tc_disclosed_vendors_missing'
  | 'tc_created_in_future'
  | 'tc_strings_conflict'
  | 'tc_string_missing'
  | 'tc_consent_implied'
  | 'ac_provider_not_consented'
  | 'ac_string_undecodable'
  | 'consent_expired'
  | 'gpc_opt_out'
  | 'gpc_overruled_by_later_grant'
  | 'no_signal'
  | 'not_read'

/**
 * One input of the decision, reduced to a state and its reason. It is plain JSON, because the trace
 * stores it: it has names of known members and times, never text from the caller. `field` is the
 * dotted path of the member that decided, or of the input. `captured_at` is UTC, ISO 8601 with
 * milliseconds, or null without a credible time.
 */
export interface ConsentSignal {
  state: ConsentState
  why: SignalReason
  field: string
  captured_at: string | null
}

/** The input is missing or has no member about advertising. */
export function noSignal(field: string, captured_at: string | null = null): ConsentSignal {
  return { state: 'unknown', why: 'no_signal', field, captured_at }
}

const MINUTE_MILLISECONDS = 60_000

/** Accepted difference between two clocks. */
export const CLOCK_TOLERANCE_MINUTES = 5

/** An older grant is expired. TCF requires asking again at least every 13 months. */
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
  if (value === last.text) return new Date(last.milliseconds)
  const parts = RFC_3339_DATE_TIME.exec(value)
  if (parts === null) return 'invalid'
  const [, year, month, day] = parts
  // Date would turn 30 February into a day of March.
  if (Number(day) > daysInMonth(Number(year), Number(month))) return 'invalid'
  const captured = new Date(value)
  last = { text: value, milliseconds: captured.getTime() }
  return captured
}

/** The time that was read last: an event's is read for its decision and for its record. */
let last = { text: '', milliseconds: 0 }

/**
 * The time as ISO 8601 in UTC. Null if it is missing, invalid, or later than the receipt: a future
 * time would override every later withdrawal.
 */
export function toCredibleTime(captured: CapturedAt, receivedAt: Date): string | null {
  if (!(captured instanceof Date) || isLaterThan(captured, receivedAt)) return null
  const isLast = captured.getTime() === last.milliseconds && isCanonical(last.text)
  return isLast ? last.text : captured.toISOString()
}

/** Whether an RFC 3339 time is written as `toISOString` writes it, which takes 0.9 µs. */
function isCanonical(text: string): boolean {
  return text.length === CANONICAL_CHARACTERS && text.endsWith('Z')
}

/** With three digits of a second. */
const CANONICAL_CHARACTERS = 24

/**
 * Whether a consent overrules an opt-out. It must be captured later by more than the clock
 * tolerance, and not after the receipt of its event: otherwise a clock that runs five minutes fast
 * would make a consent from before the opt-out look newer.
 */
export function isCapturedAfterOptOut(
  captured: Date,
  { optedOutAt, receivedAt }: { optedOutAt: Date; receivedAt: Date },
): boolean {
  return captured.getTime() <= receivedAt.getTime() && isLaterThan(captured, optedOutAt)
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
  /** What the tracker's own categories mean; see `consent-categories.ts`. */
  categories?: CategoryMeanings | null
  /** When the service received the event. Ages count from here. */
  receivedAt: Date
  /** When the event happened. Consent captured later cannot cover it. */
  eventTime: Date
  /** Whether the event has a usable identifier of a person. */
  identityPresent: boolean
  /** Whether the browser sent `Sec-GPC: 1`. Only for requests with a publishable key. */
  hasGpcHeader?: boolean
  /** Default: none is set. */
  settings?: ConsentSettings
}

/** The settings of the service that the consent rules read, by the names in `runtime/settings`. */
export interface ConsentSettings {
  /** Id of the platform in Google's Additional Consent strings. Unset: they are not looked at. */
  additionalConsentProvider?: number | undefined
}
