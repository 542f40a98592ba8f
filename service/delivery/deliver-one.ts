import { claimDelivery } from './claim-store.ts'
import { loadBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { SINGLE_ATTEMPT_FATES } from './fates.ts'
import { judgeLane, judgeProbe } from './judge-lane.ts'
import { reviewBatch } from './review-batch.ts'
import { sendBatch } from './send-batch.ts'
import { steadySeconds } from './steady-seconds.ts'

export interface SingleDelivery {
  trackerId: string
  destinationId: string
  createdAt: Date
  id: number
}

/**
 * Sends one waiting delivery at once, due or not, and once: what the platform does not accept has
 * failed. An inactive destination is tried as well, since the answer tells whether it works again.
 */
export async function deliverOne(
  context: DeliveryContext,
  { trackerId, destinationId, createdAt, id }: SingleDelivery,
): Promise<void> {
  const { database, now, leaseSeconds } = context
  const leaseEndsAtSeconds = steadySeconds() + leaseSeconds
  const lease = { claimedAt: now(), leaseSeconds }
  const claimed = await claimDelivery(database, { trackerId, createdAt, id, ...lease })
  if (claimed.deliveries.length === 0) return
  const ofLane = { trackerId, destinationId, claimed, leaseEndsAtSeconds }
  const batch = await loadBatch(database, ofLane)
  const sendings = await reviewBatch(context, batch)
  const verdict = await sendBatch(context, { batch, sendings, fates: SINGLE_ATTEMPT_FATES })
  // A key that this process lacks says nothing about the lane: its workers may have it.
  if (verdict.kind === 'unreadable') return
  const { destination } = batch
  if (destination.status === 'inactive') await judgeProbe(context, destination, verdict)
  else await judgeLane(context, destination, verdict)
}
