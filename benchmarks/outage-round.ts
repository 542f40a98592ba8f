import type { Database } from '../service/db/database.ts'
import { measureBarePipe } from './bare-pipe.ts'
import type { Closers } from './bench-plan.ts'
import type { BenchStore } from './bench-store.ts'
import { type DeliveryCost, deliveryCost, readCpu } from './delivery-cost.ts'
import type { DeliveryLoad } from './delivery-load.ts'
import { type Drained, drain } from './drain.ts'
import { type GonePlatform, gonePlatform } from './gone-platform.ts'
import { pollUntil } from './poll-until.ts'
import { type SimulatorSummary, simulatorSummary } from './simulator-summary.ts'
import { startWorker } from './start-worker.ts'
import { requestBodies, type StoredLane, storeDeliveries } from './stored-deliveries.ts'
import { type WaitingDeliveries, waitingDeliveries } from './waiting-deliveries.ts'

/** One time that the platform was gone while events came in; costs count from its return on. */
export interface OutageRound extends DeliveryCost {
  load: DeliveryLoad
  goneSeconds: number
  /** At the end of the outage. */
  waiting: WaitingDeliveries[]
  /** From the platform's return to the first request that it answers. */
  noticedSeconds: number
  /** From the platform's return to the last settled row. */
  drainSeconds: number
  drained: Drained
  simulator: SimulatorSummary
  /** The same bodies without a store. */
  pipeEventsPerSecond: number
}

export interface OutageLoad extends DeliveryLoad {
  outageSeconds: number
}

/**
 * A real outage: the worker runs against an address without a listener, and events come in all
 * the while. The platform comes back right after it was asked for in vain, the worst moment: the
 * pause that the worker then makes lies before it in its whole length.
 */
export async function measureOutageRound(
  store: BenchStore,
  load: OutageLoad,
  closers: Closers,
): Promise<OutageRound> {
  const { trackerId } = await store.newTracker()
  const platform = await gonePlatform()
  closers.push(platform.stop)
  const { events, batchEvents, lanes } = load
  const worker = await startWorker(store, { simulatorUrl: platform.url, batchEvents })
  closers.push(worker.stop)
  const goneAt = Date.now()
  const stored = await sufferOutage(store.database, trackerId, load)
  const waiting = await waitingDeliveries(store.database, trackerId)
  const scene = { store, trackerId, platform, workerProcessId: worker.processId }
  const { returnedAt, ...recovery } = await recover(scene, load)
  await worker.stop()
  await platform.stop()
  const bodies = await requestBodies(store.database, stored, batchEvents)
  return {
    load,
    goneSeconds: (returnedAt.getTime() - goneAt) / 1_000,
    waiting,
    ...recovery,
    pipeEventsPerSecond: events / (await measureBarePipe(bodies, lanes)),
  }
}

/** The longest pause between two attempts at a lane (service/delivery/circuit-breaker.ts), and some. */
const PAUSE_SECONDS_MAX = 75

/** Ends when a request has just failed and its events are settled. */
async function sufferOutage(
  database: Database,
  trackerId: string,
  { events, outageSeconds }: OutageLoad,
): Promise<StoredLane[]> {
  const arriving = { trackerIds: [trackerId], count: events, overSeconds: outageSeconds }
  const stored = await storeDeliveries(database, arriving)
  const before = await countRequests(database, trackerId)
  const hasFailedAgain = async () => (await countRequests(database, trackerId)) > before
  await pollUntil(hasFailedAgain, PAUSE_SECONDS_MAX)
  await pollUntil(() => isNothingSent(database, trackerId), PAUSE_SECONDS_MAX)
  return stored
}

interface Scene {
  store: BenchStore
  trackerId: string
  platform: GonePlatform
  workerProcessId: number
}

const DRAIN_SECONDS_MAX = 300
/** The next wait of the retry schedule is at most so many times what has passed before it. */
const WAIT_RATIO_MAX = 6

async function recover(
  { store, trackerId, platform, workerProcessId }: Scene,
  { events, outageSeconds }: OutageLoad,
) {
  const { database, processId: storeProcessId } = store
  const programs = { storeProcessId, workerProcessId }
  const before = readCpu(programs)
  const returnedAt = await platform.comeBack()
  const drained = await drain(database, {
    trackerIds: [trackerId],
    events,
    simulatorUrl: platform.url,
    secondsMax: DRAIN_SECONDS_MAX + outageSeconds * WAIT_RATIO_MAX,
  })
  const since = (at: Date) => (at.getTime() - returnedAt.getTime()) / 1_000
  return {
    ...deliveryCost(programs, before, events),
    returnedAt,
    noticedSeconds: since(await firstAnswerAt(database, trackerId)),
    drainSeconds: since(drained.endedAt),
    drained,
    simulator: await simulatorSummary(platform.url),
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

/** When the first request began that was answered; the epoch when none was. */
async function firstAnswerAt({ pool }: Database, trackerId: string): Promise<Date> {
  const { rows } = await pool.query(
    `select coalesce(min(started_at), to_timestamp(0)) as first from send_attempts
     where tracker_id = $1 and http_status is not null`,
    [trackerId],
  )
  return rows[0].first
}
