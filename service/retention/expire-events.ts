import type { Database } from '../db/database.ts'
import { sleepInDatabase } from '../db/database.ts'
import { deleteSentCounts, EXPIRED_ROWS } from '../delivery/expire-store.ts'
import {
  deleteCounts,
  deleteExpiredKeys,
  detachWeek,
  dropDetachedWeek,
  findDetachedWeeks,
  findExpiredWeeks,
  findExpiringTrackers,
  findRowwisePartitions,
  type KeyCursor,
} from '../events/event-expiry-store.ts'
import {
  deleteReports,
  deleteResolvedAlerts,
  EXPIRY_BATCH_REPORTS,
} from '../reports/report-store.ts'
import { computeRetentionCutoff } from './retention-cutoff.ts'
import { type DeletedEvents, deleteEventBatch, type EventCursor } from './store.ts'

export interface EventExpiry {
  database: Database
  now: Date
  ledgerMonths: number
  /** Smaller in tests. */
  batchesMax?: number
}

export interface ExpiredEventCounts {
  /** Weeks that were dropped whole. */
  weeks: number
  /** Events that were deleted one by one. */
  events: number
  deliveries: number
  /** Reports, snapshots, resolved alerts, and counts of what was sent. */
  reports: number
  /** Something is left to do at once. */
  more: boolean
  /** A week is left because its tables are held. Trying again at once would hold up acceptance. */
  isLocked: boolean
}

/** Of a thousand events: a run takes some seconds, so that a process can end between two. */
const BATCHES_MAX = 100

/** Half a billion events a run at ten million a day. */
const WEEKS_MAX = 8

/** Of five thousand keys: a hundred million of them a run. */
const KEY_BATCHES_MAX = 20_000

/**
 * Expires what came in weeks that ended more than `ledgerMonths` ago: events with their deliveries
 * and counts, reports, snapshots and resolved alerts. A week is dropped whole, so an event stays
 * for up to six days longer. Lists and their totals are exact at every moment. May be repeated,
 * interrupted, and run by several processes. The receipts of deletions stay.
 */
export async function expireOldEvents(expiry: EventExpiry): Promise<ExpiredEventCounts> {
  const { database, now, ledgerMonths, batchesMax = BATCHES_MAX } = expiry
  const since = computeRetentionCutoff(now, { months: ledgerMonths })
  const rowwise = await expireRowwise(database, since, batchesMax)
  const weeks = rowwise.more ? NO_WEEKS : await expireWeeks(database, since)
  const keys = await deleteKeysOfWeeks(database)
  const reports = await deleteOldReports(database, since, batchesMax)
  return {
    weeks: weeks.dropped,
    events: rowwise.events,
    deliveries: rowwise.deliveries,
    reports: reports.rows,
    more: rowwise.more || weeks.more || keys.more || reports.more,
    isLocked: weeks.isHeld,
  }
}

const NO_WEEKS = { dropped: 0, more: false, isHeld: false }

async function expireWeeks(database: Database, since: string) {
  const weeks = await findExpiredWeeks(database, since)
  let dropped = 0
  for (const week of weeks.slice(0, WEEKS_MAX)) {
    // Trying the next one would make all statements wait once more.
    if (!(await detachWeek(database, week))) return { dropped, more: false, isHeld: true }
    dropped += 1
    await sleepInDatabase(database)
  }
  return { dropped, more: dropped < weeks.length, isHeld: false }
}

/** The ids of dropped events may be used again once their keys are gone. */
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
  since: string,
  batchesMax: number,
): Promise<RowwiseCounts> {
  const total = { events: 0, deliveries: 0 }
  let batches = 0
  for (const partition of await findRowwisePartitions(database)) {
    for (const trackerId of await findExpiringTrackers(database, partition, since)) {
      let after: EventCursor | null = null
      do {
        if (batches === batchesMax) return { ...total, more: true }
        const old = { trackerId, cutoffDay: since, after }
        const batch: DeletedEvents = await deleteEventBatch(database, partition, old)
        after = batch.last
        batches += 1
        total.events += batch.events
        total.deliveries += batch.deliveries
        if (after !== null) await sleepInDatabase(database)
      } while (after !== null)
    }
  }
  for (const trackerId of await findExpiringTrackers(database, 'event_counts', since)) {
    await deleteCounts(database, trackerId, since)
  }
  return { ...total, more: false }
}

async function deleteOldReports(database: Database, since: string, batchesMax: number) {
  let rows = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    const sent = await deleteSentCounts(database, since)
    const reports = await deleteReports(database, since)
    const alerts = await deleteResolvedAlerts(database, since)
    rows += sent + reports + alerts
    if (sent < EXPIRED_ROWS && reports < EXPIRY_BATCH_REPORTS && alerts < EXPIRY_BATCH_REPORTS) {
      return { rows, more: false }
    }
    await sleepInDatabase(database)
  }
  return { rows, more: true }
}
