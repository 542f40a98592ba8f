import { keysOf } from '@signalbox/contract/closed-set.ts'
import type { PauseReason } from '@signalbox/contract/reasons.ts'

import { INVALID_CONFIGURATION, type SendAnswer } from '../platforms/platform.ts'
import type { CircuitBreakers, CircuitChange } from './circuit-breaker.ts'

import type { DeliveryContext } from './delivery-context.ts'
import {
  clearOutage,
  pauseDestination,
  postponeProbe,
  recordBackoff,
  resumeDestination,
} from './destination-health-store.ts'
import { bringForwardRetries, type DestinationQueue } from './destination-queue-store.ts'
import type { Destination } from './destination-store.ts'

/** What a batch shows about its destination, as opposed to its events. */
export type DestinationHealth =
  /** `waitSeconds`: the platform works but asks for a pause; usually 0. */
  | { kind: 'works'; waitSeconds: number }
  /** The platform rejects the credential or the configuration: the destination is paused. */
  | { kind: 'refused'; reason: string }
  /** This process cannot open the stored credential; another process may. */
  | { kind: 'unreadable'; reason: string }
  | { kind: 'throttled'; waitSeconds: number }
  /** The requests that the destinations with one key share are used up. */
  | { kind: 'request_limit'; waitSeconds: number }
  /** No usable answer, or an answer to try again later. */
  | { kind: 'unreachable'; waitSeconds: number }
  /** Nothing was sent. */
  | { kind: 'untried' }

/** The last answer decides: after the destination is rejected nothing more is sent. */
export function assessHealth(lastAnswer: SendAnswer | null): DestinationHealth {
  if (lastAnswer === null) return { kind: 'untried' }
  const { outcome, waitSeconds } = lastAnswer
  switch (outcome) {
    case 'accepted':
    case 'permanent':
      return { kind: 'works', waitSeconds }
    case 'auth':
    case 'config':
      return { kind: 'refused', reason: rejectionReason(outcome, lastAnswer) }
    case 'throttle':
      return { kind: 'throttled', waitSeconds }
    case 'retry':
    case 'unknown':
      return { kind: 'unreachable', waitSeconds }
  }
}

function rejectionReason(outcome: 'auth' | 'config', { error }: SendAnswer): string {
  const code = error?.code === null || error?.code === undefined ? '' : ` (code ${error.code})`
  const message = error?.user_message || error?.message || 'no reason given'
  const reason = outcome === 'auth' ? 'credential_rejected' : 'configuration_rejected'
  return `${PAUSE_SENTENCES[reason]}${code}: ${message}`
}

/** What is stored as the reason of a paused destination, as `status_reason`, and shown. */
export const PAUSE_SENTENCES: Record<PauseReason, string> = {
  /** The code and the message of the platform follow. */
  credential_rejected: 'The platform rejects the credential',
  configuration_rejected: 'The platform rejects the configuration',
  /** Another key sealed it, or its bytes were changed. The events are not to blame. */
  credential_unreadable:
    "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY.",
  /** The platform cannot parse the destination's `config`. */
  configuration_invalid: INVALID_CONFIGURATION,
  /** An owner or an administrator; only they resume it. */
  paused_by_user: 'A person paused this destination.',
  /** The name of the platform follows. */
  platform_not_installed: 'This server has no plug-in for the platform',
}

/** The reason of a stored sentence; null for none, and for a sentence of another version. */
export function findPauseReason(statusReason: string | null): PauseReason | null {
  const reasons = keysOf(PAUSE_SENTENCES)
  return reasons.find(reason => statusReason?.startsWith(PAUSE_SENTENCES[reason])) ?? null
}

/**
 * Pauses a destination that the platform rejected. All requests in flight may be rejected; the
 * first one pauses the destination and is reported.
 */
export async function updateDestinationHealth(
  { database, now, onDestinationStatusChanged }: DeliveryContext,
  { trackerId, id: destinationId, sealedCredential }: Destination,
  health: DestinationHealth,
): Promise<void> {
  if (health.kind !== 'refused' && health.kind !== 'unreadable') return
  const { reason } = health
  const at = now()
  const nextProbeAt = new Date(at.getTime() + probeWaitSeconds(0) * 1_000)
  const pause = { trackerId, destinationId, sealedCredential, reason, at, nextProbeAt }
  const wasActive = await pauseDestination(database, pause)
  if (!wasActive) return
  onDestinationStatusChanged?.({ trackerId, destinationId, status: 'inactive', reason })
}

/** Resumes the destination when the probe succeeded, and schedules another probe otherwise. */
export async function updateHealthAfterProbe(
  { database, now, onDestinationStatusChanged }: DeliveryContext,
  { trackerId, id: destinationId, ...destination }: Destination,
  health: DestinationHealth,
): Promise<void> {
  const { sealedCredential, failedProbes, statusReason } = destination
  const probed = { trackerId, destinationId, sealedCredential, at: now() }
  const postpone = (reason: string | null, waitSeconds: number) => {
    const seconds = Math.max(waitSeconds, probeWaitSeconds(failedProbes + 1))
    const nextProbeAt = new Date(probed.at.getTime() + seconds * 1_000)
    return postponeProbe(database, { ...probed, reason, nextProbeAt })
  }
  switch (health.kind) {
    case 'works': {
      const wasInactive = await resumeDestination(database, probed)
      if (!wasInactive) return
      onDestinationStatusChanged?.({ trackerId, destinationId, status: 'active', reason: null })
      return
    }
    case 'refused':
    case 'unreadable':
      return postpone(health.reason, 0)
    case 'throttled':
    case 'request_limit':
    case 'unreachable':
      return postpone(statusReason, health.waitSeconds)
    case 'untried':
  }
}

const PROBE_SECONDS_MIN = 60
const PROBE_SECONDS_MAX = 3_600

/** How long an inactive destination waits for its next probe. */
export function probeWaitSeconds(failedProbes: number): number {
  return Math.min(PROBE_SECONDS_MIN * 2 ** Math.min(failedProbes, 10), PROBE_SECONDS_MAX)
}

interface FinishedRun {
  queue: DestinationQueue
  run: {
    health: DestinationHealth
    /** The store says that the platform is unreachable, as of the claim. */
    hasRecordedOutage: boolean
  }
  /** The clock of the circuits. */
  monotonicSeconds: () => number
  onCircuitChanged?: ((change: CircuitChange) => void) | undefined
}

/**
 * Applies what a run shows about its destination to the worker's circuit: whether the platform was
 * reached, and how long it asks for a pause. An open circuit and a pause are written to the
 * destination, so that a read of any process can tell why a delivery waits; this costs one update a
 * pause and one at its end.
 */
export async function applyHealth(
  context: DeliveryContext,
  circuits: CircuitBreakers,
  finished: FinishedRun,
): Promise<void> {
  const { queue, run, monotonicSeconds } = finished
  const { trackerId, destinationId } = queue
  const { health } = run
  if (!('waitSeconds' in health)) return
  const hadOpened = circuits.hasOpened(destinationId)
  const atSeconds = monotonicSeconds()
  const wasOnTrial = moveCircuit(circuits, { destinationId, health, atSeconds })
  const hasOpened = circuits.hasOpened(destinationId)
  if (hadOpened !== hasOpened) {
    const state = hasOpened ? 'open' : 'closed'
    finished.onCircuitChanged?.({ trackerId, destinationId, state })
  }

  const database = await findDatabase(context, trackerId)
  const isWorking = health.kind === 'works'
  if (isWorking && (hadOpened || run.hasRecordedOutage)) await clearOutage(database, queue)
  if (health.waitSeconds > 0 || (hasOpened && !isWorking)) {
    const since = context.now()
    const milliseconds = circuits.secondsLeft(destinationId, atSeconds) * 1_000
    const until = new Date(since.getTime() + milliseconds)
    const asked = health.kind === 'request_limit' ? 'request_limit' : 'throttled'
    const cause = hasOpened ? 'unreachable' : asked
    await recordBackoff(database, queue, { cause, since, until })
  }
  if (!wasOnTrial) return
  await bringForwardRetries(database, { trackerId, destinationId, at: context.now() })
}

type HealthWithWait = Extract<DestinationHealth, { waitSeconds: number }>

interface CircuitMove {
  destinationId: string
  health: HealthWithWait
  atSeconds: number
}

/** True when a request reached the platform after others had not. */
function moveCircuit(
  circuits: CircuitBreakers,
  { destinationId, health, atSeconds }: CircuitMove,
): boolean {
  let wasOnTrial = false
  switch (health.kind) {
    case 'works':
      wasOnTrial = circuits.recordSuccess(destinationId, atSeconds)
      break
    case 'unreachable':
      circuits.recordFailure(destinationId, atSeconds)
      break
    case 'throttled':
    case 'request_limit':
      break
  }
  if (health.waitSeconds > 0) circuits.backOff(destinationId, health.waitSeconds, atSeconds)
  return wasOnTrial
}

/** On a Citus cluster, the node that stores the tracker. */
async function findDatabase({ database, nodes }: DeliveryContext, trackerId: string) {
  return nodes ? nodes.findNode(trackerId) : database
}
