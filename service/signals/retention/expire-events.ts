import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { pauseBetweenBatches } from '../../runtime/util/wait.ts'
import {
  type AttemptPosition,
  deleteExpiredAttempts,
  deleteSentCounts,
  EXPIRED_ROWS_MAX,
  findTrackersWithExpiredAttempts,
} from '../delivery/expire-store.ts'
import {
  deleteExpiredKeys,
  dropDetachedWeek,
  findDetachedWeeks,
  findExpiredWeeks,
  findExpiringTrackers,
  findRowwisePartitions,
  type KeyCursor,
} from '../events/event-expiry-store.ts'
import { computeRetentionCutoff } from '../events/partition-store.ts'
import {
  deleteReports,
  deleteResolvedAlerts,
  EXPIRY_BATCH_REPORTS,
} from '../reports/report-expiry-store.ts'
import {
  type AgedTable,
  type DeletedEvents,
  deleteCounts,
  deleteEventBatch,
  deleteOldRows,
  detachWeek,
  type EventCursor,
  OLD_ROWS_MAX,
} from './retention-store.ts'

export interface EventExpiry {
  database: Database
  now: Date
  ledgerMonths: number
  /** Smaller in tests. */
  batchesMax?: number
}

export interface ExpiredEventCounts {
  /** Weekly partitions that were dropped. */
  weeks: number
  /** Events that were deleted one by one. */
  events: number
  deliveries: number
  /** Reports, snapshots, resolved alerts, sent counts, imports and states of issues. */
  reports: number
  /** More rows are due: run again without a pause. */
  more: boolean
  /** A week was locked and is left. Retrying without a pause would block acceptance. */
  isLocked: boolean
}

/** A batch has up to a thousand events: a run takes seconds, so a process can stop between runs. */
const BATCHES_MAX = 100

/** Half a billion events per run at ten million a day. */
const WEEKS_MAX = 8

/** A batch has five thousand keys: a hundred million of them per run. */
const KEY_BATCHES_MAX = 20_000

/**
 * Deletes the data of weeks that ended more than `ledgerMonths` ago: events with their deliveries
 * and counts, reports, snapshots, resolved alerts, imports and states of issues. Weekly partitions
 * are dropped, so an event can stay up to six days longer. Lists and totals are exact at all
 * times. Safe to repeat, to interrupt, and to run in several processes. Deletion receipts stay.
 */
export async function expireOldEvents(expiry: EventExpiry): Promise<ExpiredEventCounts> {
  const { database, now, ledgerMonths, batchesMax = BATCHES_MAX } = expiry
  const cutoffDay = computeRetentionCutoff(now, { months: ledgerMonths })
  const rowwise = await expireRowwise(database, cutoffDay, batchesMax)
  const weeks = rowwise.more ? NO_WEEKS : await expireWeeks(database, cutoffDay)
  const keys = await deleteKeysOfWeeks(database)
  const reports = await deleteOldReports(database, cutoffDay, batchesMax)
  return {
    weeks: weeks.dropped,
    events: rowwise.events,
    deliveries: rowwise.deliveries,
    reports: reports.rows,
    more: rowwise.more || weeks.more || keys.more || reports.more,
    isLocked: weeks.isLocked,
  }
}

const NO_WEEKS = { dropped: 0, more: false, isLocked: false }

async function expireWeeks(database: Database, cutoffDay: string) {
  const weeks = await findExpiredWeeks(database, cutoffDay)
  let dropped = 0
  for (const week of weeks.slice(0, WEEKS_MAX)) {
    // Trying the next week would block all other statements once more.
    if (!(await detachWeek(database, week))) return { dropped, more: false, isLocked: true }
    dropped += 1
    await pauseBetweenBatches()
  }
  return { dropped, more: dropped < weeks.length, isLocked: false }
}

/** The IDs of dropped events are free again once their keys are deleted. */
async function deleteKeysOfWeeks(database: Database): Promise<{ more: boolean }> {
  let batches = 0
  for (const table of await findDetachedWeeks(database)) {
    let after: KeyCursor | null = null
    do {
      if (batches === KEY_BATCHES_MAX) return { more: true }
      after = await deleteExpiredKeys(database, table, after)
      batches += 1
    } while (after !== null)
    await dropDetachedWeek(database, table)
  }
  return { more: false }
}

interface RowwiseCounts {
  events: number
  deliveries: number
  more: boolean
}

async function expireRowwise(
  database: Database,
  cutoffDay: string,
  batchesMax: number,
): Promise<RowwiseCounts> {
  const total = { events: 0, deliveries: 0 }
  let batches = 0
  for (const partition of await findRowwisePartitions(database)) {
    for (const trackerId of await findExpiringTrackers(database, partition, cutoffDay)) {
      let after: EventCursor | null = null
      do {
        if (batches === batchesMax) return { ...total, more: true }
        const range = { trackerId, cutoffDay, after }
        const batch: DeletedEvents = await deleteEventBatch(database, partition, range)
        after = batch.last
        batches += 1
        total.events += batch.events
        total.deliveries += batch.deliveries
        if (after !== null) await pauseBetweenBatches()
      } while (after !== null)
    }
  }
  for (const trackerId of await findExpiringTrackers(database, 'event_counts', cutoffDay)) {
    await deleteCounts(database, trackerId, cutoffDay)
  }
  return { ...total, more: false }
}

const IMPORTS: AgedTable = { table: 'imports', column: 'created_at' }
/** A mute ends with the events that it was about, and the issue is open again. */
const ISSUE_STATES: AgedTable = { table: 'issue_states', column: 'changed_at' }

async function deleteOldReports(database: Database, cutoffDay: string, batchesMax: number) {
  let rows = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    const sent = await deleteSentCounts(database, cutoffDay)
    const reports = await deleteReports(database, cutoffDay)
    const alerts = await deleteResolvedAlerts(database, cutoffDay)
    const before = new Date(cutoffDay)
    const imports = await deleteOldRows(database, { ...IMPORTS, before })
    const states = await deleteOldRows(database, { ...ISSUE_STATES, before })
    rows += sent + reports + alerts + imports + states
    if (
      sent < EXPIRED_ROWS_MAX &&
      reports < EXPIRY_BATCH_REPORTS &&
      alerts < EXPIRY_BATCH_REPORTS &&
      imports < OLD_ROWS_MAX &&
      states < OLD_ROWS_MAX
    ) {
      return { rows, more: false }
    }
    await pauseBetweenBatches()
  }
  return { rows, more: true }
}

interface AttemptExpiry {
  database: Database
  now: Date
  attemptDays: number
  /** Smaller in tests. */
  batchesMax?: number
}

/** A batch deletes up to a thousand attempts. */
/**
 * Deletes the send attempts of UTC days more than `attemptDays` ago, with the answers of the
 * platform. Deliveries keep their status, their last error, and attempt IDs that then point to
 * nothing. Safe to repeat, to interrupt, and to run in several processes. `more` asks for another
 * run without a pause.
 */
export async function expireAttempts(
  expiry: AttemptExpiry,
): Promise<{ attempts: number; more: boolean }> {
  const { database, now, attemptDays, batchesMax = BATCHES_MAX } = expiry
  const cutoffDay = computeRetentionCutoff(now, { days: attemptDays })
  let attempts = 0
  let batches = 0
  for (const trackerId of await findTrackersWithExpiredAttempts(database, cutoffDay)) {
    let after: AttemptPosition | null = null
    do {
      if (batches === batchesMax) return { attempts, more: true }
      const batch = await deleteExpiredAttempts(database, { trackerId, cutoffDay, after })
      after = batch.last
      attempts += batch.attempts
      batches += 1
      if (after !== null) await pauseBetweenBatches()
    } while (after !== null)
  }
  return { attempts, more: false }
}

interface CountExpiry {
  database: Database
  now: Date
  /** Smaller in tests. */
  batchesMax?: number
}

/** What the dashboard shows at most, and a day more. */
const COUNT_DAYS = 31
const TABLES: readonly AgedTable[] = [
  { table: 'refusals', column: 'hour' },
  { table: 'refusal_values', column: 'hour' },
  { table: 'stage_counts', column: 'hour' },
  { table: 'delivery_issues', column: 'day' },
  { table: 'secret_event_names', column: 'received_on' },
  // An issue that happens after it was resolved is open anyway, and older ones are not counted.
  { table: 'issue_states', column: 'changed_at', state: 'resolved' },
]

/**
 * Deletes the counts of the dashboard that are older than a month. Safe to repeat, to interrupt,
 * and to run in several processes. `more` asks for another run without a pause.
 */
export async function expireCounts({
  database,
  now,
  batchesMax = BATCHES_MAX,
}: CountExpiry): Promise<{ rows: number; more: boolean }> {
  const before = new Date(now.getTime() - COUNT_DAYS * DAY_MILLISECONDS)
  let rows = 0
  let batches = 0
  for (const aged of TABLES) {
    for (let deleted = 1; deleted > 0; batches += 1) {
      if (batches === batchesMax) return { rows, more: true }
      deleted = await deleteOldRows(database, { ...aged, before })
      rows += deleted
      if (deleted > 0) await pauseBetweenBatches()
    }
  }
  return { rows, more: false }
}
