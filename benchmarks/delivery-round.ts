import { serviceLog } from '../service/roles/service-log.ts'
import { startSimulatorProcess } from '../service/roles/simulator-process.ts'
import { measureBarePipe } from './bare-pipe.ts'
import type { Closers } from './bench-plan.ts'
import type { BenchStore } from './bench-store.ts'
import { type DeliveryCost, deliveryCost, readCpu } from './delivery-cost.ts'
import type { DeliveryLoad } from './delivery-load.ts'
import { type Drained, drain } from './drain.ts'
import { firedCounts, scriptFailures } from './script-failures.ts'
import { type SimulatorSummary, simulatorSummary } from './simulator-summary.ts'
import { startWorker } from './start-worker.ts'
import { requestBodies, storeDeliveries } from './stored-deliveries.ts'

/** One time that a store full of waiting deliveries was emptied. */
export interface DeliveryRound extends DeliveryCost {
  load: DeliveryLoad
  drained: Drained
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

  const simulator = await startSimulatorProcess(0, serviceLog('warn'))
  closers.push(simulator.stop)
  const { url: simulatorUrl } = simulator
  await scriptFailures(simulatorUrl, failures)
  const before = readCpu({ storeProcessId, workerProcessId: null })
  const worker = await startWorker(store, { simulatorUrl, batchEvents })
  closers.push(worker.stop)
  const secondsMax = DRAIN_SECONDS_MAX
  const drained = await drain(database, { trackerIds, events, simulatorUrl, secondsMax })
  const programs = { storeProcessId, workerProcessId: worker.processId }
  const cost = deliveryCost(programs, before, events)
  const summary = await simulatorSummary(simulatorUrl)
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
  for (let lane = 0; lane < lanes; lane += 1) trackerIds.push((await store.newTracker()).trackerId)
  const stored = await storeDeliveries(store.database, { trackerIds, count: events })
  const bodies = await requestBodies(store.database, stored, batchEvents)
  return { trackerIds, pipeSeconds: await measureBarePipe(bodies, lanes) }
}
