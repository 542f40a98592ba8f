import type { Database } from '../../runtime/db/database.ts'
import { type CredentialKeys, openCredential } from '../../runtime/util/sealed-credential.ts'
import { formatUtcDay, isCalendarDay, subtractDays, toDaySpan } from '../../runtime/util/time.ts'
import { countWaitingOfDay, type WaitingOfDay } from '../delivery/backlog-store.ts'
import { type Destination, findDestination } from '../delivery/destination-store.ts'
import { findDestinationRoutes } from '../delivery/plan-store.ts'
import { type DestinationRouting, findMappedName } from '../delivery/routing.ts'
import { countSentOfDay } from '../delivery/sent-counts-store.ts'
import { type CountedSource, INVALID_CONFIGURATION, type Platform } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { unavailableWithoutToken } from '../platforms/send-answer.ts'
import { type AlertContext, type AlertSubject, raiseAlert, resolveAlert } from './alert-store.ts'
import {
  type DayReconciliation,
  describeUnavailableDay,
  detectOtherSenders,
  hasMissingEvents,
  type OwnCounts,
  reconcileDay,
} from './reconcile-day.ts'
import {
  type DestinationKey,
  findActiveDestinations,
  findEarlierCounts,
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

interface ReportContext {
  database: Database
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  now: () => Date
}

/** Earlier reports that are searched for signs of other senders. */
const EARLIER_REPORTS = 7

const PAUSED = 'The destination is inactive: set a working credential, then make the report again.'
const NO_CREDENTIAL =
  'The stored credential cannot be opened with SIGNALBOX_CREDENTIAL_KEY: set the key that sealed ' +
  'it, or a new credential.'

const NO_PLUG_IN = "This server has no plug-in for the destination's platform."

/**
 * Makes, stores and returns the report of one destination and UTC day. Without counts of the
 * platform the report is `unavailable`, and a stored report with counts stays.
 */
async function makeReport(
  context: ReportContext,
  destination: Destination,
  day: string,
): Promise<DayReconciliation> {
  const { database, now } = context
  const { trackerId, id: destinationId } = destination
  const madeAt = now()
  const reconciliation = await reconcileWithPlatform(context, destination, day)
  await saveReport(database, { trackerId, destinationId, day, reconciliation, madeAt })
  return reconciliation
}

async function reconcileWithPlatform(
  context: ReportContext,
  destination: Destination,
  day: string,
): Promise<DayReconciliation> {
  const { database } = context
  const { trackerId, id: destinationId } = destination
  const own = await countOwnEvents(context, destination, day)
  const read = createDayReader(context, destination, day)
  if (typeof read === 'string') return describeUnavailableDay(own, read)
  const server = await read('server')
  if (server.kind === 'unavailable') return describeUnavailableDay(own, server.sentence)
  const key = { trackerId, destinationId, day }
  const earlier = await findEarlierCounts(database, key, EARLIER_REPORTS)
  const sides = { ...own, server, hasOtherSenders: earlier.some(detectOtherSenders) }
  // Browser counts take a second request, so they are read only when events are missing.
  const browser = hasMissingEvents(sides) ? await read('browser') : null
  return reconcileDay({ ...sides, browser })
}

/** Waiting events first: an event accepted in between is then in both counts, never in neither. */
async function countOwnEvents(
  { database }: ReportContext,
  { trackerId, id: destinationId, routing }: Destination,
  day: string,
): Promise<OwnCounts> {
  const key = { trackerId, destinationId }
  const counted = await countWaitingOfDay(database, { ...key, ...toDaySpan(day) })
  const waiting = { ...counted, names: nameForPlatform(counted.names, routing) }
  return { waiting, sent: await countSentOfDay(database, { ...key, day }) }
}

/**
 * What waits, by the platform's names, as it counts. The map of now stands for that of acceptance:
 * the name of each waiting event is in its identity, and reading a backlog's would take minutes.
 */
export function nameForPlatform(
  waiting: readonly WaitingOfDay[],
  routing: DestinationRouting,
): WaitingOfDay[] {
  const byName = new Map<string, WaitingOfDay>()
  for (const one of waiting) {
    const eventName = findMappedName(routing, one.eventName) ?? one.eventName
    const { waiting: count = 0, inFlight = 0 } = byName.get(eventName) ?? {}
    const sum = { waiting: count + one.waiting, inFlight: inFlight + one.inFlight }
    byName.set(eventName, { eventName, ...sum })
  }
  return [...byName.values()]
}

type DayReader = (source: CountedSource) => ReturnType<Platform['readDayCounts']>

/** A reader of the platform's counts, or a sentence that explains why there is none. */
function createDayReader(
  { platforms, credentialKeys }: ReportContext,
  { id, platform: name, config, status, sealedCredential }: Destination,
  day: string,
): DayReader | string {
  if (status === 'inactive') return PAUSED
  const opened = openCredential(credentialKeys, id, sealedCredential)
  if (!opened) return NO_CREDENTIAL
  const platform = platforms.find(name)
  if (!platform) return NO_PLUG_IN
  const target = platform.parseTarget(config)
  if (target === null) return INVALID_CONFIGURATION
  return async source => {
    const found = await platforms.accessTokens.find(platform, opened.credential)
    if (found.kind === 'no_token') return unavailableWithoutToken(found.answer)
    const { accessToken } = found
    return platform.readDayCounts({ target, accessToken }, toDaySpan(day), source)
  }
}

/** An alert needs an unexplained residual of 5 % of the accepted events, and of ten events. */
const SHARE_MIN = 0.05
const EVENTS_MIN = 10

interface FinalReport {
  trackerId: string
  destinationId: string
  /** UTC day, YYYY-MM-DD. */
  day: string
  reconciliation: DayReconciliation
  at: Date
}

/**
 * Raises an alert when the final report of a day has a large unexplained residual, and resolves it
 * when the report of a later day does not. Pending and unavailable days change nothing.
 */
async function updateResidualAlert(
  context: AlertContext,
  { trackerId, destinationId, day, reconciliation, at }: FinalReport,
): Promise<void> {
  const { status, acceptedCount, platformCount, unexplainedResidual } = reconciliation
  const subject: AlertSubject = { trackerId, destinationId, kind: 'reconciliation_unexplained' }
  if (status === 'pending' || status === 'unavailable') return
  const unexplained = Math.abs(unexplainedResidual)
  if (unexplained < EVENTS_MIN || unexplained < acceptedCount * SHARE_MIN) {
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
