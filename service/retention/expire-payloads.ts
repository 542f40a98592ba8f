import type { Database } from '../db/database.ts'
import { sleepInDatabase } from '../db/database.ts'
import {
  deleteDefaultPartitionPayloads,
  deleteInactiveSessions,
  dropPayloadPartition,
  EXPIRY_BATCH_ROWS,
  findExpiredPayloadPartitions,
  findSessionTrackers,
} from '../events/payload-expiry-store.ts'
import { computeRetentionCutoff } from './retention-cutoff.ts'

export interface PayloadExpiry {
  database: Database
  now: Date
  payloadDays: number
  /** Smaller in tests. */
  batchesMax?: number
}

export interface ExpiredPayloadCounts {
  /** Days that were dropped whole. */
  partitions: number
  /** Payloads and sessions that were deleted one by one. */
  rows: number
  /** Something is left to do at once. */
  more: boolean
  /** A day is left because its table is held. Trying again at once would hold up acceptance. */
  isLocked: boolean
}

/** A year without expiry is caught up in a dozen runs; each day holds up statements briefly. */
const PARTITIONS_MAX = 31
/** Of a thousand rows: a run takes some seconds, so that a process can end between two. */
const BATCHES_MAX = 100

/**
 * Expires identity payloads of UTC days more than `payloadDays` ago, and sessions that were not
 * seen since. May be repeated, interrupted, and run by several processes. Withdrawals of consent
 * and the digests of erased people stay: they keep identity from coming back.
 */
export async function expirePayloads(expiry: PayloadExpiry): Promise<ExpiredPayloadCounts> {
  const { database, now, payloadDays, batchesMax = BATCHES_MAX } = expiry
  const since = computeRetentionCutoff(now, { days: payloadDays })
  const days = await dropDays(database, since)
  const strays = await deleteFromDefaultPartition(database, since, batchesMax)
  const sessions = await deleteSessions(database, since, batchesMax)
  return {
    partitions: days.dropped,
    rows: strays.rows + sessions.rows,
    more: days.more || strays.more || sessions.more,
    isLocked: days.isHeld,
  }
}

async function dropDays(database: Database, since: string) {
  const limit = PARTITIONS_MAX + 1
  const names = await findExpiredPayloadPartitions(database, { keptSince: since, limit })
  let dropped = 0
  for (const name of names.slice(0, PARTITIONS_MAX)) {
    // Trying the next day would make all statements wait once more.
    if (!(await dropPayloadPartition(database, name))) return { dropped, more: false, isHeld: true }
    dropped += 1
    await sleepInDatabase(database)
  }
  return { dropped, more: dropped < names.length, isHeld: false }
}

async function deleteFromDefaultPartition(database: Database, since: string, batchesMax: number) {
  let rows = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    const deleted = await deleteDefaultPartitionPayloads(database, since)
    rows += deleted
    if (deleted < EXPIRY_BATCH_ROWS) return { rows, more: false }
    await sleepInDatabase(database)
  }
  return { rows, more: true }
}

/**
 * Only batches that delete something count towards the limit: each run looks from the beginning, so
 * one that stopped at sessions that stay would never come further.
 */
async function deleteSessions(database: Database, since: string, batchesMax: number) {
  let rows = 0
  let batches = 0
  for (const trackerId of await findSessionTrackers(database)) {
    let after: string | null = null
    do {
      if (batches === batchesMax) return { rows, more: true }
      const batch = await deleteInactiveSessions(database, { trackerId, cutoffDay: since, after })
      after = batch.last
      rows += batch.sessions
      if (batch.sessions > 0) batches += 1
      if (after !== null || batch.sessions > 0) await sleepInDatabase(database)
    } while (after !== null)
  }
  return { rows, more: false }
}
