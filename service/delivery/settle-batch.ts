import type { ClaimedBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import type { Settlement } from './settlement.ts'
import { settleDeliveries } from './store.ts'

/** Writes what became of deliveries of the batch, as far as they are still this worker's. */
export async function settleBatch(
  { database, now, onSettled }: DeliveryContext,
  { destination: { trackerId }, leaseEndsAt }: ClaimedBatch,
  settlements: readonly Settlement[],
): Promise<void> {
  await settleDeliveries(database, { trackerId, leaseEndsAt, at: now(), settlements })
  onSettled?.(settlements)
}
