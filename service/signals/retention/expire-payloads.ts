import type { Database } from '../../runtime/db/database.ts'
import { pauseBetweenBatches } from '../../runtime/util/wait.ts'
import { computeRetentionCutoff } from '../events/partition-store.ts'
import {
  deleteDefaultPartitionPayloads,
  deleteInactiveSessions,
  dropPayloadPartition,
  EXPIRY_BATCH_ROWS,
  eraseExpiringTokens,
  findAllTrackers,
  findExpiredPayloadPartitions,
  findTrackersWithExpiredPayloads,
  type PayloadCursor,
} from '../events/payload-expiry-store.ts'

export interface PayloadExpiry {
  database: Database
  now: Date
  payloadDays: number
  /** Smaller in tests. */
  batchesMax?: number
}

export interface ExpiredPayloadCounts {
  /** Daily partitions that were dropped. */
  partitions: number
  /** Payloads and sessions that were deleted one by one. */
  rows: number
  /** More rows are due: run again without a pause. */
  more: boolean
  /** A partition was locked and is left. Retrying without a pause would block acceptance. */
  isLocked: boolean
}

/** A dozen runs catch up on a year without expiry. Each drop blocks other statements briefly. */
const PARTITIONS_MAX = 31
/** A batch has up to a thousand rows: a run takes seconds, so a process can stop between runs. */
const BATCHES_MAX = 100

/**
 * Deletes identity payloads of UTC days more than `payloadDays` ago, and sessions without a visit
 * since then, and erases the tokens of people in the text of their events. Safe to repeat, to
 * interrupt, and to run in several processes. Consent withdrawals and the digests of erased people
 * stay, because they keep identity from being stored again.
 */
export async function expirePayloads(expiry: PayloadExpiry): Promise<ExpiredPayloadCounts> {
  const { database, now, payloadDays, batchesMax = BATCHES_MAX } = expiry
  const cutoffDay = computeRetentionCutoff(now, { days: payloadDays })
  await eraseTokens(database, cutoffDay)
  const days = await dropPartitions(database, cutoffDay)
  const payloads = await deleteFromDefaultPartition(database, cutoffDay, batchesMax)
  const sessions = await deleteSessions(database, cutoffDay, batchesMax)
  return {
    partitions: days.dropped,
    rows: payloads.rows + sessions.rows,
    more: days.more || payloads.more || sessions.more,
    isLocked: days.isLocked,
  }
}

/** Before the payloads go, which lead to the events. */
async function eraseTokens(database: Database, cutoffDay: string): Promise<void> {
  for (const trackerId of await findTrackersWithExpiredPayloads(database, cutoffDay)) {
    let after: PayloadCursor | null = null
    do {
      after = await eraseExpiringTokens(database, { trackerId, cutoffDay, after })
      if (after !== null) await pauseBetweenBatches()
    } while (after !== null)
  }
}

async function dropPartitions(database: Database, cutoffDay: string) {
  const limit = PARTITIONS_MAX + 1
  const names = await findExpiredPayloadPartitions(database, { cutoffDay, limit })
  let dropped = 0
  for (const name of names.slice(0, PARTITIONS_MAX)) {
    if (!(await dropPayloadPartition(database, name))) {
      // Trying the next partition would block all other statements once more.
      return { dropped, more: false, isLocked: true }
    }
    dropped += 1
    await pauseBetweenBatches()
  }
  return { dropped, more: dropped < names.length, isLocked: false }
}

async function deleteFromDefaultPartition(
  database: Database,
  cutoffDay: string,
  batchesMax: number,
) {
  let rows = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    const deleted = await deleteDefaultPartitionPayloads(database, cutoffDay)
    rows += deleted
    if (deleted < EXPIRY_BATCH_ROWS) return { rows, more: false }
    await pauseBetweenBatches()
  }
  return { rows, more: true }
}

/**
 * Only batches that delete rows count toward the limit. Each run starts from the first session, so
 * a run that stopped at sessions to keep would never get past them.
 */
async function deleteSessions(database: Database, cutoffDay: string, batchesMax: number) {
  let rows = 0
  let batches = 0
  for (const trackerId of await findAllTrackers(database)) {
    let after: string | null = null
    do {
      if (batches === batchesMax) return { rows, more: true }
      const batch = await deleteInactiveSessions(database, { trackerId, cutoffDay, after })
      after = batch.last
      rows += batch.sessions
      if (batch.sessions > 0) batches += 1
      if (after !== null || batch.sessions > 0) await pauseBetweenBatches()
    } while (after !== null)
  }
  return { rows, more: false }
}
