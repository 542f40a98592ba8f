import type { SendAnswer } from '../platforms/platform.ts'
import type { DeliveryContext } from './delivery-context.ts'
import {
  type Destination,
  pauseDestination,
  postponeProbe,
  resumeDestination,
} from './destination-store.ts'

/** What a run says about its lane, as opposed to its events. */
export type DestinationHealth =
  /** `waitSeconds`: the platform works but asks us to slow down; mostly 0. */
  | { kind: 'works'; waitSeconds: number }
  /** The platform refuses the credential or the set-up: the destination becomes inactive. */
  | { kind: 'refused'; reason: string }
  /** This process cannot open the stored credential; another one may. */
  | { kind: 'unreadable'; reason: string }
  | { kind: 'throttled'; waitSeconds: number }
  /** No usable answer, or one that says "later". */
  | { kind: 'unreachable'; waitSeconds: number }
  /** Nothing was sent, so nothing is known. */
  | { kind: 'untried' }

const PROBE_SECONDS_MIN = 60
const PROBE_SECONDS_MAX = 3_600

/** The last answer decides: after a refusal of the lane nothing more was sent. */
export function assessHealth(lastAnswer: SendAnswer | null): DestinationHealth {
  if (lastAnswer === null) return { kind: 'untried' }
  const { outcome, waitSeconds } = lastAnswer
  switch (outcome) {
    case 'accepted':
    case 'permanent':
      return { kind: 'works', waitSeconds }
    case 'auth':
    case 'config':
      return { kind: 'refused', reason: refusalReason(lastAnswer) }
    case 'throttle':
      return { kind: 'throttled', waitSeconds }
    case 'retry':
    case 'unknown':
      return { kind: 'unreachable', waitSeconds }
  }
}

/** How long to wait before an inactive destination is tried again with a single event. */
export function probeWaitSeconds(failedProbes: number): number {
  return Math.min(PROBE_SECONDS_MIN * 2 ** Math.min(failedProbes, 10), PROBE_SECONDS_MAX)
}

function refusalReason({ outcome, error }: SendAnswer): string {
  const what = outcome === 'auth' ? 'refuses the credential' : 'refuses the set-up'
  const code = error?.code === null || error?.code === undefined ? '' : ` (code ${error.code})`
  return `The platform ${what}${code}: ${error?.user_message || error?.message || 'no reason'}`
}

/**
 * Pauses a lane whose destination was refused. Every request in flight to the lane may be refused;
 * the first one pauses it and is told.
 */
export async function updateDestinationHealth(
  { database, now, onDestinationStatusChanged: onDestinationMoved }: DeliveryContext,
  { trackerId, id: destinationId, sealedCredential }: Destination,
  verdict: DestinationHealth,
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
export async function updateHealthAfterProbe(
  { database, now, onDestinationStatusChanged: onDestinationMoved }: DeliveryContext,
  { trackerId, id: destinationId, ...destination }: Destination,
  verdict: DestinationHealth,
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
