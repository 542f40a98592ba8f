import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { DROP_REASONS, type DropReason } from './dropped-fields.ts'

/** Digits alone, or three numbers with one or two separators between them. */
const DIGITS = /^(\d{4})(\d{2})(\d{2})$/
const SEPARATOR = String.raw`[-/._|: \u2010-\u2015]{1,2}`
const YEAR_FIRST = new RegExp(`^(\\d{4})${SEPARATOR}(\\d{1,2})${SEPARATOR}(\\d{1,2})\\.?$`)
const YEAR_LAST = new RegExp(`^(\\d{1,2})${SEPARATOR}(\\d{1,2})${SEPARATOR}(\\d{4})\\.?$`)

/** Chinese, Japanese and Korean name the year, the month and the day. */
const NAMED_PARTS = /^(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]$/u

/** `(mm/dd/yyyy)`, as the label of a form has it. */
const FORMAT_HINT = / *\([dmy]{1,4}(?:[-/. ][dmy]{1,4}){2}\)$/

/** The time of an ISO 8601 timestamp, which many databases add to a date. */
const TIME_OF_DAY = /[t ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)? ?(?:z|[+-]\d{2}(?::?\d{2})?)?$/

/** The easternmost time zone is 14 hours ahead of UTC, so its date may be tomorrow's in UTC. */
const HOURS_AHEAD_OF_UTC_MAX = 14

/**
 * A birth date as YYYYMMDD, from 1900 to the day of `observedAt`. Accepts year-first and year-last
 * dates with - / . _ | : or spaces, and ISO 8601 timestamps, whose date counts as written: a shift
 * of time zones would change the birthday. A date that may be two is ambiguous, and so dropped: a
 * year-last one, unless the day or the month is above 12 or both are equal.
 */
export function normalizeBirthDate(
  prepared: string,
  { observedAt }: { observedAt: Date },
): string | { reason: DropReason } {
  const date = parseCalendarDate(prepared)
  if (date === null) return { reason: DROP_REASONS.birthDate }
  return isInFuture(date, observedAt) ? { reason: DROP_REASONS.birthDateInFuture } : date
}

function parseCalendarDate(prepared: string): string | null {
  const date = prepared.replace(FORMAT_HINT, '')
  const text = date.includes(':') ? date.replace(TIME_OF_DAY, '') : date
  const whole = DIGITS.exec(text)
  if (whole) return toCalendarDate(whole[1], whole[2], whole[3])
  const yearFirst = YEAR_FIRST.exec(text) ?? NAMED_PARTS.exec(text)
  if (yearFirst) {
    const [, year, second, third] = yearFirst
    // Year, day, month is no form of any country, but 1990-15-06 can be nothing else.
    return toCalendarDate(year, second, third) ?? toCalendarDate(year, third, second)
  }
  const yearLast = YEAR_LAST.exec(text)
  if (!yearLast) return null
  const [, first, second, year] = yearLast
  const monthFirst = toCalendarDate(year, first, second)
  const dayFirst = toCalendarDate(year, second, first)
  if (monthFirst !== null && dayFirst !== null && monthFirst !== dayFirst) return null
  return monthFirst ?? dayFirst
}

const BIRTH_YEAR_MIN = 1_900

function toCalendarDate(year = '', month = '', day = ''): string | null {
  const [y, m, d] = [Number(year), Number(month), Number(day)]
  if (y < BIRTH_YEAR_MIN) return null
  const date = new Date(Date.UTC(y, m - 1, d))
  // Date.UTC rolls 31 February over into March; a date that moved was never on a calendar.
  if (date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return null
  return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`
}

function isInFuture(date: string, observedAt: Date): boolean {
  // Most dates are decided by their year; writing out the latest date costs more than all the rest.
  if (Number(date.slice(0, 4)) < observedAt.getUTCFullYear()) return false
  return date > formatLatestDate(observedAt)
}

function formatLatestDate(observedAt: Date): string {
  const latest = new Date(observedAt.getTime() + HOURS_AHEAD_OF_UTC_MAX * HOUR_MILLISECONDS)
  return latest.toISOString().slice(0, 10).replaceAll('-', '')
}

/** The year of a birth date, YYYY. */
export function normalizeBirthYear(
  prepared: string,
  { observedAt }: { observedAt: Date },
): string | null {
  const isYear = /^\d{4}$/.test(prepared) && Number(prepared) >= BIRTH_YEAR_MIN
  return isYear && prepared <= formatLatestDate(observedAt).slice(0, 4) ? prepared : null
}

/** The month of a birth date, MM. */
export function normalizeBirthMonth(prepared: string): string | null {
  return toTwoDigits(prepared, 12)
}

/** The day of a birth date, DD. */
export function normalizeBirthDay(prepared: string): string | null {
  return toTwoDigits(prepared, 31)
}

function toTwoDigits(prepared: string, max: number): string | null {
  const number = /^\d{1,2}$/.test(prepared) ? Number(prepared) : 0
  return number >= 1 && number <= max ? prepared.padStart(2, '0') : null
}
