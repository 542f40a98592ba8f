import { startSimulatorProcess } from '../../service/program/roles/simulator-process.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { readSimulatorSummary, type SimulatorSummary, scriptFaults } from '../fixtures/simulator.ts'
import type { Closers } from './bench-plan.ts'
import type { BenchStore } from './bench-store.ts'
import { startWorker } from './child-processes.ts'
import { type DeliveryLoad, firedCounts } from './delivery-load.ts'
import { type DrainResult, drain } from './drain.ts'
import { computeDeliveryCost, type DeliveryCost, readCpu } from './process-cost.ts'
import { buildRequestBodies, storeDeliveries } from './stored-deliveries.ts'

/** One round: a worker drains a store of queued deliveries. */
export interface DeliveryRound extends DeliveryCost {
  load: DeliveryLoad
  drained: DrainResult
  simulator: SimulatorSummary
  /** How often each failure of the load has fired. */
  fired: number[]
  /** The same bodies without store and failures. */
  limitEventsPerSecond: number
}

const DRAIN_SECONDS_MAX = 300

/** Stores deliveries without a worker, measures the platform limit, then starts a worker. */
export async function measureDeliveryRound(
  store: BenchStore,
  load: DeliveryLoad,
  closers: Closers,
): Promise<DeliveryRound> {
  const { database, processId: storeProcessId } = store
  const { events, batchEvents, failures } = load
  const { trackerIds, limitSeconds } = await fillStore(store, load)

  const simulator = await startSimulatorProcess(0, createLogger('warn'))
  closers.push(simulator.stop)
  const { url: simulatorUrl } = simulator
  await scriptFaults(
    simulatorUrl,
    failures.map(({ rule }) => rule),
  )
  const before = readCpu({ storeProcessId, workerProcessId: null })
  const worker = await startWorker(store, { simulatorUrl, batchEvents })
  closers.push(worker.stop)
  const secondsMax = DRAIN_SECONDS_MAX
  const drained = await drain(database, { trackerIds, events, simulatorUrl, secondsMax })
  const programs = { storeProcessId, workerProcessId: worker.processId }
  const cost = computeDeliveryCost(programs, before, events)
  const summary = await readSimulatorSummary(simulatorUrl)
  const fired = await firedCounts(simulatorUrl)
  await worker.stop()
  await simulator.stop()
  return {
    load,
    drained,
    simulator: summary,
    fired,
    limitEventsPerSecond: events / limitSeconds,
    ...cost,
  }
}

async function fillStore(store: BenchStore, { events, destinations, batchEvents }: DeliveryLoad) {
  const trackerIds: string[] = []
  for (let destination = 0; destination < destinations; destination += 1)
    trackerIds.push((await store.newTracker()).trackerId)
  const stored = await storeDeliveries(store.database, { trackerIds, count: events })
  const bodies = await buildRequestBodies(store.database, stored, batchEvents)
  return { trackerIds, limitSeconds: await measurePlatformLimit(bodies, destinations) }
}

/** The service's default limits of requests in flight: per destination, and in total. */
const DESTINATION_REQUESTS_MAX = 2
const REQUESTS_MAX = 8

/**
 * Posts prepared bodies to a separate simulator, without store, queue or settlement. Returns the
 * seconds from the first request to the last response: the upper limit for delivery.
 */
export async function measurePlatformLimit(
  bodies: readonly string[],
  destinations: number,
): Promise<number> {
  const simulator = await startSimulatorProcess(0, createLogger('warn'))
  try {
    const waiting = [...bodies]
    const inFlight = Math.min(destinations * DESTINATION_REQUESTS_MAX, REQUESTS_MAX)
    const start = performance.now()
    await Promise.all(Array.from({ length: inFlight }, () => postAll(simulator.url, waiting)))
    return (performance.now() - start) / 1_000
  } finally {
    await simulator.stop()
  }
}

async function postAll(simulatorUrl: string, waiting: string[]): Promise<void> {
  for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) {
    const response = await fetch(`${simulatorUrl}/v26.0/1234567890/events`, {
      method: 'POST',
      headers: { authorization: 'Bearer simulator-pipe', 'content-type': 'application/json' },
      body,
    })
    const answer = await response.text()
    if (response.status !== 200) throw new Error(`the simulator refused the peer: ${answer}`)
  }
}
