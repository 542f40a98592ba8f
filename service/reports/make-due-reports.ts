import type { Destination } from '../delivery/destination-store.ts'
import { daysBefore } from './calendar-day.ts'
import { judgeResidual } from './judge-residual.ts'
import { makeReport, type ReportContext } from './make-report.ts'
import type { AlertContext } from './raise-alert.ts'
import { type DestinationKey, findSenders, findTrials, trialKey } from './reconciliation-store.ts'
import { isFinalTime, isReportDue, REPORT_DAYS_MAX, reportDays } from './report-due.ts'

/** Reports of one run; each takes one or two requests to the platform. */
const REPORTS_MAX = 500
const PAGE_DESTINATIONS = 100

export interface DueReports {
  now: Date
  /** Aborted when the run has to end: what is left is made by the next one. */
  signal?: AbortSignal
}

export interface DueReportsMade {
  /** Reports with the platform's counts. */
  made: number
  /** Tries that got none. */
  unavailable: number
  /** The run ended at its limit, so that more is due already. */
  more: boolean
}

/**
 * Makes every reconciliation report that is due, for all destinations that sent anything in the
 * last days. What is due is what is missing in the store, so repeats and several processes do no
 * harm. What stays unexplained in a final report raises an alert. Throws, after all others were
 * made, when one could not be made for a reason that is no answer of the platform.
 */
export async function makeDueReports(
  context: ReportContext & AlertContext,
  { now, signal }: DueReports,
): Promise<DueReportsMade> {
  const made: DueReportsMade = { made: 0, unavailable: 0, more: false }
  const failures: unknown[] = []
  for await (const { destination, day } of dueReports(context, now)) {
    if (signal?.aborted || made.made + made.unavailable + failures.length === REPORTS_MAX) {
      made.more = true
      break
    }
    try {
      const reconciliation = await makeReport(context, destination, day)
      made[reconciliation.status === 'unavailable' ? 'unavailable' : 'made'] += 1
      if (!isFinalTime(day, now)) continue
      const { trackerId, id: destinationId } = destination
      await judgeResidual(context, { trackerId, destinationId, day, reconciliation, at: now })
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, `${failures.length} reconciliation reports were not made`)
  }
  return made
}

interface DueReport {
  destination: Destination
  day: string
}

async function* dueReports({ database }: ReportContext, now: Date): AsyncGenerator<DueReport> {
  const days = reportDays(now)
  const since = daysBefore(now, REPORT_DAYS_MAX)
  let after: DestinationKey | null = null
  for (;;) {
    const page: Destination[] = await findSenders(database, {
      sentSince: since,
      after,
      limit: PAGE_DESTINATIONS,
    })
    const trackerIds = [...new Set(page.map(({ trackerId }) => trackerId))]
    const trials = await findTrials(database, trackerIds, since)
    for (const destination of page) {
      const firstDay = daysBefore(destination.createdAt, 0)
      for (const day of days.filter(day => day >= firstDay)) {
        if (isReportDue(day, trials.get(trialKey(destination, day)), now)) {
          yield { destination, day }
        }
      }
    }
    if (page.length < PAGE_DESTINATIONS) return
    after = page.at(-1) ?? null
  }
}
