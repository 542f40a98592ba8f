import { createLogger } from '../service/http/logger.ts'
import { startSimulatorProcess } from '../service/roles/simulator-process.ts'
import type { Closers } from './bench-plan.ts'
import type { BenchStore } from './bench-store.ts'
import { startWorker } from './child-processes.ts'
import { type DeliveryLoad, firedCounts, scriptFailures } from './delivery-load.ts'
import { type DrainResult, drain, readSimulatorSummary, type SimulatorSummary } from './drain.ts'
import { computeDeliveryCost, type DeliveryCost, readCpu } from './process-cost.ts'
import { buildRequestBodies, storeDeliveries } from './stored-deliveries.ts'

/** One time that a store full of waiting deliveries was emptied. */
export interface DeliveryRound extends DeliveryCost {
  load: DeliveryLoad
  drained: DrainResult
  simulator: SimulatorSummary
  /** How often each failure of the load has hit. */
  fired: number[]
  /** The same bodies without store and failures. */
  pipeEventsPerSecond: number
}

const DRAIN_SECONDS_MAX = 300

/** Stores deliveries with no worker running, measures the bare pipe, then lets a worker drain. */
export async function measureDeliveryRound(
  store: BenchStore,
  load: DeliveryLoad,
  closers: Closers,
): Promise<DeliveryRound> {
  const { database, processId: storeProcessId } = store
  const { events, batchEvents, failures } = load
  const { trackerIds, pipeSeconds } = await fillStore(store, load)

  const simulator = await startSimulatorProcess(0, createLogger('warn'))
  closers.push(simulator.stop)
  const { url: simulatorUrl } = simulator
  await scriptFailures(simulatorUrl, failures)
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
    pipeEventsPerSecond: events / pipeSeconds,
    ...cost,
  }
}

async function fillStore(store: BenchStore, { events, lanes, batchEvents }: DeliveryLoad) {
  const trackerIds: string[] = []
  for (let destination = 0; destination < lanes; destination += 1)
    trackerIds.push((await store.newTracker()).trackerId)
  const stored = await storeDeliveries(store.database, { trackerIds, count: events })
  const bodies = await buildRequestBodies(store.database, stored, batchEvents)
  return { trackerIds, pipeSeconds: await measurePlatformLimit(bodies, lanes) }
}

/** As many as the service keeps in flight to one destination, and to all together, by default. */
const DESTINATION_REQUESTS_MAX = 2
const REQUESTS_MAX = 8

/**
 * Posts ready-made bodies to a simulator of its own, without store, queue or settlement. Returns
 * the seconds from the first request to the last answer: the pipe that delivery cannot outrun.
 */
export async function measurePlatformLimit(
  bodies: readonly string[],
  lanes: number,
): Promise<number> {
  const simulator = await startSimulatorProcess(0, createLogger('warn'))
  try {
    const waiting = [...bodies]
    const inFlight = Math.min(lanes * DESTINATION_REQUESTS_MAX, REQUESTS_MAX)
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
