import type { Database } from '../db/database.ts'
import { findDestination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'
import { countMatchKeys } from '../delivery/sent-counts-store.ts'
import type { MatchKey, MatchQuality, Unavailable } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { subtractDays } from '../util/calendar-day.ts'
import {
  type AlertContext,
  type AlertKind,
  raiseAlert,
  resolveAlert,
  resolveInactiveAlerts,
} from './alert-store.ts'
import {
  assessMatchQuality,
  computeMatchCoverage,
  EARLIER_DAYS,
  type EventNameCoverage,
  findWeekEarlier,
} from './match-quality.ts'
import { buildMatchAdvice, evaluateMatchAlerts } from './match-quality-advice.ts'
import {
  claimReading,
  findDueSnapshots,
  findEarlierSnapshots,
  hasSnapshot,
  insertSnapshot,
  type NewSnapshot,
  recordReading,
  type SnapshotTarget,
} from './snapshot-store.ts'

interface SnapshotRunOptions {
  now: Date
  /** Aborted when the run has to end: the next one goes on. */
  signal?: AbortSignal
}

interface SnapshotRun {
  taken: number
  /** Nothing could be measured: no snapshot and no zero, and asked again in an hour. */
  unavailable: number
  /** There may be more that is due: call again. */
  more: boolean
}

/** From five in the morning, UTC: by then the platform has seen all of the day before. */
const DUE_HOUR = 5
/** Destinations of one run; each asks the platform once and waits for at most ten seconds. */
const DESTINATIONS_MAX = 100
const READINGS_AT_ONCE = 4
/** What was last sent longer ago is no longer in the platform's score either. */
const SENT_DAYS_MAX = 7

const QUALITY_KINDS: AlertKind[] = ['emq_fell', 'emq_low']

/**
 * Measures the match quality of each destination that had something accepted in the last seven days
 * and has no snapshot of this UTC day. Repeats and several processes do no harm. A day that nobody
 * measured stays without a snapshot: the platform tells only what is now.
 *
 * One destination's trouble does not stop the others; an AggregateError tells of it at the end.
 */
export async function takeDueSnapshots(
  context: SnapshotContext,
  { now, signal }: SnapshotRunOptions,
): Promise<SnapshotRun> {
  const run: SnapshotRun = { taken: 0, unavailable: 0, more: false }
  if (now.getUTCHours() < DUE_HOUR) return run
  const days = { from: subtractDays(now, SENT_DAYS_MAX), until: subtractDays(now, 0) }
  await resolveInactiveDestinations(context, { ...days, at: now })
  const due = await findDueSnapshots(context.database, { ...days, now, rowsMax: DESTINATIONS_MAX })
  const waiting = due.values()
  const failures: unknown[] = []
  const measure = async () => {
    for (const lane of waiting) {
      if (signal?.aborted) return
      await measureDestination(context, lane, { now, run, failures })
    }
  }
  await Promise.all(Array.from({ length: READINGS_AT_ONCE }, measure))
  if (failures.length > 0) throw new AggregateError(failures, failureSentence(failures))
  return { ...run, more: due.length === DESTINATIONS_MAX || signal?.aborted === true }
}

/** Where nothing is sent any more, no later snapshot will ever say that all is fine. */
async function resolveInactiveDestinations(
  { database, onAlert }: SnapshotContext,
  span: { from: string; until: string; at: Date },
): Promise<void> {
  const silent = await resolveInactiveAlerts(database, { ...span, kinds: QUALITY_KINDS })
  for (const alert of silent) onAlert?.({ ...alert, transition: 'resolved' })
}

async function measureDestination(
  context: SnapshotContext,
  lane: SnapshotTarget,
  { now, run, failures }: { now: Date; run: SnapshotRun; failures: unknown[] },
): Promise<void> {
  try {
    const outcome = await takeSnapshot(context, lane, now)
    if (outcome !== 'busy') run[outcome] += 1
  } catch (error) {
    failures.push(error)
  }
}

function failureSentence({ length }: readonly unknown[]): string {
  return `the match quality of ${length} destination(s) could not be measured this time`
}

interface SnapshotContext extends AlertContext {
  database: Database
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  /** Nothing could be measured; it is tried again. For the log. */
  onUnavailable?: (reading: UnavailableReading) => void
}

export interface UnavailableReading extends SnapshotTarget {
  cause: Unavailable['cause'] | 'credential_unreadable' | 'no_plug_in' | 'no_score'
  /** One sentence for a person. */
  sentence: string
}

type NoReading = Pick<UnavailableReading, 'cause' | 'sentence'> & { waitSeconds: number }

/** This day and six before it: a week later no day is counted again. */
const DAYS_BACK = 6
/** An hour, and less by what two hourly runs may be closer than that. */
const RETRY_SECONDS_MIN = 3_300
const RETRY_SECONDS_MAX = 86_400
const ROUNDS_MAX = 20
/** Meta answers some kilobytes. The list of snapshots is read as a whole. */
const ANSWER_CHARACTERS_MAX = 500_000

const NO_SCORE: NoReading = {
  cause: 'no_score',
  sentence: 'The platform has no score for this dataset yet; it is asked again by itself.',
  waitSeconds: 0,
}
const UNREADABLE_CREDENTIAL: NoReading = {
  cause: 'credential_unreadable',
  sentence: "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY.",
  waitSeconds: 0,
}

const NO_PLUG_IN: NoReading = {
  cause: 'no_plug_in',
  sentence: "This server has no plug-in for the destination's platform.",
  waitSeconds: 0,
}
const INVALID_CONFIGURATION: NoReading = {
  cause: 'unreadable',
  sentence: 'The configuration of the destination does not fit its platform: enter it again.',
  waitSeconds: 0,
}

/**
 * Asks the platform how well it can match the events of one destination, and keeps the answer as
 * the snapshot of the day. `busy` when another process has just asked, or did so within the hour.
 *
 * Alerts come before the snapshot. Where a process dies between the two, the next run finds the
 * snapshot missing and raises them again, which changes nothing.
 */
async function takeSnapshot(
  context: SnapshotContext,
  lane: SnapshotTarget,
  now: Date,
): Promise<'taken' | 'unavailable' | 'busy'> {
  const { database } = context
  const nextReadAt = addSeconds(now, RETRY_SECONDS_MIN)
  if (!(await claimReading(database, lane, { at: now, nextReadAt }))) return 'busy'
  const read = await readQuality(context, lane)
  const snapshot = 'cause' in read ? read : await assessSnapshot(context, lane, { ...read, now })
  if ('cause' in snapshot) {
    const { cause, sentence, waitSeconds } = snapshot
    const seconds = Math.min(Math.max(waitSeconds, RETRY_SECONDS_MIN), RETRY_SECONDS_MAX)
    await recordReading(database, lane, { cause, sentence, nextReadAt: addSeconds(now, seconds) })
    context.onUnavailable?.({ ...lane, cause, sentence })
    return 'unavailable'
  }
  await saveSnapshot(database, snapshot)
  await recordReading(database, lane, { cause: null, sentence: null, nextReadAt })
  return 'taken'
}

async function readQuality(
  { database, platforms, credentialKeys }: SnapshotContext,
  { trackerId, destinationId }: SnapshotTarget,
): Promise<QualityReading | NoReading> {
  const destination = await findDestination(database, trackerId, destinationId)
  const opened =
    destination && openCredential(credentialKeys, destinationId, destination.sealedCredential)
  if (!opened) return UNREADABLE_CREDENTIAL
  const platform = platforms.find(destination.platform)
  if (!platform) return NO_PLUG_IN
  const target = platform.parseTarget(destination.config)
  if (target === null) return INVALID_CONFIGURATION
  const quality = await platform.readMatchQuality({ target, accessToken: opened.credential })
  return quality.kind === 'unavailable' ? quality : { quality, matchKeys: platform.matchKeys }
}

interface QualityReading {
  quality: MatchQuality
  matchKeys: readonly MatchKey[]
}

/** Makes the snapshot of what was read, and raises or resolves what it says. */
async function assessSnapshot(
  context: SnapshotContext,
  lane: SnapshotTarget,
  { quality, matchKeys, now }: QualityReading & { now: Date },
): Promise<NewSnapshot | NoReading> {
  const { database } = context
  const today = subtractDays(now, 0)
  const span = { from: subtractDays(now, DAYS_BACK), until: today }
  const ours = await countMatchKeys(database, { ...lane, ...span })
  const earlier = await findEarlierSnapshots(database, lane, { today, ...EARLIER_DAYS })
  const assessment = assessMatchQuality({ events: quality.events, ours, earlier, at: now })
  if (!assessment) return NO_SCORE
  const coverage = computeMatchCoverage(ours)
  const coverageBefore = findWeekEarlier(earlier, now)?.coverage ?? []
  const { raised, resolved } = evaluateMatchAlerts({ assessment, coverage, coverageBefore })
  for (const alert of raised) await raiseAlert(context, { ...lane, ...alert }, now)
  for (const kind of resolved) await resolveAlert(context, { ...lane, kind }, now)
  return {
    ...lane,
    measuredOn: today,
    score: assessment.score,
    weekOverWeekChange: assessment.weekOverWeekChange,
    alerted: raised.length > 0,
    platformResponse: buildPlatformResponse(quality, { ...span, coverage }, matchKeys),
    measuredAt: now,
  }
}

/** The platform's whole answer, and beside it what we know. A giant answer is left out. */
function buildPlatformResponse(
  { answer, events }: MatchQuality,
  ours: { from: string; until: string; coverage: EventNameCoverage[] },
  matchKeys: readonly MatchKey[],
): string {
  const signalbox = { ...ours, advice: buildMatchAdvice(events, ours.coverage, matchKeys) }
  const text = JSON.stringify({ ...answer, signalbox })
  if (text.length <= ANSWER_CHARACTERS_MAX) return text
  return JSON.stringify({ signalbox: { ...signalbox, answer_left_out: true } })
}

/** Each round is lost only to another snapshot of the same tracker at the same moment. */
async function saveSnapshot(database: Database, snapshot: NewSnapshot): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await insertSnapshot(database, snapshot)) return
    if (await hasSnapshot(database, snapshot, snapshot.measuredOn)) return
  }
  throw new Error('a snapshot could not be stored: others of its tracker came before it each time')
}

function addSeconds(moment: Date, seconds: number): Date {
  return new Date(moment.getTime() + seconds * 1_000)
}
