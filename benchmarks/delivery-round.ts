import { setTimeout as delay } from 'node:timers/promises'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'
import { serviceLog } from '../service/roles/service-log.ts'
import { startSimulatorProcess } from '../service/roles/simulator-process.ts'
import { measureBarePipe } from './bare-pipe.ts'
import type { Closers } from './bench-plan.ts'
import type { BenchStore } from './bench-store.ts'
import { familySeconds, type ProcessMemory, processMemory, processSeconds } from './process-cost.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { type SimulatorSummary, simulatorSummary } from './simulator-summary.ts'
import { requestBodies, storeDeliveries } from './stored-deliveries.ts'

/** One time that a store full of waiting deliveries was emptied. */
export interface DeliveryRound {
  events: number
  /** Rows that ended as `accepted`. */
  accepted: number
  simulator: SimulatorSummary
  /** From the first claim to the last settled row. */
  eventsPerSecond: number
  /** The same bodies without a store. */
  pipeEventsPerSecond: number
  /** Processor time of a thousand deliveries; the worker's includes its start. */
  workerCpuSeconds: number | null
  storeCpuSeconds: number | null
  memory: ProcessMemory | null
}

/** The default of SIGNALBOX_DELIVERY_BATCH_MAX. */
const BATCH_EVENTS = 1_000
const DRAIN_SECONDS_MAX = 300
const POLL_MILLISECONDS = 20

/** Stores deliveries with no worker running, measures the bare pipe, then lets a worker drain. */
export async function measureDeliveryRound(
  store: BenchStore,
  events: number,
  closers: Closers,
): Promise<DeliveryRound> {
  const tracker = await store.newTracker()
  const { trackerId } = tracker
  const eventIds = await storeDeliveries(store.database, trackerId, events)
  const batches = { eventIds, batchEvents: BATCH_EVENTS }
  const pipeSeconds = await measureBarePipe(await requestBodies(store.database, trackerId, batches))

  const simulator = await startSimulatorProcess(0, serviceLog('warn'))
  closers.push(simulator.stop)
  const storeBefore = familySeconds(store.processId)
  const worker = await startServiceProcess({
    role: 'deliver',
    dataDirectory: store.dataDirectory,
    settings: { SIGNALBOX_PLATFORM_URL: simulator.url },
  })
  closers.push(worker.stop)
  const drained = await drain(store, tracker, { events, simulatorUrl: simulator.url })
  const cost = costOf(worker, { store, storeBefore, events })
  const summary = await simulatorSummary(simulator.url)
  await worker.stop()
  await simulator.stop()
  return {
    events,
    accepted: drained.accepted,
    simulator: summary,
    eventsPerSecond: events / drained.seconds,
    pipeEventsPerSecond: events / pipeSeconds,
    ...cost,
  }
}

interface Draining {
  events: number
  simulatorUrl: string
}

/** Asks the simulator until it has everything, and only then the store, which has work to do. */
async function drain(
  store: BenchStore,
  { trackerId, destinationId }: ProvisionedTracker,
  { events, simulatorUrl }: Draining,
): Promise<{ seconds: number; accepted: number }> {
  const patience = performance.now() + DRAIN_SECONDS_MAX * 1_000
  const { pool } = store.database
  const isReceived = async () => (await simulatorSummary(simulatorUrl)).receipts >= events
  const isSettled = async () => {
    const waiting = await pool.query(
      `select 1 from deliveries where tracker_id = $1 and destination_id = $2
         and next_attempt_at is not null limit 1`,
      [trackerId, destinationId],
    )
    return waiting.rowCount === 0
  }
  for (const isDone of [isReceived, isSettled]) {
    while (!(await isDone()) && performance.now() < patience) await delay(POLL_MILLISECONDS)
  }
  const end = Date.now()
  const { rows } = await pool.query(
    `select min(first_sent_at) as first, count(*) filter (where status = 'accepted') as accepted
     from deliveries where tracker_id = $1`,
    [trackerId],
  )
  const { first, accepted } = rows[0]
  return { seconds: (end - Number(first)) / 1_000, accepted: Number(accepted) }
}

interface CostGrounds {
  store: BenchStore
  storeBefore: number | null
  events: number
}

function costOf({ processId }: ServiceProcess, { store, storeBefore, events }: CostGrounds) {
  const workerSeconds = processSeconds(processId)
  const storeAfter = familySeconds(store.processId)
  const thousands = events / 1_000
  return {
    workerCpuSeconds: workerSeconds === null ? null : workerSeconds / thousands,
    storeCpuSeconds:
      storeAfter === null || storeBefore === null ? null : (storeAfter - storeBefore) / thousands,
    memory: processMemory(processId),
  }
}
