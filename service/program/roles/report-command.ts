import { Command } from 'commander'
import type { Database } from '../../runtime/db/database.ts'
import type { JobName } from '../../runtime/jobs/job.ts'
import { enqueueJob, hasPendingJob } from '../../runtime/jobs/job-store.ts'
import {
  addHoursToDay,
  formatIsoMinute,
  isCalendarDay,
  toDaySpan,
} from '../../runtime/util/time.ts'
import { sleep } from '../../runtime/util/wait.ts'
import { everyDestination } from '../../signals/delivery/credential-store.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import { findReports } from '../../signals/reports/reconciliation-store.ts'
import { firstDueAt, REPORT_DAYS_MAX } from '../../signals/reports/report-schedule.ts'
import { runOnStore } from './open-store.ts'
import { parseTracker, type TrackerReference } from './option-values.ts'
import { formatReportTable } from './report-table.ts'
import { type RoleContext, StartError } from './role.ts'
import { findTrackerArgument } from './tracker-argument.ts'

/** Shows the reconciliation reports of a day; with `refresh`, the workers make them first. */
export async function runReport(context: RoleContext, request: ReportRequest): Promise<void> {
  const { now, printOutput } = context
  if (request.refresh && now() < toDaySpan(request.date).until) {
    throw new StartError(explainMissingReport(request.date, now()))
  }
  await runOnStore(context, 'report', async ({ database }) => {
    const destinations = await findDestinations(database, request)
    if (request.refresh) await refreshReports(database, request, destinations)
    const count = await printReports(context, request, { database, destinations })
    if (count === 0) printOutput(`${explainMissingReport(request.date, now())}\n`)
  })
}

async function findDestinations(
  database: Database,
  { tracker }: ReportRequest,
): Promise<Destination[]> {
  const trackerId = tracker && (await findTrackerArgument(database, tracker)).trackerId
  const all = await Array.fromAsync(everyDestination(database))
  return all.filter(destination => trackerId === null || destination.trackerId === trackerId)
}

const REFRESH_JOB: JobName = 'refresh-report'
const POLL_SECONDS = 0.1
/** One minute. */
const POLLS_MAX = 600

/** The workers make reports, since they know the platform and its credentials. */
async function refreshReports(
  database: Database,
  { date }: ReportRequest,
  destinations: readonly Destination[],
): Promise<void> {
  const trackerIds = [...new Set(destinations.map(({ trackerId }) => trackerId))]
  for (const trackerId of trackerIds) await enqueueJob(database, REFRESH_JOB, { trackerId, date })
  for (let polls = 0; polls < POLLS_MAX; polls += 1) {
    if (!(await hasPendingJob(database, REFRESH_JOB))) return
    await sleep(POLL_SECONDS)
  }
  throw new StartError(
    'No worker made the report within a minute: start "signalbox-server all" or "deliver" with ' +
      'SIGNALBOX_JOBS on; the report is made as soon as a worker runs.',
  )
}

interface ReportSource {
  database: Database
  destinations: readonly Destination[]
}

/** Returns the number of reports. */
async function printReports(
  { printOutput }: RoleContext,
  { date }: ReportRequest,
  { database, destinations }: ReportSource,
): Promise<number> {
  let count = 0
  for (const destination of destinations) {
    const reports = await findReports(database, destination.trackerId, date)
    const report = reports.find(({ destinationId }) => destinationId === destination.id)
    if (!report) continue
    printOutput(`${count > 0 ? '\n' : ''}${formatReportTable(report, destination)}`)
    if (report.trouble !== null) {
      const at = formatIsoMinute(report.triedAt)
      printOutput(`The refresh at ${at} UTC failed. ${report.trouble}\n`)
    }
    count += 1
  }
  return count
}

/** Why there is no report, and when there will be one. */
function explainMissingReport(day: string, now: Date): string {
  const dueAt = firstDueAt(day)
  const due = `${formatIsoMinute(dueAt)} UTC`
  if (now < toDaySpan(day).until) return `${day} is not over: its report is made at ${due}.`
  if (now < dueAt) return `The report of ${day} is made at ${due}; --refresh makes it now.`
  if (now < addHoursToDay(day, 24 * REPORT_DAYS_MAX)) {
    return (
      `There is no report of ${day}: a running worker makes it within the hour if events were ` +
      'sent in the last days; --refresh makes it now.'
    )
  }
  return `There is no report of ${day}, and the platform keeps counts for 7 days only.`
}

export interface ReportRequest {
  /** UTC day, YYYY-MM-DD. */
  date: string
  /** Null: all trackers of the store. */
  tracker: TrackerReference | null
  /** Get the counts of the platform now, and store the new report. */
  refresh: boolean
}

export function defineReportCommand(handle: (request: ReportRequest) => Promise<void>): Command {
  return new Command()
    .requiredOption('--date <day>', 'UTC day, YYYY-MM-DD', parseDay)
    .option('--tracker <id>', 'ID of a tracker or of its workspace; all by default', parseTracker)
    .option('--refresh', 'make the report now', false)
    .action(({ date, tracker = null, refresh }) => handle({ date, tracker, refresh }))
}

function parseDay(text: string): string {
  if (isCalendarDay(text)) return text
  throw new StartError(`--date takes a day such as 2026-11-20, not ${text}.`)
}
