import type { AlertKind } from '@signalbox/contract/alerts.ts'
import type { SnapshotCause, UnavailableCause } from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { type CredentialKeys, openCredential } from '../../runtime/util/sealed-credential.ts'
import { formatUtcDay, subtractDays } from '../../runtime/util/time.ts'
import { PAUSE_SENTENCES } from '../delivery/destination-health.ts'
import { findDestination } from '../delivery/destination-store.ts'
import { countMatchKeys } from '../delivery/sent-counts-store.ts'
import { INVALID_CONFIGURATION, type MatchKey, type MatchQuality } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { unavailableWithoutToken } from '../platforms/send-answer.ts'
import {
  type AlertContext,
  raiseAlert,
  resolveAlert,
  resolveInactiveAlerts,
} from './alert-store.ts'
import { findThresholdsOfTracker } from './alert-threshold-store.ts'
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
  /** Stops the run; the next run continues. */
  signal?: AbortSignal
}

interface SnapshotRun {
  taken: number
  /** Destinations without a result; they are retried in an hour. */
  unavailable: number
  /** More destinations may be due: call again. */
  more: boolean
}

/** 05:00 UTC: by then the platform has processed all of the previous day. */
const DUE_HOUR = 5
/** Destinations per run. Each takes one request of at most ten seconds. */
const DESTINATIONS_MAX = 100
const CONCURRENT_READINGS = 4
/** Older events are no longer in the platform's score. */
const SENT_DAYS_MAX = 7

const QUALITY_KINDS: AlertKind[] = ['emq_fell', 'emq_low']

/**
 * Measures the match quality of each destination with an accepted event in the last seven days and
 * without a snapshot of this UTC day. Repeats and concurrent processes are safe. A missed day stays
 * without a snapshot, because the platform returns only current scores. A failure of one
 * destination does not stop the others; an AggregateError at the end has all failures.
 */
export async function takeDueSnapshots(
  context: SnapshotContext,
  { now, signal }: SnapshotRunOptions,
): Promise<SnapshotRun> {
  const run: SnapshotRun = { taken: 0, unavailable: 0, more: false }
  if (now.getUTCHours() < DUE_HOUR) return run
  const days = { from: subtractDays(now, SENT_DAYS_MAX), until: formatUtcDay(now) }
  await resolveInactiveDestinations(context, { ...days, at: now })
  const due = await findDueSnapshots(context.database, { ...days, now, rowsMax: DESTINATIONS_MAX })
  const waiting = due.values()
  const failures: unknown[] = []
  const measure = async () => {
    for (const target of waiting) {
      if (signal?.aborted) return
      await measureDestination(context, target, { now, run, failures })
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_READINGS }, measure))
  if (failures.length > 0) throw new AggregateError(failures, failureSentence(failures))
  return { ...run, more: due.length === DESTINATIONS_MAX || signal?.aborted === true }
}

/** No later snapshot would resolve the alerts of a destination that receives no events. */
async function resolveInactiveDestinations(
  { database, onAlert }: SnapshotContext,
  span: { from: string; until: string; at: Date },
): Promise<void> {
  const resolved = await resolveInactiveAlerts(database, { ...span, kinds: QUALITY_KINDS })
  for (const alert of resolved) onAlert?.({ ...alert, transition: 'resolved' })
}

async function measureDestination(
  context: SnapshotContext,
  target: SnapshotTarget,
  { now, run, failures }: { now: Date; run: SnapshotRun; failures: unknown[] },
): Promise<void> {
  try {
    const outcome = await takeSnapshot(context, target, now)
    if (outcome !== 'busy') run[outcome] += 1
  } catch (error) {
    failures.push(error)
  }
}

function failureSentence({ length }: readonly unknown[]): string {
  return `could not measure the match quality of ${length} destination(s)`
}

interface SnapshotContext extends AlertContext {
  database: Database
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  /** Called for each destination without a result, for the log. */
  onUnavailable?: (reading: UnavailableReading) => void
}

export interface UnavailableReading extends SnapshotTarget {
  cause: SnapshotCause
  /** One sentence for people. */
  sentence: string
}

type NoReading = Pick<UnavailableReading, 'cause' | 'sentence'> & { waitSeconds: number }

/** This day and the six before, so that weekly ranges do not overlap. */
const DAYS_BACK = 6
/** Slightly less than an hour, because hourly runs vary by some minutes. */
const RETRY_SECONDS_MIN = 3_300
const RETRY_SECONDS_MAX = 86_400
const ROUNDS_MAX = 20
/** Answers of Meta are a few kilobytes. A list of snapshots is read as a whole. */
const ANSWER_CHARACTERS_MAX = 500_000

/** The causes on this side of the platform; a plug-in has sentences for the others. */
const OWN_CAUSE_SENTENCES: Record<Exclude<SnapshotCause, UnavailableCause>, string> = {
  no_score: 'The platform has no score for this dataset yet; it is retried automatically.',
  credential_unreadable: PAUSE_SENTENCES.credential_unreadable,
  no_plug_in: "This server has no plug-in for the destination's platform.",
}

/** These causes name no time to wait. */
function noReading(cause: keyof typeof OWN_CAUSE_SENTENCES): NoReading {
  return { cause, sentence: OWN_CAUSE_SENTENCES[cause], waitSeconds: 0 }
}

/**
 * Reads the match quality of one destination from the platform and stores it as the snapshot of the
 * day. `busy` when another process made the request within the hour.
 *
 * Alerts come before the snapshot. If a process dies in between, the next run finds the snapshot
 * missing and raises the alerts again, which changes nothing.
 */
async function takeSnapshot(
  context: SnapshotContext,
  target: SnapshotTarget,
  now: Date,
): Promise<'taken' | 'unavailable' | 'busy'> {
  const { database } = context
  const nextReadAt = addSeconds(now, RETRY_SECONDS_MIN)
  if (!(await claimReading(database, target, { at: now, nextReadAt }))) return 'busy'
  const read = await readQuality(context, target)
  const snapshot = 'cause' in read ? read : await assessSnapshot(context, target, { ...read, now })
  if ('cause' in snapshot) {
    const { cause, sentence, waitSeconds } = snapshot
    const seconds = Math.min(Math.max(waitSeconds, RETRY_SECONDS_MIN), RETRY_SECONDS_MAX)
    await recordReading(database, target, { cause, sentence, nextReadAt: addSeconds(now, seconds) })
    context.onUnavailable?.({ ...target, cause, sentence })
    return 'unavailable'
  }
  await saveSnapshot(database, snapshot)
  await recordReading(database, target, { cause: null, sentence: null, nextReadAt })
  return 'taken'
}

async function readQuality(
  { database, platforms, credentialKeys }: SnapshotContext,
  { trackerId, destinationId }: SnapshotTarget,
): Promise<QualityReading | NoReading> {
  const destination = await findDestination(database, trackerId, destinationId)
  const opened =
    destination && openCredential(credentialKeys, destinationId, destination.sealedCredential)
  if (!opened) return noReading('credential_unreadable')
  const platform = platforms.find(destination.platform)
  if (!platform) return noReading('no_plug_in')
  const target = platform.parseTarget(destination.config)
  if (target === null) {
    return { cause: 'unreadable', sentence: INVALID_CONFIGURATION, waitSeconds: 0 }
  }
  const found = await platforms.accessTokens.find(platform, opened.credential)
  if (found.kind === 'no_token') return unavailableWithoutToken(found.answer)
  const quality = await platform.readMatchQuality({ target, accessToken: found.accessToken })
  return quality.kind === 'unavailable' ? quality : { quality, matchKeys: platform.matchKeys }
}

interface QualityReading {
  quality: MatchQuality
  matchKeys: readonly MatchKey[]
}

/** Builds the snapshot of a reading, and raises or resolves its alerts. */
async function assessSnapshot(
  context: SnapshotContext,
  target: SnapshotTarget,
  { quality, matchKeys, now }: QualityReading & { now: Date },
): Promise<NewSnapshot | NoReading> {
  const { database } = context
  const today = formatUtcDay(now)
  const span = { from: subtractDays(now, DAYS_BACK), until: today }
  const ours = await countMatchKeys(database, { ...target, ...span })
  const earlier = await findEarlierSnapshots(database, target, { today, ...EARLIER_DAYS })
  const thresholds = await findThresholdsOfTracker(database, target.trackerId)
  const { events } = quality
  const assessment = assessMatchQuality({ events, ours, earlier, at: now, thresholds })
  if (!assessment) return noReading('no_score')
  const coverage = computeMatchCoverage(ours)
  const coverageBefore = findWeekEarlier(earlier, now)?.coverage ?? []
  const { raised, resolved } = evaluateMatchAlerts({
    assessment,
    coverage,
    coverageBefore,
    scoreMin: thresholds.scoreMin,
  })
  for (const alert of raised) await raiseAlert(context, { ...target, ...alert }, now)
  for (const kind of resolved) await resolveAlert(context, { ...target, kind }, now)
  return {
    ...target,
    measuredOn: today,
    score: assessment.score,
    weekOverWeekChange: assessment.weekOverWeekChange,
    alerted: raised.length > 0,
    platformResponse: buildPlatformResponse(quality, { ...span, coverage }, matchKeys),
    measuredAt: now,
  }
}

/** The complete answer of the platform with our figures. An oversized answer is omitted. */
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

/** Each round fails only when a concurrent snapshot of the same tracker takes the ID. */
async function saveSnapshot(database: Database, snapshot: NewSnapshot): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await insertSnapshot(database, snapshot)) return
    if (await hasSnapshot(database, snapshot, snapshot.measuredOn)) return
  }
  throw new Error('could not insert a snapshot: concurrent snapshots of the tracker took every ID')
}

function addSeconds(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1_000)
}
