import { formatUtcDay, isCalendarDay, subtractDays, toDaySpan } from '../../runtime/util/time.ts'
import { type Destination, findDestination } from '../delivery/destination-store.ts'
import { findDestinationRoutes } from '../delivery/plan-store.ts'
import { type AlertContext, type AlertSubject, raiseAlert, resolveAlert } from './alert-store.ts'
import { findThresholdsOfTracker } from './alert-threshold-store.ts'
import { compareDay, type ReportContext, readDetails } from './compare-day.ts'
import type { DayReconciliation } from './reconcile-day.ts'
import {
  type DestinationKey,
  findActiveDestinations,
  findReportAttempts,
  reportAttemptKey,
  saveReport,
} from './reconciliation-store.ts'
import { isFinalReport, isReportDue, listReportDays, REPORT_DAYS_MAX } from './report-schedule.ts'

/** Reports per run. Each takes one or two requests to the platform. */
const REPORTS_MAX = 500
const PAGE_DESTINATIONS = 100

interface DueReports {
  now: Date
  /** Stops the run; the next run makes the rest. */
  signal?: AbortSignal
}

interface DueReportsMade {
  /** Reports with counts of the platform. */
  made: number
  /** Attempts without counts. */
  unavailable: number
  /** The run stopped at its limit; more reports are due. */
  more: boolean
}

/**
 * Makes all due reconciliation reports, for every destination that received events in the last
 * days. A report is due when it is missing in the store, so repeats and concurrent processes are
 * safe. A large unexplained residual in a final report raises an alert. One failed report does not
 * stop the others; an AggregateError at the end has all failures that are not answers of the
 * platform.
 */
export async function makeDueReports(
  context: ReportContext & AlertContext,
  { now, signal }: DueReports,
): Promise<DueReportsMade> {
  const made: DueReportsMade = { made: 0, unavailable: 0, more: false }
  const failures: unknown[] = []
  for await (const { destination, day } of findDueReports(context, now)) {
    if (signal?.aborted || made.made + made.unavailable + failures.length === REPORTS_MAX) {
      made.more = true
      break
    }
    try {
      const reconciliation = await makeReport(context, destination, day)
      made[reconciliation.status === 'unavailable' ? 'unavailable' : 'made'] += 1
      if (!isFinalReport(day, now)) continue
      const { trackerId, id: destinationId } = destination
      await updateResidualAlert(context, { trackerId, destinationId, day, reconciliation, at: now })
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, `${failures.length} reconciliation reports failed`)
  }
  return made
}

interface DueReport {
  destination: Destination
  day: string
}

async function* findDueReports({ database }: ReportContext, now: Date): AsyncGenerator<DueReport> {
  const days = listReportDays(now)
  const since = subtractDays(now, REPORT_DAYS_MAX)
  let after: DestinationKey | null = null
  for (;;) {
    const page: Destination[] = await findActiveDestinations(database, {
      sentSince: since,
      after,
      limit: PAGE_DESTINATIONS,
    })
    const trackerIds = [...new Set(page.map(({ trackerId }) => trackerId))]
    const attempts = await findReportAttempts(database, trackerIds, since)
    for (const destination of page) {
      const firstDay = formatUtcDay(destination.createdAt)
      for (const day of days.filter(day => day >= firstDay)) {
        if (isReportDue(day, attempts.get(reportAttemptKey(destination, day)), now)) {
          yield { destination, day }
        }
      }
    }
    if (page.length < PAGE_DESTINATIONS) return
    after = page.at(-1) ?? null
  }
}

interface RefreshRequest {
  trackerId: string
  /** UTC day, YYYY-MM-DD. */
  date: string
}

type RefreshedReports =
  | { kind: 'made'; made: number; unavailable: number }
  /** No calendar day, or a day that has not ended. */
  | { kind: 'no_ended_day' }

/** Makes the reports of a day for all destinations of a tracker, whether or not they are due. */
export async function refreshReports(
  context: ReportContext,
  { trackerId, date }: RefreshRequest,
): Promise<RefreshedReports> {
  const { database, now } = context
  if (!isCalendarDay(date) || now() < toDaySpan(date).until) return { kind: 'no_ended_day' }
  const refreshed = { kind: 'made' as const, made: 0, unavailable: 0 }
  for (const { id } of await findDestinationRoutes(database, trackerId, now())) {
    const destination = await findDestination(database, trackerId, id)
    if (!destination) continue
    const { status } = await makeReport(context, destination, date)
    refreshed[status === 'unavailable' ? 'unavailable' : 'made'] += 1
  }
  return refreshed
}

/**
 * Makes, stores and returns the report of one destination and UTC day. Without counts of the
 * platform the report is `unavailable`, and a stored report with counts stays. The report of a day
 * that has not ended has what both sides know so far; the scheduled one replaces it.
 */
export async function makeReport(
  context: ReportContext,
  destination: Destination,
  day: string,
): Promise<DayReconciliation> {
  const { database, now } = context
  const { trackerId, id: destinationId } = destination
  const madeAt = now()
  const { reconciliation, ...compared } = await compareDay(context, destination, day)
  const details = await readDetails(context, { destination, day, reconciliation, compared })
  await saveReport(database, { trackerId, destinationId, day, reconciliation, details, madeAt })
  return reconciliation
}

interface FinalReport {
  trackerId: string
  destinationId: string
  /** UTC day, YYYY-MM-DD. */
  day: string
  reconciliation: DayReconciliation
  at: Date
}

/**
 * Raises an alert when the final report of a day has a large unexplained residual: both the events
 * and the percent of the accepted ones that the workspace chose. Resolves it
 * when the report of a later day does not. Pending and unavailable days change nothing.
 */
async function updateResidualAlert(
  context: AlertContext,
  { trackerId, destinationId, day, reconciliation, at }: FinalReport,
): Promise<void> {
  const { status, acceptedCount, platformCount, unexplainedResidual } = reconciliation
  const subject: AlertSubject = { trackerId, destinationId, kind: 'reconciliation_unexplained' }
  if (status === 'pending' || status === 'unavailable' || unexplainedResidual === null) return
  const unexplained = Math.abs(unexplainedResidual)
  const { unexplainedEvents, unexplainedPercent } = await findThresholdsOfTracker(
    context.database,
    trackerId,
  )
  const share = (acceptedCount * Number(unexplainedPercent)) / 100
  if (unexplained < unexplainedEvents || unexplained < share) {
    await resolveAlert(context, subject, at)
    return
  }
  const side = unexplainedResidual > 0 ? 'fewer' : 'more'
  const sentence =
    `On ${day} the platform counts ${unexplained} events ${side} than the report explains: ` +
    'see the reconciliation report.'
  const details = { day, acceptedCount, metaCount: platformCount, unexplainedResidual }
  await raiseAlert(context, { ...subject, sentence, details }, at)
}
