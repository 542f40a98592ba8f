import type { ClaimedBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { retryWhileLeased } from './retry-while-leased.ts'
import { type DecidedRequest, tallySent } from './sent-tally.ts'
import type { Settlement } from './settlement.ts'
import { type PlacedSettlement, settleDeliveries } from './settlement-store.ts'
import { steadySeconds } from './steady-seconds.ts'

export interface BatchSettlement {
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
  const startedAt = steadySeconds()
  const count = await retryWhileLeased(() => settleDeliveries(database, settled), {
    leaseEndsAtSeconds,
    isStopping,
    onRetry: onSettleRetry,
  })
  if (settlements.length > 0) onSettled?.(settlements, steadySeconds() - startedAt)
  return count
}

function placeSettlement({ claimed }: ClaimedBatch, settlement: Settlement): PlacedSettlement {
  const delivery = claimed.get(settlement.id)
  if (!delivery) throw new Error(`delivery ${settlement.id} is not of this batch`)
  return { ...settlement, createdAt: delivery.createdAt }
}
