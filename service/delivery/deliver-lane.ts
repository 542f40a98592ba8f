import { claimDeliveries } from './claim-store.ts'
import { type ClaimedBatch, loadBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import type { Lane } from './due-lanes-store.ts'
import { LANE_FATES } from './fates.ts'
import { judgeLane, judgeProbe } from './judge-lane.ts'
import type { LaneVerdict } from './lane-verdict.ts'
import { reviewBatch } from './review-batch.ts'
import { sendBatch } from './send-batch.ts'
import { steadySeconds } from './steady-seconds.ts'

export interface LaneRun {
  claimedCount: number
  /** The claim was as large as it may be, so more is probably waiting. */
  isFull: boolean
  verdict: LaneVerdict
}

/** An outage costs so many events an attempt each time that the platform is tried. */
const TRIAL_EVENTS_MAX = 10

/**
 * Delivers one batch of a lane: claim, look at each event again, send what may leave, settle. No
 * transaction is open while the platform answers. If this process dies on the way, the lease
 * brings the deliveries back; they go out again under the same id and time.
 */
export async function deliverLane(
  { nodes, ...anywhere }: DeliveryContext,
  lane: Lane,
  onClaimed: (isFull: boolean) => void,
): Promise<LaneRun> {
  const database = nodes ? await nodes.nodeOf(lane.trackerId) : anywhere.database
  const context = { ...anywhere, database }
  const { platform, now, leaseSeconds } = context
  const leaseEndsAtSeconds = steadySeconds() + leaseSeconds
  const batchMax = Math.min(context.batchMax, platform.batchMax)
  const limit = Math.min(batchMax, lane.isProbe ? 1 : lane.isTrial ? TRIAL_EVENTS_MAX : batchMax)
  const claimed = await claimDeliveries(database, { lane, limit, claimedAt: now(), leaseSeconds })
  context.onClaimed?.(steadySeconds() + leaseSeconds - leaseEndsAtSeconds)
  const claimedCount = claimed.deliveries.length
  const isFull = claimedCount === batchMax
  onClaimed(isFull)
  if (claimedCount === 0) return { claimedCount, isFull, verdict: { kind: 'untried' } }

  const batch = await loadBatch(database, { ...lane, claimed, leaseEndsAtSeconds })
  const verdict = await deliverBatch(context, batch)
  if (lane.isProbe) await judgeProbe(context, batch.destination, verdict)
  else await judgeLane(context, batch.destination, verdict)
  return { claimedCount, isFull, verdict }
}

async function deliverBatch(context: DeliveryContext, batch: ClaimedBatch): Promise<LaneVerdict> {
  const sendings = await reviewBatch(context, batch)
  return sendBatch(context, { batch, sendings, fates: LANE_FATES })
}
