import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { pauseBetweenBatches } from '../../runtime/util/wait.ts'
import {
  type AttemptPosition,
  deleteExpiredAttempts,
  findTrackersWithExpiredAttempts,
} from '../delivery/expire-store.ts'
import { computeRetentionCutoff, deleteOldRows } from './retention-store.ts'

export interface AttemptExpiry {
  database: Database
  now: Date
  attemptDays: number
  /** Smaller in tests. */
  batchesMax?: number
}

/** A batch deletes up to a thousand attempts. */
const BATCHES_MAX = 100

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
const TABLES = [
  { table: 'refusals', column: 'hour' },
  { table: 'stage_counts', column: 'hour' },
  { table: 'delivery_issues', column: 'day' },
] as const

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
