import type { DeliveryRound } from './delivery-round.ts'
import type { OutageRound } from './outage-round.ts'

/** Sentences about what did not arrive as it should have. */
export function deliveryFaults(round: DeliveryRound): string[] {
  const { load, drained, simulator, fired } = round
  const hits = load.failures.map((failure, index) => ({ ...failure, count: fired[index] ?? 0 }))
  const refused = hits.filter(({ keepsEvents }) => !keepsEvents)
  const refusedCount = refused.reduce((total, { count }) => total + count, 0)
  const faults = arrivalFaults(round)
  if (simulator.refused_requests !== refusedCount) {
    faults.push(
      `The simulator refused ${simulator.refused_requests} requests, and was to refuse ` +
        `${refusedCount}.`,
    )
  }
  if (simulator.requests !== drained.requests) {
    faults.push(
      `The simulator had ${simulator.requests} requests, and the store kept ${drained.requests}.`,
    )
  }
  if (hits.length > 0 && hits.every(({ count }) => count === 0)) {
    faults.push('No request failed: there were too few of them.')
  }
  return faults
}

export function outageFaults(round: OutageRound): string[] {
  const { drained, simulator } = round
  const faults = arrivalFaults(round)
  if (drained.vainRequests === 0) faults.push('No request was made while the platform was gone.')
  const keptRequests = drained.requests - drained.vainRequests
  if (simulator.requests !== keptRequests || simulator.refused_requests > 0) {
    faults.push(
      `The simulator had ${simulator.requests} requests and refused ` +
        `${simulator.refused_requests} of them; the store kept ${keptRequests}.`,
    )
  }
  return faults
}

/** Every event once, and again only when nobody could know that it had come. */
function arrivalFaults({ load, drained, simulator }: DeliveryRound | OutageRound): string[] {
  const { events } = load
  const { accepted, unknownEvents } = drained
  const { unique_events, deduplicated } = simulator
  const isComplete = accepted === events && unique_events === events
  if (isComplete && deduplicated <= unknownEvents) return []
  return [
    `Of ${events} deliveries ${accepted} were accepted; the simulator has ${unique_events}, and ` +
      `${deduplicated} again, of ${unknownEvents} with an unknown outcome.`,
  ]
}
