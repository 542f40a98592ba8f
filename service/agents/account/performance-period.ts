import {
  filterValue,
  PERFORMANCE_DAYS,
  PERFORMANCE_DAYS_MAX,
  type PerformanceInput,
} from '@signalbox/contract/agents/tool-inputs.ts'
import { type FieldErrors, Refusal } from '../../runtime/http/refusal.ts'
import {
  DAY_MILLISECONDS,
  isCalendarDay,
  subtractDays,
  toDaySpan,
} from '../../runtime/util/time.ts'

/** UTC days, YYYY-MM-DD, inclusive. */
export interface Period {
  since: string
  until: string
}

/** The requested days, by dates or their number. Throws a 422 refusal for invalid dates. */
export function readPeriod(
  { days = PERFORMANCE_DAYS, ...given }: PerformanceInput,
  at: Date,
): Period {
  const today = subtractDays(at, 0)
  const since = filterValue(given.since)
  const until = filterValue(given.until)
  if (since === undefined && until === undefined) {
    return { since: subtractDays(at, days - 1), until: today }
  }
  const errors: FieldErrors = {}
  const problem = (field: string, text: string) => {
    errors[field] = [`The ${field} field must be ${text}.`]
  }
  if (since !== undefined && !isCalendarDay(since)) problem('since', 'a date, or any')
  if (until !== undefined && !isCalendarDay(until)) problem('until', 'a date, or any')
  if (since === undefined) problem('since', 'given with until')
  const last = until ?? today
  const isOrdered = since === undefined || (since <= last && last <= today)
  if (Object.keys(errors).length === 0 && !isOrdered) {
    problem('until', `from since up to today, ${today}`)
  }
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  const span = { since: since ?? today, until: until ?? today }
  if (countDays(span) <= PERFORMANCE_DAYS_MAX) return span
  throw Refusal.ofFields({
    since: [`The since field must be at most ${PERFORMANCE_DAYS_MAX} days before until.`],
  })
}

export function countDays({ since, until }: Period): number {
  const milliseconds = toDaySpan(until).until.getTime() - toDaySpan(since).from.getTime()
  return Math.round(milliseconds / DAY_MILLISECONDS)
}
