import type { Database } from '../db/database.ts'
import { countWaitingOfDay } from '../delivery/backlog-store.ts'
import { findDestinationRoutes } from '../delivery/destination-route-store.ts'
import { type Destination, findDestination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'
import { countSentOfDay } from '../delivery/sent-counts-store.ts'
import type { CountedSource, Platform } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { isCalendarDay, subtractDays, toDaySpan } from '../util/calendar-day.ts'
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

/** Reports of one run; each takes one or two requests to the platform. */
const REPORTS_MAX = 500
const PAGE_DESTINATIONS = 100

interface DueReports {
  now: Date
  /** Aborted when the run has to end: what is left is made by the next one. */
  signal?: AbortSignal
}

interface DueReportsMade {
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
    throw new AggregateError(failures, `${failures.length} reconciliation reports were not made`)
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
    const trials = await findReportAttempts(database, trackerIds, since)
    for (const destination of page) {
      const firstDay = subtractDays(destination.createdAt, 0)
      for (const day of days.filter(day => day >= firstDay)) {
        if (isReportDue(day, trials.get(reportAttemptKey(destination, day)), now)) {
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
  /** There is no such day, or it has not ended. */
  | { kind: 'no_ended_day' }

/** Makes the reports of a tracker's day now, due or not: one for each of its destinations. */
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

/** What making reports needs from outside. */
interface ReportContext {
  database: Database
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  now: () => Date
}

/** Reports in which a sign of other senders is looked for, beside the one that is made. */
const EARLIER_REPORTS = 7

const PAUSED = 'The destination is inactive: set a working credential, then make the report again.'
const NO_CREDENTIAL =
  'The stored credential cannot be opened with SIGNALBOX_CREDENTIAL_KEY: set the key that sealed ' +
  'it, or a new credential.'

const NO_PLUG_IN = "This server has no plug-in for the destination's platform."
const INVALID_CONFIGURATION =
  'The configuration of the destination does not fit its platform: enter it again.'

/**
 * Makes the report of one destination and UTC day, keeps it, and returns what it found. Where the
 * platform tells no counts the report says so, unless there is one with counts already.
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
  // A second request only where its answer can explain something.
  const browser = hasMissingEvents(sides) ? await read('browser') : null
  return reconcileDay({ ...sides, browser })
}

/** What waits first: what is accepted in between is then in both, and never in neither. */
async function countOwnEvents(
  { database }: ReportContext,
  { trackerId, id: destinationId }: Destination,
  day: string,
): Promise<OwnCounts> {
  const lane = { trackerId, destinationId }
  const waiting = await countWaitingOfDay(database, { ...lane, ...toDaySpan(day) })
  return { waiting, sent: await countSentOfDay(database, { ...lane, day }) }
}

type DayReader = (source: CountedSource) => ReturnType<Platform['readDayCounts']>

/** Asks the platform, or a sentence that says why it cannot be asked. */
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
  const credentials = { target, accessToken: opened.credential }
  return source => platform.readDayCounts(credentials, toDaySpan(day), source)
}

/** From so much on it is worth somebody's time: a twentieth of what was accepted, and ten. */
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
 * Raises an alert when much of a day's gap stays unexplained in its final report, and resolves it
 * when that of a later day is fine again. A day that waits or was not compared says neither.
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
    `Of ${day} the platform counts ${unexplained} events ${side} than anything explains: ` +
    'see the reconciliation report.'
  const details = { day, acceptedCount, metaCount: platformCount, unexplainedResidual }
  await raiseAlert(context, { ...subject, sentence, details }, at)
}
