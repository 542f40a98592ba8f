import type { Database } from '../../service/runtime/db/database.ts'
import { readSimulatorSummary } from '../fixtures/simulator.ts'
import { pollUntil } from '../fixtures/wait-until.ts'

interface DrainOptions {
  trackerIds: readonly string[]
  events: number
  simulatorUrl: string
  secondsMax: number
}

/** The state of the store once no delivery is pending. */
export interface DrainResult {
  /** The first claim, and the time when no delivery was pending. */
  startedAt: Date
  endedAt: Date
  /** Rows that ended as `accepted`. */
  accepted: number
  /** When nine of ten rows were settled. */
  mostlyAt: Date
  trackers: DrainedTracker[]
  /** Requests that the worker recorded, with or without a response. */
  requests: number
  /** Requests that did not reach the platform. */
  failedRequests: number
  /** Events in requests with an unknown outcome, the only ones that may be sent again. */
  unknownEvents: number
}

export interface DrainedTracker {
  firstRequestAt: Date
  doneAt: Date
}

/** Polls the simulator first, and the busy store only after the simulator has all events. */
export async function drain(database: Database, draining: DrainOptions): Promise<DrainResult> {
  const { trackerIds, events, simulatorUrl, secondsMax } = draining
  const { pool } = database
  const deadline = performance.now() + secondsMax * 1_000
  const isReceived = async () => (await readSimulatorSummary(simulatorUrl)).unique_events >= events
  const isSettled = async () => {
    const waiting = await pool.query(
      'select from delivery_queue where tracker_id = any($1) limit 1',
      [trackerIds],
    )
    return waiting.rowCount === 0
  }
  for (const isDone of [isReceived, isSettled]) {
    await pollUntil(isDone, (deadline - performance.now()) / 1_000)
  }
  const endedAt = new Date()
  const rows = await readRows(database, trackerIds)
  return { ...rows, endedAt, ...(await readAttempts(database, trackerIds)) }
}

/** Rows that were not claimed before the deadline have only their creation time. */
async function readRows({ pool }: Database, trackerIds: readonly string[]) {
  const trackers = await pool.query(
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
    accepted: trackers.rows.reduce((sum, { accepted }) => sum + accepted, 0),
    trackers: trackers.rows.map(({ first, done }) => ({ firstRequestAt: first, doneAt: done })),
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

/** Pending deliveries of one tracker with the same status and number of attempts. */
export interface WaitingDeliveries {
  status: string
  attempts: number
  count: number
  /** Those whose next attempt is in the future. */
  notDueCount: number
  /** Seconds until the last of them is due. */
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
