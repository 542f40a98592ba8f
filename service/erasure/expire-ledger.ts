import type { Database } from '../db/database.ts'
import { deleteSentCounts, EXPIRED_ROWS, forgetDeliveryCounts } from '../delivery/expire-store.ts'
import { findExpiringTrackers, forgetEventCounts } from '../ledger/expire-store.ts'
import { pauseBriefly } from '../ledger/suppression-store.ts'
import { deleteReports, deleteResolvedAlerts, EXPIRED_REPORTS } from '../reports/expire-store.ts'
import { type EventPosition, expireEvents } from './expire-store.ts'
import { keptSince } from './kept-since.ts'

export interface LedgerExpiry {
  database: Database
  now: Date
  ledgerMonths: number
  /** Smaller in tests. */
  batchesMax?: number
}

export interface ExpiredLedger {
  events: number
  deliveries: number
  /** Reports, snapshots, resolved alerts, and counts of what was sent. */
  reports: number
  /** Something is left to do at once. */
  more: boolean
}

/** Of a thousand events: a run takes some seconds, so that a process can end between two. */
const BATCHES_MAX = 100

/**
 * Expires what came on UTC days more than `ledgerMonths` ago: events with their deliveries and
 * counts, reports, snapshots and resolved alerts. Lists and their totals are exact at every moment.
 * May be repeated, interrupted, and run by several processes. The receipts of deletions stay.
 */
export async function expireLedger(expiry: LedgerExpiry): Promise<ExpiredLedger> {
  const { database, now, ledgerMonths, batchesMax = BATCHES_MAX } = expiry
  const since = keptSince(now, { months: ledgerMonths })
  const total = { events: 0, deliveries: 0, reports: 0, more: false }
  let batchesLeft = batchesMax
  for (const trackerId of await findExpiringTrackers(database, since)) {
    if (batchesLeft === 0) break
    const expired = await expireTracker(database, { trackerId, since, batchesMax: batchesLeft })
    total.events += expired.events
    total.deliveries += expired.deliveries
    batchesLeft -= expired.batches
  }
  const reports = await deleteOldReports(database, since, batchesMax)
  return { ...total, reports: reports.rows, more: batchesLeft === 0 || reports.more }
}

interface TrackerExpiry {
  trackerId: string
  since: string
  batchesMax: number
}

/** The counts are forgotten at the end, so that until then they lead back to the tracker. */
async function expireTracker(
  database: Database,
  { trackerId, since, batchesMax }: TrackerExpiry,
): Promise<{ events: number; deliveries: number; batches: number }> {
  const total = { events: 0, deliveries: 0, batches: 0 }
  let after: EventPosition | null = null
  while (total.batches < batchesMax) {
    const batch = await expireEvents(database, { trackerId, keptSince: since, after })
    after = batch.last
    if (after === null) {
      await forgetEventCounts(database, trackerId, since)
      await forgetDeliveryCounts(database, trackerId, since)
      break
    }
    total.events += batch.events
    total.deliveries += batch.deliveries
    total.batches += 1
    await pauseBriefly(database)
  }
  return total
}

async function deleteOldReports(database: Database, since: string, batchesMax: number) {
  let rows = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    const sent = await deleteSentCounts(database, since)
    const reports = await deleteReports(database, since)
    const alerts = await deleteResolvedAlerts(database, since)
    rows += sent + reports + alerts
    if (sent < EXPIRED_ROWS && reports < EXPIRED_REPORTS && alerts < EXPIRED_REPORTS) {
      return { rows, more: false }
    }
    await pauseBriefly(database)
  }
  return { rows, more: true }
}
