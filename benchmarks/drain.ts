import type { Database } from '../service/db/database.ts'
import { pollUntil } from './poll-until.ts'
import { simulatorSummary } from './simulator-summary.ts'

export interface Draining {
  trackerIds: readonly string[]
  events: number
  simulatorUrl: string
  secondsMax: number
}

/** What is in the store once nothing waits any more. */
export interface Drained {
  /** The first claim, and the moment at which nothing waited. */
  startedAt: Date
  endedAt: Date
  /** Rows that ended as `accepted`. */
  accepted: number
  /** When nine of ten rows were settled. */
  mostlyAt: Date
  lanes: DrainedLane[]
  /** Requests that the worker has kept, answered or not. */
  requests: number
  /** Those of them that reached no platform. */
  vainRequests: number
  /** Events in requests whose outcome it does not know: it may send them again, and no others. */
  unknownEvents: number
}

export interface DrainedLane {
  firstRequestAt: Date
  doneAt: Date
}

/** Asks the simulator until it has everything, and only then the store, which has work to do. */
export async function drain(database: Database, draining: Draining): Promise<Drained> {
  const { trackerIds, events, simulatorUrl, secondsMax } = draining
  const { pool } = database
  const patience = performance.now() + secondsMax * 1_000
  const isReceived = async () => (await simulatorSummary(simulatorUrl)).unique_events >= events
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
  return { requests, vainRequests: vain, unknownEvents: unknown }
}
