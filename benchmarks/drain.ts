import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../service/db/database.ts'

interface DrainOptions {
  trackerIds: readonly string[]
  events: number
  simulatorUrl: string
  secondsMax: number
}

/** What is in the store once nothing waits any more. */
export interface DrainResult {
  /** The first claim, and the moment at which nothing waited. */
  startedAt: Date
  endedAt: Date
  /** Rows that ended as `accepted`. */
  accepted: number
  /** When nine of ten rows were settled. */
  mostlyAt: Date
  lanes: DrainedTracker[]
  /** Requests that the worker has kept, answered or not. */
  requests: number
  /** Those of them that reached no platform. */
  failedRequests: number
  /** Events in requests whose outcome it does not know: it may send them again, and no others. */
  unknownEvents: number
}

export interface DrainedTracker {
  firstRequestAt: Date
  doneAt: Date
}

/** Asks the simulator until it has everything, and only then the store, which has work to do. */
export async function drain(database: Database, draining: DrainOptions): Promise<DrainResult> {
  const { trackerIds, events, simulatorUrl, secondsMax } = draining
  const { pool } = database
  const patience = performance.now() + secondsMax * 1_000
  const isReceived = async () => (await readSimulatorSummary(simulatorUrl)).unique_events >= events
  const isSettled = async () => {
    const waiting = await pool.query(
      'select from delivery_queue where tracker_id = any($1) limit 1',
      [trackerIds],
    )
    return waiting.rowCount === 0
  }
  for (const isDone of [isReceived, isSettled]) {
    await pollUntil(isDone, (patience - performance.now()) / 1_000)
  }
  const endedAt = new Date()
  const rows = await readRows(database, trackerIds)
  return { ...rows, endedAt, ...(await readAttempts(database, trackerIds)) }
}

/** Rows that were never claimed, because patience ended, have no times but that of their making. */
async function readRows({ pool }: Database, trackerIds: readonly string[]) {
  const lanes = await pool.query(
    `select min(coalesce(first_sent_at, created_at)) as first,
       max(coalesce(updated_at, created_at)) as done,
       count(*) filter (where status = 'accepted')::integer as accepted
     from all_deliveries where tracker_id = any($1) group by tracker_id`,
    [trackerIds],
  )
  const all = await pool.query(
    `select min(coalesce(first_sent_at, created_at)) as first,
       percentile_disc(0.9) within group (order by coalesce(updated_at, created_at)) as mostly
     from all_deliveries where tracker_id = any($1)`,
    [trackerIds],
  )
  const { first, mostly } = all.rows[0]
  return {
    startedAt: first as Date,
    mostlyAt: mostly as Date,
    accepted: lanes.rows.reduce((sum, { accepted }) => sum + accepted, 0),
    lanes: lanes.rows.map(({ first, done }) => ({ firstRequestAt: first, doneAt: done })),
  }
}

async function readAttempts({ pool }: Database, trackerIds: readonly string[]) {
  const { rows } = await pool.query(
    `select count(*)::integer as requests,
       count(*) filter (where outcome = 'retry' and http_status is null)::integer as vain,
       coalesce(sum(event_count) filter (where outcome = 'unknown'), 0)::integer as unknown
     from send_attempts where tracker_id = any($1)`,
    [trackerIds],
  )
  const { requests, vain, unknown } = rows[0]
  return { requests, failedRequests: vain, unknownEvents: unknown }
}

/** Deliveries of one tracker that wait, alike in status and attempts. */
export interface WaitingDeliveries {
  status: string
  attempts: number
  count: number
  /** Of them, those whose next attempt is planned for later. */
  notDueCount: number
  /** Until the last one of them is due. */
  dueSeconds: number
}

export async function countWaitingDeliveries(
  { pool }: Database,
  trackerId: string,
): Promise<WaitingDeliveries[]> {
  const { rows } = await pool.query(
    `select status, attempt_count as attempts, count(*)::integer as count,
       count(*) filter (where next_attempt_at > now())::integer as not_due,
       extract(epoch from max(next_attempt_at) - now())::double precision as due_seconds
     from all_deliveries where tracker_id = $1 and next_attempt_at is not null
     group by status, attempt_count order by status, attempt_count`,
    [trackerId],
  )
  return rows.map(({ status, attempts, count, not_due, due_seconds }) => ({
    status,
    attempts,
    count,
    notDueCount: not_due,
    dueSeconds: Math.max(due_seconds, 0),
  }))
}

/** What the simulator counted, as `GET /_simulator/summary` shows it. */
export interface SimulatorSummary {
  requests: number
  /** Those of which nothing was kept, scripted failures among them. */
  refused_requests: number
  receipts: number
  unique_events: number
  /** Receipts of events that it had already. */
  deduplicated: number
}

export async function readSimulatorSummary(simulatorUrl: string): Promise<SimulatorSummary> {
  const response = await fetch(`${simulatorUrl}/_simulator/summary`)
  return (await response.json()) as SimulatorSummary
}

const MILLISECONDS_MIN = 20
const MILLISECONDS_MAX = 500
/** A look costs the store up to 2 ms, so it looks more seldom the longer the wait has been. */
const SHARE_OF_WAIT = 0.005

/** Polls until the condition holds or the time is over. Returns whether it holds. */
export async function pollUntil(
  isDone: () => Promise<boolean>,
  secondsMax: number,
): Promise<boolean> {
  const start = performance.now()
  while (!(await isDone())) {
    const waited = performance.now() - start
    if (waited >= secondsMax * 1_000) return false
    await delay(Math.min(Math.max(waited * SHARE_OF_WAIT, MILLISECONDS_MIN), MILLISECONDS_MAX))
  }
  return true
}
