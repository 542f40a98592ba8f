import type { CircuitBreakers, CircuitChange } from './circuit-breaker.ts'
import type { DeliveryRun } from './deliver-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import type { DestinationHealth } from './destination-health.ts'
import { bringForwardRetries, type DestinationQueue } from './destination-queue-store.ts'
import { clearOutage, recordBackoff } from './destination-store.ts'

interface FinishedRun {
  queue: DestinationQueue
  run: DeliveryRun
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
    const cause = hasOpened ? 'unreachable' : 'throttled'
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
      break
  }
  if (health.waitSeconds > 0) circuits.backOff(destinationId, health.waitSeconds, atSeconds)
  return wasOnTrial
}

/** On a Citus cluster, the node that stores the tracker. */
async function findDatabase({ database, nodes }: DeliveryContext, trackerId: string) {
  return nodes ? nodes.findNode(trackerId) : database
}
