import type { Database } from '../db/database.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'
import { countSentOfDay } from '../delivery/sent-counts-store.ts'
import { countWaitingOfDay } from '../delivery/waiting-of-day-store.ts'
import type { Platform } from '../platforms/platform.ts'
import type { CountedSource } from '../platforms/platform-reports.ts'
import { daySpan } from './calendar-day.ts'
import {
  type DayReconciliation,
  lacksEvents,
  type OwnCounts,
  reconcileDay,
  showsOtherSenders,
  unavailableDay,
} from './reconcile-day.ts'
import { findEarlierCounts, keepReport } from './reconciliation-store.ts'

/** What making reports needs from outside. */
export interface ReportContext {
  database: Database
  platform: Pick<Platform, 'readDayCounts'>
  credentialKeys: CredentialKeys
  now: () => Date
}

/** Reports in which a sign of other senders is looked for, beside the one that is made. */
const EARLIER_REPORTS = 7

const PAUSED = 'The destination is inactive: set a working credential, then make the report again.'
const NO_CREDENTIAL =
  'The stored credential cannot be opened with SIGNALBOX_CREDENTIAL_KEY: set the key that sealed ' +
  'it, or a new credential.'

/**
 * Makes the report of one destination and UTC day, keeps it, and returns what it found. Where the
 * platform tells no counts the report says so, unless there is one with counts already.
 */
export async function makeReport(
  context: ReportContext,
  destination: Destination,
  day: string,
): Promise<DayReconciliation> {
  const { database, now } = context
  const { trackerId, id: destinationId } = destination
  const madeAt = now()
  const reconciliation = await compare(context, destination, day)
  await keepReport(database, { trackerId, destinationId, day, reconciliation, madeAt })
  return reconciliation
}

async function compare(
  context: ReportContext,
  destination: Destination,
  day: string,
): Promise<DayReconciliation> {
  const { database } = context
  const { trackerId, id: destinationId } = destination
  const own = await countOwn(context, destination, day)
  const read = readerOf(context, destination, day)
  if (typeof read === 'string') return unavailableDay(own, read)
  const server = await read('server')
  if (server.kind === 'unavailable') return unavailableDay(own, server.sentence)
  const key = { trackerId, destinationId, day }
  const earlier = await findEarlierCounts(database, key, EARLIER_REPORTS)
  const sides = { ...own, server, hasOtherSenders: earlier.some(showsOtherSenders) }
  // A second request only where its answer can explain something.
  const browser = lacksEvents(sides) ? await read('browser') : null
  return reconcileDay({ ...sides, browser })
}

/** What waits first: what is accepted in between is then in both, and never in neither. */
async function countOwn(
  { database }: ReportContext,
  { trackerId, id: destinationId }: Destination,
  day: string,
): Promise<OwnCounts> {
  const lane = { trackerId, destinationId }
  const waiting = await countWaitingOfDay(database, { ...lane, ...daySpan(day) })
  return { waiting, sent: await countSentOfDay(database, { ...lane, day }) }
}

type DayReader = (source: CountedSource) => ReturnType<Platform['readDayCounts']>

/** Asks the platform, or a sentence that says why it cannot be asked. */
function readerOf(
  { platform, credentialKeys }: ReportContext,
  { id, datasetId, status, sealedCredential }: Destination,
  day: string,
): DayReader | string {
  if (status === 'inactive') return PAUSED
  const opened = openCredential(credentialKeys, id, sealedCredential)
  if (!opened) return NO_CREDENTIAL
  const target = { datasetId, accessToken: opened.credential }
  return source => platform.readDayCounts(target, daySpan(day), source)
}
