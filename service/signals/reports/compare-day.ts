import { storedText } from '@signalbox/contract/closed-set.ts'
import type { Database } from '../../runtime/db/database.ts'
import { type CredentialKeys, openCredential } from '../../runtime/util/sealed-credential.ts'
import { toDaySpan } from '../../runtime/util/time.ts'
import { countWaitingOfDay, type WaitingOfDay } from '../delivery/backlog-store.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { type RequestsOfDay, sumRequestsOfDay } from '../delivery/receipt-store.ts'
import { type DestinationRouting, findMappedName } from '../delivery/routing.ts'
import { countSentOfDay, readOutcomes, sumSentValues } from '../delivery/sent-counts-store.ts'
import {
  type CountedSource,
  type DayCounts,
  INVALID_CONFIGURATION,
  type Platform,
  type PlatformCounting,
} from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { unavailableWithoutToken } from '../platforms/send-answer.ts'
import {
  countAcceptedByName,
  type DayReconciliation,
  describeUnavailableDay,
  detectOtherSenders,
  hasMissingEvents,
  type OwnCounts,
  reconcileDay,
} from './reconcile-day.ts'
import { reconcileRequests } from './reconcile-requests.ts'
import { findEarlierCounts, type ReportDetails } from './reconciliation-store.ts'

export interface ReportContext {
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

interface ComparedDay {
  reconciliation: DayReconciliation
  unavailable: ReportDetails['unavailable']
  requests: RequestsOfDay | null
  reportedValues: DayCounts['values'] | null
}

interface DetailsOfDay {
  destination: Destination
  day: string
  reconciliation: DayReconciliation
  compared: Omit<ComparedDay, 'reconciliation'>
}

/** What a report says besides the comparison. */
export async function readDetails(
  { database, platforms }: ReportContext,
  { destination, day, reconciliation, compared }: DetailsOfDay,
): Promise<ReportDetails> {
  const { trackerId, id: destinationId, platform: name, routing } = destination
  const key = { trackerId, destinationId, day }
  const platform = platforms.find(name)
  const { accepted } = reconciliation.eventCounts
  const mapped = Object.entries(routing.event_names ?? {})
  return {
    unavailable: compared.unavailable,
    countSource: platform && describeCounting(platform),
    sentNames: mapped
      .filter(([own, other]) => own !== other && Object.hasOwn(accepted, other))
      .map(([eventName, platformName]) => ({ eventName, platformName })),
    outcomes: (await readOutcomes(database, key)).map(outcome => ({
      status: storedText(outcome.status),
      reason: storedText(outcome.reason),
      count: outcome.count,
    })),
    requests: compared.requests,
    values: {
      accepted: await sumSentValues(database, key),
      reported: compared.reportedValues ?? null,
      noValues: platform?.counting?.noValues ?? null,
    },
  }
}

function describeCounting({ label: platform, counting }: Platform): ReportDetails['countSource'] {
  const { source = 'day_report', label = 'Events', meaning = '' } = counting ?? {}
  return { source, platform, label, meaning: meaning || `Events that ${platform} counted.` }
}

/** Compares a day with the platform, or says why it cannot. */
export async function compareDay(
  context: ReportContext,
  destination: Destination,
  day: string,
): Promise<ComparedDay> {
  const { database } = context
  const { trackerId, id: destinationId } = destination
  const own = await countOwnEvents(context, destination, day)
  const counting = context.platforms.find(destination.platform)?.counting
  if (counting?.source === 'request_results') {
    return compareRequests(context, destination, { day, own, counting })
  }
  const read = createDayReader(context, destination, day)
  if ('sentence' in read) return withoutReport(own, read)
  const server = await read.of('server')
  if (server.kind === 'unavailable') return withoutReport(own, server)
  const key = { trackerId, destinationId, day }
  const earlier = await findEarlierCounts(database, key, EARLIER_REPORTS)
  const sides = { ...own, server, hasOtherSenders: earlier.some(detectOtherSenders) }
  // Browser counts take a second request, so they are read only when events are missing.
  const browser = hasMissingEvents(sides) ? await read.of('browser') : null
  const reconciliation = reconcileDay({ ...sides, browser })
  return { ...COMPARED, reconciliation, reportedValues: server.values ?? null }
}

const COMPARED = { unavailable: null, requests: null, reportedValues: null }

function withoutReport(
  own: OwnCounts,
  { cause, sentence }: NonNullable<ReportDetails['unavailable']>,
): ComparedDay {
  return {
    ...COMPARED,
    reconciliation: describeUnavailableDay(own),
    unavailable: { cause, sentence },
  }
}

interface RequestsToCompare {
  day: string
  own: OwnCounts
  counting: PlatformCounting
}

/** For a platform that tells the results of requests. They are stored: nothing is asked. */
async function compareRequests(
  { database }: ReportContext,
  { trackerId, id: destinationId }: Destination,
  { day, own, counting }: RequestsToCompare,
): Promise<ComparedDay> {
  const key = { trackerId, destinationId, ...toDaySpan(day) }
  const requests = await sumRequestsOfDay(database, key)
  const { requests: count, knownEvents, failedEvents } = requests
  if (count === 0) return withoutReport(own, NO_REQUEST)
  if (knownEvents + failedEvents === 0) {
    return { ...withoutReport(own, NO_RESULT), requests }
  }
  const { duplicateReasons = [] } = counting
  const reconciliation = reconcileRequests(
    { own, requests, duplicateReasons },
    countAcceptedByName(own),
  )
  return { ...COMPARED, reconciliation, requests }
}

const NO_REQUEST: NonNullable<ReportDetails['unavailable']> = {
  cause: 'no_request',
  sentence: 'No request was sent on this day, so the platform has no result to tell.',
}

const NO_RESULT: NonNullable<ReportDetails['unavailable']> = {
  cause: 'no_result',
  sentence: 'The platform has told the result of none of the requests of this day.',
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

interface DayReader {
  of: (source: CountedSource) => ReturnType<Platform['readDayCounts']>
}

/** A reader of the platform's counts, or why there is none. */
function createDayReader(
  { platforms, credentialKeys }: ReportContext,
  { id, platform: name, config, status, pausedAt, sealedCredential }: Destination,
  day: string,
): DayReader | NonNullable<ReportDetails['unavailable']> {
  // A pause of a person says nothing against the credential.
  if (status === 'inactive' && pausedAt === null)
    return { cause: 'destination_inactive', sentence: PAUSED }
  const opened = openCredential(credentialKeys, id, sealedCredential)
  if (!opened) return { cause: 'credential_unreadable', sentence: NO_CREDENTIAL }
  const platform = platforms.find(name)
  if (!platform) return { cause: 'no_plug_in', sentence: NO_PLUG_IN }
  const target = platform.parseTarget(config)
  if (target === null) return { cause: 'configuration_invalid', sentence: INVALID_CONFIGURATION }
  return {
    async of(source) {
      const found = await platforms.accessTokens.find(platform, opened.credential)
      if (found.kind === 'no_token') return unavailableWithoutToken(found.answer)
      const { accessToken } = found
      return platform.readDayCounts({ target, accessToken }, toDaySpan(day), source)
    },
  }
}
