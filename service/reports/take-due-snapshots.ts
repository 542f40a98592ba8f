import type { AlertKind } from './alert.ts'
import { closeSilentAlerts } from './alert-store.ts'
import { daysBefore } from './calendar-day.ts'
import { findDueSnapshots, type SnapshotLane } from './snapshot-store.ts'
import { type SnapshotContext, takeSnapshot } from './take-snapshot.ts'

export interface DueMoment {
  now: Date
  /** Aborted when the run has to end: the next one goes on. */
  signal?: AbortSignal
}

export interface SnapshotRun {
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
  { now, signal }: DueMoment,
): Promise<SnapshotRun> {
  const run: SnapshotRun = { taken: 0, unavailable: 0, more: false }
  if (now.getUTCHours() < DUE_HOUR) return run
  const days = { from: daysBefore(now, SENT_DAYS_MAX), until: daysBefore(now, 0) }
  await resolveSilent(context, { ...days, at: now })
  const due = await findDueSnapshots(context.database, { ...days, now, rowsMax: DESTINATIONS_MAX })
  const waiting = due.values()
  const failures: unknown[] = []
  const measure = async () => {
    for (const lane of waiting) {
      if (signal?.aborted) return
      await measureOne(context, lane, { now, run, failures })
    }
  }
  await Promise.all(Array.from({ length: READINGS_AT_ONCE }, measure))
  if (failures.length > 0) throw new AggregateError(failures, failureSentence(failures))
  return { ...run, more: due.length === DESTINATIONS_MAX || signal?.aborted === true }
}

/** Where nothing is sent any more, no later snapshot will ever say that all is fine. */
async function resolveSilent(
  { database, onAlert }: SnapshotContext,
  span: { from: string; until: string; at: Date },
): Promise<void> {
  const silent = await closeSilentAlerts(database, { ...span, kinds: QUALITY_KINDS })
  for (const alert of silent) onAlert?.({ ...alert, move: 'resolved' })
}

async function measureOne(
  context: SnapshotContext,
  lane: SnapshotLane,
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
