import { sleep } from '@signalbox/embedded-postgres/postmaster.ts'
import { isStoreUnavailable } from '../db/database-errors.ts'
import { monotonicSeconds } from '../util/monotonic-clock.ts'
import type { ClaimedBatch } from './claim-store.ts'
import type { DeliveryContext } from './delivery-context.ts'
import type { Settlement } from './retry-policy.ts'
import { type DecidedRequest, tallySent } from './sent-tally.ts'
import { type PlacedSettlement, settleDeliveries } from './settlement-store.ts'

interface BatchSettlement {
  settlements: readonly Settlement[]
  /** The request that decided them; null when they are settled unsent. */
  request: DecidedRequest | null
}

/**
 * Writes the outcome of deliveries of the batch, as far as they are still this worker's. Returns
 * how many were. It is tried again while the lease lasts: the statement is bound to the lease and
 * ends it, so what was committed although the answer was lost is not found again, and its counts
 * are not added twice. Then fewer are returned than were settled.
 */
export async function settleBatch(
  { database, now, isStopping, onSettled, onSettleRetry }: DeliveryContext,
  batch: ClaimedBatch,
  { settlements, request }: BatchSettlement,
): Promise<number> {
  const { destination, leaseEndsAt, leaseEndsAtSeconds } = batch
  const { trackerId, id: destinationId } = destination
  const ids = settlements.map(({ id }) => id)
  const sent = tallySent(batch, ids, request)
  const placed = settlements.map(settlement => placeSettlement(batch, settlement))
  const settled = { trackerId, destinationId, leaseEndsAt, at: now(), settlements: placed, sent }
  const startedAt = monotonicSeconds()
  const count = await retryWhileLeased(() => settleDeliveries(database, settled), {
    leaseEndsAtSeconds,
    isStopping,
    onRetry: onSettleRetry,
  })
  if (settlements.length > 0) onSettled?.(settlements, monotonicSeconds() - startedAt)
  return count
}

function placeSettlement({ claimed }: ClaimedBatch, settlement: Settlement): PlacedSettlement {
  const delivery = claimed.get(settlement.id)
  if (!delivery) throw new Error(`delivery ${settlement.id} is not of this batch`)
  return { ...settlement, createdAt: delivery.createdAt }
}

interface LeaseOptions {
  /** On this process's steady clock. */
  leaseEndsAtSeconds: number
  isStopping?: (() => boolean) | undefined
  /** For counting. */
  onRetry?: (() => void) | undefined
}

const PAUSE_SECONDS_MIN = 0.05
const PAUSE_SECONDS_MAX = 1
/** A write that began later would find the rows in the hands of another worker. */
const MARGIN_SECONDS = 1
/** A process that is told to end has half a minute for everything. */
const STOPPING_SECONDS_MAX = 5

/** A transaction that PostgreSQL took back for the sake of another one: 40001 and 40P01. */
const ROLLBACK_CODES = new Set<unknown>(['40001', '40P01'])

/**
 * Writes to the store, again and again while it is out of reach and the lease lasts. Between the
 * platform's answer and its settlement a broken connection would otherwise send every event of the
 * request once more. Nobody knows whether a write was committed whose connection broke, so `write`
 * has to be one that changes nothing the second time.
 */
export async function retryWhileLeased<Result>(
  write: () => Promise<Result>,
  { leaseEndsAtSeconds, isStopping, onRetry }: LeaseOptions,
): Promise<Result> {
  const startedAt = monotonicSeconds()
  let pauseSeconds = PAUSE_SECONDS_MIN
  for (;;) {
    try {
      return await write()
    } catch (error) {
      const lastAt = leaseEndsAtSeconds - MARGIN_SECONDS
      const endsAt = isStopping?.() ? Math.min(lastAt, startedAt + STOPPING_SECONDS_MAX) : lastAt
      if (!isTransientError(error) || monotonicSeconds() + pauseSeconds > endsAt) throw error
    }
    onRetry?.()
    await sleep(pauseSeconds)
    pauseSeconds = Math.min(pauseSeconds * 2, PAUSE_SECONDS_MAX)
  }
}

function isTransientError(error: unknown): boolean {
  return isStoreUnavailable(error) || ROLLBACK_CODES.has((error as { code?: unknown }).code)
}
