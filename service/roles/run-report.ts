import { waitUntil } from '@signalbox/embedded-postgres/postmaster.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { everyDestination } from '../delivery/credential-store.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { enqueueJob, hasPendingJob } from '../jobs/store.ts'
import { firstDueAt, REPORT_DAYS_MAX } from '../reports/report-schedule.ts'
import { findReports } from '../reports/report-store.ts'
import { addHoursToDay, toDaySpan } from '../util/calendar-day.ts'
import { formatIsoMinute } from '../util/date-text.ts'
import { openStore } from './open-store.ts'
import { type ReportCommand, reportCommand } from './report-command.ts'
import { reportTable } from './report-table.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

/** Shows the reconciliation of a day in the terminal, and has it made before when asked to. */
export async function runReport(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = reportCommand(argumentList)
  const { settings, logger, now, print } = context
  if (command.refresh && now() < toDaySpan(command.date).until) {
    throw new StartError(missingSentence(command.date, now()))
  }
  const store = await openStore({ settings, logger, role: 'report', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const destinations = await destinationsOf(store.database, command)
    if (command.refresh) await refresh(store.database, command, destinations)
    const shown = await show(context, command, { database: store.database, destinations })
    if (shown === 0) print(`${missingSentence(command.date, now())}\n`)
  } finally {
    await store.close()
  }
}

async function destinationsOf(
  database: Database,
  { trackerId }: ReportCommand,
): Promise<Destination[]> {
  const all = await Array.fromAsync(everyDestination(database))
  return all.filter(destination => trackerId === null || destination.trackerId === trackerId)
}

const REFRESH_JOB = 'refresh-report'
const REFRESH_SECONDS_MAX = 60
const LOOK_MILLISECONDS = 100

/** The workers know the platform and its credentials; here nobody has to. */
async function refresh(
  database: Database,
  { date }: ReportCommand,
  destinations: readonly Destination[],
): Promise<void> {
  const trackerIds = [...new Set(destinations.map(({ trackerId }) => trackerId))]
  for (const trackerId of trackerIds) await enqueueJob(database, REFRESH_JOB, { trackerId, date })
  const patience = { timeoutSeconds: REFRESH_SECONDS_MAX, intervalMilliseconds: LOOK_MILLISECONDS }
  const isMade = async () => !(await hasPendingJob(database, REFRESH_JOB))
  if (await waitUntil(isMade, patience)) return
  throw new StartError(
    'No worker has made the report within a minute: start "npm start" or the role deliver, with ' +
      'SIGNALBOX_JOBS on; it is made as soon as one runs.',
  )
}

interface Shown {
  database: Database
  destinations: readonly Destination[]
}

/** Returns how many reports it showed. */
async function show(
  { print }: RoleContext,
  { date }: ReportCommand,
  { database, destinations }: Shown,
): Promise<number> {
  let shown = 0
  for (const destination of destinations) {
    const reports = await findReports(database, destination.trackerId, date)
    const report = reports.find(({ destinationId }) => destinationId === destination.id)
    if (!report) continue
    print(`${shown > 0 ? '\n' : ''}${reportTable(report, destination)}`)
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
function missingSentence(day: string, now: Date): string {
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
