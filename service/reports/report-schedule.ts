import { addHoursToDay, subtractDays } from '../util/calendar-day.ts'

/** Hours after a UTC day began: 06:00 of the next day, and of the third. */
const FIRST_HOURS = 30
const SECOND_HOURS = 78
/** So long after its second time a report that got no counts is still tried again. */
const SECOND_TRIES_HOURS = 24
const TRY_AGAIN_HOURS = 1
/** Days that a platform can be asked for, yesterday being the first (Meta: about seven). */
export const REPORT_DAYS_MAX = 7

/** What became of a report so far. */
export interface ReportAttempt {
  status: string
  /** When it was last made. */
  updatedAt: Date
  /** When the platform was last asked for it. */
  triedAt: Date
}

/**
 * Whether a day's report is to be made now: once when the day has ended, and once more when late
 * events are in. It looks at what is missing and not at the hour, so a time that was missed is made
 * up. Without counts it is tried again each hour, up to a day after its second time.
 */
export function isReportDue(day: string, trial: ReportAttempt | undefined, now: Date): boolean {
  if (now < firstDueAt(day)) return false
  if (!trial) return true
  const second = addHoursToDay(day, SECOND_HOURS)
  const wasMade = trial.status !== 'unavailable'
  const isFinal = wasMade && trial.updatedAt >= second
  const waitsForSecond = wasMade && now < second
  if (isFinal || waitsForSecond) return false
  // The first try after a time that is new does not wait.
  if (trial.triedAt < second && now >= second) return true
  if (now >= addHoursToDay(day, SECOND_HOURS + SECOND_TRIES_HOURS)) return false
  return now.getTime() - trial.triedAt.getTime() >= TRY_AGAIN_HOURS * 3_600_000
}

/** When the report of a day is made for the first time. */
export function firstDueAt(day: string): Date {
  return addHoursToDay(day, FIRST_HOURS)
}

/** Whether a report that is made now is made for good. */
export function isFinalReport(day: string, now: Date): boolean {
  return now >= addHoursToDay(day, SECOND_HOURS)
}

/** The days whose reports may be due at `now`, the oldest first. */
export function listReportDays(now: Date): string[] {
  return Array.from({ length: REPORT_DAYS_MAX }, (_, index) =>
    subtractDays(now, REPORT_DAYS_MAX - index),
  )
}
