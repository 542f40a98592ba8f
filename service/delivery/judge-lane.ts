import type { DeliveryContext } from './delivery-context.ts'
import {
  type Destination,
  pauseDestination,
  postponeProbe,
  resumeDestination,
} from './destination-store.ts'
import { type LaneVerdict, probeWaitSeconds } from './lane-verdict.ts'

/**
 * Pauses a lane whose destination was refused. Every request in flight to the lane may be refused;
 * the first one pauses it and is told.
 */
export async function judgeLane(
  { database, now, onDestinationMoved }: DeliveryContext,
  { trackerId, id: destinationId, sealedCredential }: Destination,
  verdict: LaneVerdict,
): Promise<void> {
  if (verdict.kind !== 'refused' && verdict.kind !== 'unreadable') return
  const { reason } = verdict
  const at = now()
  const nextProbeAt = new Date(at.getTime() + probeWaitSeconds(0) * 1_000)
  const pausing = { trackerId, destinationId, sealedCredential, reason, at, nextProbeAt }
  const wasActive = await pauseDestination(database, pausing)
  if (wasActive) onDestinationMoved?.({ trackerId, destinationId, status: 'inactive', reason })
}

/** A probe that works resumes the lane; one that told nothing is followed by another at once. */
export async function judgeProbe(
  { database, now, onDestinationMoved }: DeliveryContext,
  { trackerId, id: destinationId, ...destination }: Destination,
  verdict: LaneVerdict,
): Promise<void> {
  const { sealedCredential, failedProbes, statusReason } = destination
  const tried = { trackerId, destinationId, sealedCredential, at: now() }
  const postpone = (reason: string | null, waitSeconds: number) => {
    const seconds = Math.max(waitSeconds, probeWaitSeconds(failedProbes + 1))
    const nextProbeAt = new Date(tried.at.getTime() + seconds * 1_000)
    return postponeProbe(database, { ...tried, reason, nextProbeAt })
  }
  switch (verdict.kind) {
    case 'works': {
      const wasInactive = await resumeDestination(database, tried)
      const move = { trackerId, destinationId, status: 'active', reason: null } as const
      if (wasInactive) onDestinationMoved?.(move)
      return
    }
    case 'refused':
    case 'unreadable':
      return postpone(verdict.reason, 0)
    case 'throttled':
    case 'unreachable':
      return postpone(statusReason, verdict.waitSeconds)
    case 'untried':
  }
}
