import { randomInt } from 'node:crypto'
import {
  type SimulatorProcess,
  startSimulatorProcess,
} from '../../service/program/roles/simulator-process.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { readSimulatorSummary, type SimulatorSummary } from '../fixtures/simulator.ts'
import { pollUntil } from '../fixtures/wait-until.ts'
import type { Closers } from './bench-plan.ts'
import type { BenchStore } from './bench-store.ts'
import { startWorker } from './child-processes.ts'
import type { DeliveryLoad } from './delivery-load.ts'
import { measurePlatformLimit } from './delivery-round.ts'
import { countWaitingDeliveries, type DrainResult, drain, type WaitingDeliveries } from './drain.ts'
import { computeDeliveryCost, type DeliveryCost, readCpu } from './process-cost.ts'
import { buildRequestBodies, type StoredTracker, storeDeliveries } from './stored-deliveries.ts'

/** One outage of the platform while events arrive; costs count from its recovery. */
export interface OutageRound extends DeliveryCost {
  load: DeliveryLoad
  outageSeconds: number
  /** Pending deliveries at the end of the outage. */
  waiting: WaitingDeliveries[]
  /** From the platform's recovery to its first response. */
  noticedSeconds: number
  /** From the platform's recovery to the last settled row. */
  drainSeconds: number
  drained: DrainResult
  simulator: SimulatorSummary
  /** The same bodies without a store. */
  limitEventsPerSecond: number
}

interface OutageLoad extends DeliveryLoad {
  outageSeconds: number
}

/**
 * A real outage: the worker sends to an address without a listener while events arrive. The
 * platform recovers right after a failed request, which is the worst time, because the worker has
 * just begun its longest pause.
 */
export async function measureOutageRound(
  store: BenchStore,
  load: OutageLoad,
  closers: Closers,
): Promise<OutageRound> {
  const { trackerId } = await store.newTracker()
  const platform = await createUnavailablePlatform()
  closers.push(platform.stop)
  const { events, batchEvents, destinations } = load
  const worker = await startWorker(store, { simulatorUrl: platform.url, batchEvents })
  closers.push(worker.stop)
  const goneAt = Date.now()
  const stored = await waitThroughOutage(store.database, trackerId, load)
  const waiting = await countWaitingDeliveries(store.database, trackerId)
  const scene = { store, trackerId, platform, workerProcessId: worker.processId }
  const { returnedAt, ...recovery } = await recover(scene, load)
  await worker.stop()
  await platform.stop()
  const bodies = await buildRequestBodies(store.database, stored, batchEvents)
  return {
    load,
    outageSeconds: (returnedAt.getTime() - goneAt) / 1_000,
    waiting,
    ...recovery,
    limitEventsPerSecond: events / (await measurePlatformLimit(bodies, destinations)),
  }
}

/** The longest pause of a circuit (service/signals/delivery/circuit-breaker.ts), plus a margin. */
const PAUSE_SECONDS_MAX = 75

/** Returns when a request has just failed and its events are settled. */
async function waitThroughOutage(
  database: Database,
  trackerId: string,
  { events, outageSeconds }: OutageLoad,
): Promise<StoredTracker[]> {
  const arriving = { trackerIds: [trackerId], count: events, overSeconds: outageSeconds }
  const stored = await storeDeliveries(database, arriving)
  const before = await countRequests(database, trackerId)
  const hasFailedAgain = async () => (await countRequests(database, trackerId)) > before
  await pollUntil(hasFailedAgain, PAUSE_SECONDS_MAX)
  await pollUntil(() => isNothingSent(database, trackerId), PAUSE_SECONDS_MAX)
  return stored
}

interface OutageContext {
  store: BenchStore
  trackerId: string
  platform: UnavailablePlatform
  workerProcessId: number
}

const DRAIN_SECONDS_MAX = 300
/** The next wait of the retry schedule, relative to the time since the first attempt. */
const WAIT_RATIO_MAX = 6

async function recover(
  { store, trackerId, platform, workerProcessId }: OutageContext,
  { events, outageSeconds }: OutageLoad,
) {
  const { database, processId: storeProcessId } = store
  const programs = { storeProcessId, workerProcessId }
  const before = readCpu(programs)
  const returnedAt = await platform.restore()
  const drained = await drain(database, {
    trackerIds: [trackerId],
    events,
    simulatorUrl: platform.url,
    secondsMax: DRAIN_SECONDS_MAX + outageSeconds * WAIT_RATIO_MAX,
  })
  const since = (at: Date) => (at.getTime() - returnedAt.getTime()) / 1_000
  return {
    ...computeDeliveryCost(programs, before, events),
    returnedAt,
    noticedSeconds: since(await firstAnswerAt(database, trackerId)),
    drainSeconds: since(drained.endedAt),
    drained,
    simulator: await readSimulatorSummary(platform.url),
  }
}

async function countRequests({ pool }: Database, trackerId: string): Promise<number> {
  const counted = 'select count(*)::integer as requests from send_attempts where tracker_id = $1'
  const { rows } = await pool.query(counted, [trackerId])
  return rows[0].requests
}

async function isNothingSent({ pool }: Database, trackerId: string): Promise<boolean> {
  const sent = `select from all_deliveries where tracker_id = $1 and status = 'sent' limit 1`
  return (await pool.query(sent, [trackerId])).rowCount === 0
}

/** When the first request with a response began; the epoch if there is none. */
async function firstAnswerAt({ pool }: Database, trackerId: string): Promise<Date> {
  const { rows } = await pool.query(
    `select coalesce(min(started_at), to_timestamp(0)) as first from send_attempts
     where tracker_id = $1 and http_status is not null`,
    [trackerId],
  )
  return rows[0].first
}

/** A simulator that is down: its address refuses connections until it is restored. */
interface UnavailablePlatform {
  url: string
  /** Starts it at its address and returns the time. */
  restore(): Promise<Date>
  stop(): Promise<void>
}

/**
 * Below the ephemeral ports: another process took a port of that range within ten minutes.
 */
const PORTS = { from: 20_000, to: 30_000 }
const TRIES_MAX = 20

async function createUnavailablePlatform(): Promise<UnavailablePlatform> {
  const { url, stop } = await startOnFreePort()
  await stop()
  let stopReturned = async () => {}
  return {
    url,
    restore: async () => {
      const returned = await startAt(Number(new URL(url).port))
      if (!returned) throw new Error(`another process took ${url} during the outage`)
      stopReturned = returned.stop
      return new Date()
    },
    stop: () => stopReturned(),
  }
}

async function startOnFreePort(): Promise<SimulatorProcess> {
  for (let count = 0; count < TRIES_MAX; count += 1) {
    const started = await startAt(randomInt(PORTS.from, PORTS.to))
    if (started) return started
  }
  throw new Error(`no free port from ${PORTS.from} on`)
}

/** Null if the port is in use, in which case the simulator listens on another port. */
async function startAt(port: number): Promise<SimulatorProcess | null> {
  const simulator = await startSimulatorProcess(port, createLogger('error'))
  if (new URL(simulator.url).port === String(port)) return simulator
  await simulator.stop()
  return null
}
