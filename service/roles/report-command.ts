import { parseArgs } from 'node:util'
import { waitUntil } from '@signalbox/embedded-postgres/postmaster.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { everyDestination } from '../delivery/credential-store.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { enqueueJob, hasPendingJob } from '../jobs/store.ts'
import { findReports } from '../reports/reconciliation-store.ts'
import { firstDueAt, REPORT_DAYS_MAX } from '../reports/report-schedule.ts'
import { addHoursToDay, isCalendarDay, toDaySpan } from '../util/calendar-day.ts'
import { formatIsoMinute } from '../util/date-text.ts'
import { requireId } from './credential-command.ts'
import { openStore } from './open-store.ts'
import { formatReportTable } from './report-table.ts'
import { type RoleContext, StartError } from './role.ts'

/** Shows the reconciliation of a day in the terminal, and has it made before when asked to. */
export async function runReport(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = parseReportCommand(argumentList)
  const { settings, logger, now, printOutput: print } = context
  if (command.refresh && now() < toDaySpan(command.date).until) {
    throw new StartError(explainMissingReport(command.date, now()))
  }
  const store = await openStore({ settings, logger, role: 'report', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const destinations = await findDestinations(store.database, command)
    if (command.refresh) await refreshReports(store.database, command, destinations)
    const shown = await printReports(context, command, { database: store.database, destinations })
    if (shown === 0) print(`${explainMissingReport(command.date, now())}\n`)
  } finally {
    await store.close()
  }
}

async function findDestinations(
  database: Database,
  { trackerId }: ReportCommand,
): Promise<Destination[]> {
  const all = await Array.fromAsync(everyDestination(database))
  return all.filter(destination => trackerId === null || destination.trackerId === trackerId)
}

const REFRESH_JOB = 'refresh-report'
const REFRESH_TIMEOUT_SECONDS = 60
const POLL_MILLISECONDS = 100

/** The workers know the platform and its credentials; here nobody has to. */
async function refreshReports(
  database: Database,
  { date }: ReportCommand,
  destinations: readonly Destination[],
): Promise<void> {
  const trackerIds = [...new Set(destinations.map(({ trackerId }) => trackerId))]
  for (const trackerId of trackerIds) await enqueueJob(database, REFRESH_JOB, { trackerId, date })
  const patience = {
    timeoutSeconds: REFRESH_TIMEOUT_SECONDS,
    intervalMilliseconds: POLL_MILLISECONDS,
  }
  const isMade = async () => !(await hasPendingJob(database, REFRESH_JOB))
  if (await waitUntil(isMade, patience)) return
  throw new StartError(
    'No worker has made the report within a minute: start "npm start" or the role deliver, with ' +
      'SIGNALBOX_JOBS on; it is made as soon as one runs.',
  )
}

interface ReportSource {
  database: Database
  destinations: readonly Destination[]
}

/** Returns how many reports it showed. */
async function printReports(
  { printOutput: print }: RoleContext,
  { date }: ReportCommand,
  { database, destinations }: ReportSource,
): Promise<number> {
  let shown = 0
  for (const destination of destinations) {
    const reports = await findReports(database, destination.trackerId, date)
    const report = reports.find(({ destinationId }) => destinationId === destination.id)
    if (!report) continue
    print(`${shown > 0 ? '\n' : ''}${formatReportTable(report, destination)}`)
    if (report.trouble !== null) {
      print(
        `At ${formatIsoMinute(report.triedAt)} UTC it could not be made again. ${report.trouble}\n`,
      )
    }
    shown += 1
  }
  return shown
}

/** Why there is nothing to show, and when there will be. */
function explainMissingReport(day: string, now: Date): string {
  const dueAt = firstDueAt(day)
  const due = `${formatIsoMinute(dueAt)} UTC`
  if (now < toDaySpan(day).until) return `${day} has not ended: its report is made at ${due}.`
  if (now < dueAt) return `The report of ${day} is made at ${due}; --refresh makes it now.`
  if (now < addHoursToDay(day, 24 * REPORT_DAYS_MAX)) {
    return (
      `There is no report of ${day}: it is made within the hour where anything was sent in the ` +
      'last days and a worker runs; --refresh makes it now.'
    )
  }
  return `There is no report of ${day}, and the platform shows counts of the last 7 days only.`
}

/** What `report` is asked to show. */
export interface ReportCommand {
  /** UTC day, YYYY-MM-DD. */
  date: string
  /** Null: every tracker of the store. */
  trackerId: string | null
  /** Ask the platform now, and keep what it says. */
  refresh: boolean
}

const USAGE = 'Usage: npm run report -- --date YYYY-MM-DD [--tracker ID] [--refresh]'

/** Throws a StartError: how the command is used, or which option is wrong. */
export function parseReportCommand(argumentList: readonly string[]): ReportCommand {
  const { date, tracker, refresh = false } = parseOptions(argumentList)
  if (date === undefined) throw new StartError(USAGE)
  if (!isCalendarDay(date))
    throw new StartError(`--date takes a day such as 2026-11-20, not ${date}.`)
  const trackerId = tracker === undefined ? null : requireId('--tracker', tracker)
  return { date, trackerId, refresh }
}

function parseOptions(argumentList: readonly string[]) {
  try {
    return parseArgs({
      args: [...argumentList],
      options: {
        date: { type: 'string' },
        tracker: { type: 'string' },
        refresh: { type: 'boolean' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
