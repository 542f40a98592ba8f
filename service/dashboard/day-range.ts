import { Refusal } from '../runtime/http/refusal.ts'
import { FieldErrorList } from '../runtime/http/validator.ts'
import {
  DAY_MILLISECONDS,
  formatUtcDay,
  isCalendarDay,
  subtractDays,
} from '../runtime/util/time.ts'
import type { DayRange } from '../signals/reports/match-quality-store.ts'

const DEFAULT_DAYS = 30
/** A quarter of a year. */
const DAYS_MAX = 92

/**
 * Reads `from` and `to` from a query: UTC days, both included, by default the last 30 days up to
 * today. Throws a 422 refusal naming every invalid field.
 */
export function readDayRange(query: unknown, now: Date): DayRange {
  const given = query as Record<string, unknown>
  const errors = new FieldErrorList()
  const to = readDay(errors, 'to', given.to) ?? formatUtcDay(now)
  const from = readDay(errors, 'from', given.from) ?? subtractDays(startOf(to), DEFAULT_DAYS - 1)
  if (errors.isEmpty && from > to) {
    errors.add('from', 'The from field must not be after the to field.')
  } else if (errors.isEmpty && countDays(from, to) > DAYS_MAX) {
    errors.add('from', `The from field must be at most ${DAYS_MAX} days before the to field.`)
  }
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return { from, to }
}

function readDay(errors: FieldErrorList, field: string, input: unknown): string | null {
  if (input === undefined || input === '') return null
  if (typeof input === 'string' && isCalendarDay(input)) return input
  errors.add(field, `The ${field} field must be a calendar day, such as 2026-11-20.`)
  return null
}

function countDays(from: string, to: string): number {
  return (startOf(to).getTime() - startOf(from).getTime()) / DAY_MILLISECONDS + 1
}

function startOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}
