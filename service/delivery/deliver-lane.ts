import { claimDeliveries } from './claim-store.ts'
import { type ClaimedBatch, loadBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import {
  type Destination,
  pauseDestination,
  postponeProbe,
  resumeDestination,
} from './destination-store.ts'
import { LANE_FATES } from './fates.ts'
import { type LaneVerdict, probeWaitSeconds } from './lane-verdict.ts'
import { reviewBatch } from './review-batch.ts'
import { sendBatch } from './send-batch.ts'
import { steadySeconds } from './steady-seconds.ts'
import type { Lane } from './store.ts'

export interface LaneRun {
  claimedCount: number
  /** The claim was as large as it may be, so more is probably waiting. */
  isFull: boolean
  verdict: LaneVerdict
}

/**
 * Delivers one batch of a lane: claim, look at each event again, send what may leave, settle. No
 * transaction is open while the platform answers. If this process dies on the way, the lease
 * brings the deliveries back; they go out again under the same id and time.
 */
export async function deliverLane(
  context: DeliveryContext,
  lane: Lane,
  onClaimed: (isFull: boolean) => void,
): Promise<LaneRun> {
  const { database, platform, now, leaseSeconds } = context
  const leaseEndsAtSeconds = steadySeconds() + leaseSeconds
  const batchMax = Math.min(context.batchMax, platform.batchMax)
  const limit = lane.isProbe ? 1 : batchMax
  const claimed = await claimDeliveries(database, { lane, limit, claimedAt: now(), leaseSeconds })
  const claimedCount = claimed.deliveries.length
  const isFull = claimedCount === batchMax
  onClaimed(isFull)
  if (claimedCount === 0) return { claimedCount, isFull, verdict: { kind: 'untried' } }

  const batch = await loadBatch(database, { ...lane, claimed, leaseEndsAtSeconds })
  const verdict = await deliverBatch(context, batch)
  if (lane.isProbe) await judgeProbe(context, batch.destination, verdict)
  else if (verdict.kind === 'refused') await pause(context, batch.destination, verdict.reason)
  return { claimedCount, isFull, verdict }
}

async function deliverBatch(context: DeliveryContext, batch: ClaimedBatch): Promise<LaneVerdict> {
  const sendings = await reviewBatch(context, batch)
  return sendBatch(context, { batch, sendings, fates: LANE_FATES })
}

/** Every request in flight to the lane may be refused; the first one pauses it and is told. */
async function pause(
  { database, now, onDestinationMoved }: DeliveryContext,
  { trackerId, id: destinationId }: Destination,
  reason: string,
): Promise<void> {
  const at = now()
  const nextProbeAt = new Date(at.getTime() + probeWaitSeconds(0) * 1_000)
  const pausing = { trackerId, destinationId, reason, at, nextProbeAt }
  const wasActive = await pauseDestination(database, pausing)
  if (wasActive) onDestinationMoved?.({ trackerId, destinationId, status: 'inactive', reason })
}

/** A probe that works resumes the lane; one that told nothing is followed by another at once. */
async function judgeProbe(
  { database, now, onDestinationMoved }: DeliveryContext,
  { trackerId, id: destinationId, failedProbes, statusReason }: Destination,
  verdict: LaneVerdict,
): Promise<void> {
  const at = now()
  const postpone = (reason: string | null, waitSeconds: number) => {
    const seconds = Math.max(waitSeconds, probeWaitSeconds(failedProbes + 1))
    const nextProbeAt = new Date(at.getTime() + seconds * 1_000)
    return postponeProbe(database, { trackerId, destinationId, reason, at, nextProbeAt })
  }
  switch (verdict.kind) {
    case 'works': {
      const wasInactive = await resumeDestination(database, { trackerId, destinationId, at })
      const move = { trackerId, destinationId, status: 'active', reason: null } as const
      if (wasInactive) onDestinationMoved?.(move)
      return
    }
    case 'refused':
      return postpone(verdict.reason, 0)
    case 'throttled':
    case 'unreachable':
      return postpone(statusReason, verdict.waitSeconds)
    case 'untried':
  }
}
