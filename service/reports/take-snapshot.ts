import type { Database } from '../db/database.ts'
import { findDestination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'
import { countMatchKeys } from '../delivery/sent-counts-store.ts'
import type { Platform } from '../platforms/platform.ts'
import type { MatchQuality, Unavailable } from '../platforms/platform-reports.ts'
import { daysBefore } from './calendar-day.ts'
import { matchAdvice } from './match-advice.ts'
import { matchAlerts } from './match-alerts.ts'
import { matchCoverage, type NameCoverage } from './match-coverage.ts'
import { assessMatchQuality, EARLIER_DAYS, weekEarlier } from './match-quality.ts'
import { type AlertContext, raiseAlert } from './raise-alert.ts'
import { resolveAlert } from './resolve-alert.ts'
import {
  claimReading,
  findEarlierSnapshots,
  hasSnapshot,
  insertSnapshot,
  type NewSnapshot,
  noteReading,
  type SnapshotLane,
} from './snapshot-store.ts'

export interface SnapshotContext extends AlertContext {
  database: Database
  platform: Pick<Platform, 'readMatchQuality'>
  credentialKeys: CredentialKeys
  /** Nothing could be measured; it is tried again. For the log. */
  onUnavailable?: (reading: UnavailableReading) => void
}

export interface UnavailableReading extends SnapshotLane {
  cause: Unavailable['cause'] | 'credential_unreadable' | 'no_score'
  /** One sentence for a person. */
  sentence: string
}

type NothingRead = Pick<UnavailableReading, 'cause' | 'sentence'> & { waitSeconds: number }

/** This day and six before it: a week later no day is counted again. */
const DAYS_BACK = 6
/** An hour, and less by what two hourly runs may be closer than that. */
const RETRY_SECONDS_MIN = 3_300
const RETRY_SECONDS_MAX = 86_400
const ROUNDS_MAX = 20
/** Meta answers some kilobytes. The list of snapshots is read as a whole. */
const ANSWER_CHARACTERS_MAX = 500_000

const NO_SCORE: NothingRead = {
  cause: 'no_score',
  sentence: 'The platform has no score for this dataset yet; it is asked again by itself.',
  waitSeconds: 0,
}
const UNREADABLE_CREDENTIAL: NothingRead = {
  cause: 'credential_unreadable',
  sentence: "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY.",
  waitSeconds: 0,
}

/**
 * Asks the platform how well it can match the events of one destination, and keeps the answer as
 * the snapshot of the day. `busy` when another process has just asked, or did so within the hour.
 *
 * Alerts come before the snapshot. Where a process dies between the two, the next run finds the
 * snapshot missing and raises them again, which changes nothing.
 */
export async function takeSnapshot(
  context: SnapshotContext,
  lane: SnapshotLane,
  now: Date,
): Promise<'taken' | 'unavailable' | 'busy'> {
  const { database } = context
  const nextReadAt = after(now, RETRY_SECONDS_MIN)
  if (!(await claimReading(database, lane, { at: now, nextReadAt }))) return 'busy'
  const read = await readQuality(context, lane)
  const snapshot = 'cause' in read ? read : await judge(context, lane, { quality: read, now })
  if ('cause' in snapshot) {
    const { cause, sentence, waitSeconds } = snapshot
    const seconds = Math.min(Math.max(waitSeconds, RETRY_SECONDS_MIN), RETRY_SECONDS_MAX)
    await noteReading(database, lane, { cause, sentence, nextReadAt: after(now, seconds) })
    context.onUnavailable?.({ ...lane, cause, sentence })
    return 'unavailable'
  }
  await keep(database, snapshot)
  await noteReading(database, lane, { cause: null, sentence: null, nextReadAt })
  return 'taken'
}

async function readQuality(
  { database, platform, credentialKeys }: SnapshotContext,
  { trackerId, destinationId }: SnapshotLane,
): Promise<MatchQuality | NothingRead> {
  const destination = await findDestination(database, trackerId, destinationId)
  const opened =
    destination && openCredential(credentialKeys, destinationId, destination.sealedCredential)
  if (!opened) return UNREADABLE_CREDENTIAL
  const { datasetId } = destination
  return platform.readMatchQuality({ datasetId, accessToken: opened.credential })
}

interface QualityRead {
  quality: MatchQuality
  now: Date
}

/** Makes the snapshot of what was read, and raises or resolves what it says. */
async function judge(
  context: SnapshotContext,
  lane: SnapshotLane,
  { quality, now }: QualityRead,
): Promise<NewSnapshot | NothingRead> {
  const { database } = context
  const today = daysBefore(now, 0)
  const span = { from: daysBefore(now, DAYS_BACK), until: today }
  const ours = await countMatchKeys(database, { ...lane, ...span })
  const earlier = await findEarlierSnapshots(database, lane, { today, ...EARLIER_DAYS })
  const assessment = assessMatchQuality({ events: quality.events, ours, earlier, at: now })
  if (!assessment) return NO_SCORE
  const coverage = matchCoverage(ours)
  const coverageBefore = weekEarlier(earlier, now)?.coverage ?? []
  const { raised, resolved } = matchAlerts({ assessment, coverage, coverageBefore })
  for (const alert of raised) await raiseAlert(context, { ...lane, ...alert }, now)
  for (const kind of resolved) await resolveAlert(context, { ...lane, kind }, now)
  return {
    ...lane,
    measuredOn: today,
    score: assessment.score,
    weekOverWeekChange: assessment.weekOverWeekChange,
    alerted: raised.length > 0,
    platformResponse: answerBeside(quality, { ...span, coverage }),
    measuredAt: now,
  }
}

/** The platform's whole answer, and beside it what we know. A giant answer is left out. */
function answerBeside(
  { answer, events }: MatchQuality,
  ours: { from: string; until: string; coverage: NameCoverage[] },
): string {
  const signalbox = { ...ours, advice: matchAdvice(events, ours.coverage) }
  const text = JSON.stringify({ ...answer, signalbox })
  if (text.length <= ANSWER_CHARACTERS_MAX) return text
  return JSON.stringify({ signalbox: { ...signalbox, answer_left_out: true } })
}

/** Each round is lost only to another snapshot of the same tracker at the same moment. */
async function keep(database: Database, snapshot: NewSnapshot): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await insertSnapshot(database, snapshot)) return
    if (await hasSnapshot(database, snapshot, snapshot.measuredOn)) return
  }
  throw new Error('a snapshot could not be stored: others of its tracker came before it each time')
}

function after(moment: Date, seconds: number): Date {
  return new Date(moment.getTime() + seconds * 1_000)
}
