import { addHoursToDay, HOUR_MILLISECONDS, subtractDays } from '../../runtime/util/time.ts'

/** Hours after the start of a UTC day: 06:00 of the next day, and of the third day after. */
const FIRST_HOURS = 30
const SECOND_HOURS = 78
/** How long a report without counts is retried after its second due time. */
const SECOND_RETRY_HOURS = 24
const RETRY_HOURS = 1
/** Past days with counts at the platform, starting with yesterday (Meta: about seven). */
export const REPORT_DAYS_MAX = 7

/** The state of a report. */
export interface ReportAttempt {
  status: string
  /** When it was last made. */
  updatedAt: Date
  /** The time of the last request to the platform. */
  triedAt: Date
}

/**
 * Whether a report of a day is due: once after the day, and once more when late events have
 * arrived. The check is for a missing report, not for the hour, so a missed run is made up for.
 * Without counts the report is retried every hour until a day after its second due time. A report
 * that a person made before its time counts as none.
 */
export function isReportDue(day: string, attempt: ReportAttempt | undefined, now: Date): boolean {
  const first = firstDueAt(day)
  if (now < first) return false
  if (!attempt || attempt.triedAt < first) return true
  const second = addHoursToDay(day, SECOND_HOURS)
  const wasMade = attempt.status !== 'unavailable' && attempt.updatedAt >= first
  const isFinal = wasMade && attempt.updatedAt >= second
  const waitsForSecond = wasMade && now < second
  if (isFinal || waitsForSecond) return false
  // The first attempt after the second due time does not wait.
  if (attempt.triedAt < second && now >= second) return true
  if (now >= addHoursToDay(day, SECOND_HOURS + SECOND_RETRY_HOURS)) return false
  return now.getTime() - attempt.triedAt.getTime() >= RETRY_HOURS * HOUR_MILLISECONDS
}

/** When the report of a day is first due. */
export function firstDueAt(day: string): Date {
  return addHoursToDay(day, FIRST_HOURS)
}

/** Whether a report made now is final. */
export function isFinalReport(day: string, now: Date): boolean {
  return now >= addHoursToDay(day, SECOND_HOURS)
}

/** The days whose reports may be due at `now`, oldest first. */
export function listReportDays(now: Date): string[] {
  return Array.from({ length: REPORT_DAYS_MAX }, (_, index) =>
    subtractDays(now, REPORT_DAYS_MAX - index),
  )
}
