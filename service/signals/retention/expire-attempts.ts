import type { Database } from '../../runtime/db/database.ts'
import { pauseBetweenBatches } from '../../runtime/util/wait.ts'
import {
  type AttemptPosition,
  deleteExpiredAttempts,
  findTrackersWithExpiredAttempts,
} from '../delivery/expire-store.ts'
import { computeRetentionCutoff } from './retention-cutoff.ts'

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
