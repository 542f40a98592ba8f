import { DayRangeQuery } from '@signalbox/contract/session/reports.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { Validator } from '../runtime/http/validator.ts'
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

const rangeValidator = new Validator(DayRangeQuery, {
  members: {
    to: { error: describeInvalidDay('to'), parse: parseDay },
    from: { error: describeInvalidDay('from'), parse: parseDay },
  },
})

function describeInvalidDay(field: string): string {
  return `The ${field} field must be a calendar day, such as 2026-11-20.`
}

/** An empty day is left out. */
function parseDay(text: string): string | null {
  return text === '' || isCalendarDay(text) ? text : null
}

/**
 * Reads `from` and `to` from a query: UTC days, both included, by default the last 30 days up to
 * today. Throws a 422 refusal naming every invalid field.
 */
export function readDayRange(query: unknown, now: Date): DayRange {
  const given = rangeValidator.validate(query)
  const to = given.to || formatUtcDay(now)
  const from = given.from || subtractDays(startOf(to), DEFAULT_DAYS - 1)
  if (from > to)
    throw Refusal.ofFields({ from: ['The from field must not be after the to field.'] })
  if (countDays(from, to) > DAYS_MAX) {
    const sentence = `The from field must be at most ${DAYS_MAX} days before the to field.`
    throw Refusal.ofFields({ from: [sentence] })
  }
  return { from, to }
}

function countDays(from: string, to: string): number {
  return (startOf(to).getTime() - startOf(from).getTime()) / DAY_MILLISECONDS + 1
}

function startOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}
