import type { Database } from '../db/database.ts'
import { sleepInDatabase } from '../db/database.ts'
import {
  type AttemptPosition,
  deleteAttempts,
  findTrackersOfOldAttempts,
} from '../delivery/expire-store.ts'
import { computeRetentionCutoff } from './retention-cutoff.ts'

export interface AttemptExpiry {
  database: Database
  now: Date
  attemptDays: number
  /** Smaller in tests. */
  batchesMax?: number
}

/** Of a thousand attempts. */
const BATCHES_MAX = 100

/**
 * Expires requests to the platform of UTC days more than `attemptDays` ago, with their answers. The
 * deliveries keep their status, their last error, and ids that then lead nowhere. May be repeated,
 * interrupted, and run by several processes. `more` says that something is left to do at once.
 */
export async function expireAttempts(
  expiry: AttemptExpiry,
): Promise<{ attempts: number; more: boolean }> {
  const { database, now, attemptDays, batchesMax = BATCHES_MAX } = expiry
  const since = computeRetentionCutoff(now, { days: attemptDays })
  let attempts = 0
  let batches = 0
  for (const trackerId of await findTrackersOfOldAttempts(database, since)) {
    let after: AttemptPosition | null = null
    do {
      if (batches === batchesMax) return { attempts, more: true }
      const batch = await deleteAttempts(database, { trackerId, keptSince: since, after })
      after = batch.last
      attempts += batch.attempts
      batches += 1
      if (after !== null) await sleepInDatabase(database)
    } while (after !== null)
  }
  return { attempts, more: false }
}
