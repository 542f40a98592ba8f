import type { ClaimedBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { type DecidedRequest, tallySent } from './sent-tally.ts'
import type { Settlement } from './settlement.ts'
import { settleDeliveries } from './settlement-store.ts'

export interface BatchSettlement {
  settlements: readonly Settlement[]
  /** The request that decided them; null when they are settled unsent. */
  request: DecidedRequest | null
}

/**
 * Writes what became of deliveries of the batch, as far as they are still this worker's. Returns
 * how many were.
 */
export async function settleBatch(
  { database, now, onSettled }: DeliveryContext,
  batch: ClaimedBatch,
  { settlements, request }: BatchSettlement,
): Promise<number> {
  const { destination, leaseEndsAt } = batch
  const { trackerId, id: destinationId } = destination
  const ids = settlements.map(({ id }) => id)
  const sent = tallySent(batch, ids, request)
  const count = await settleDeliveries(database, {
    trackerId,
    destinationId,
    leaseEndsAt,
    at: now(),
    settlements,
    sent,
  })
  onSettled?.(settlements)
  return count
}
