import type { Database } from '../db/database.ts'
import { localSettings } from '../db/local-settings.ts'

/** What is due and not settled yet, of all processes on this store. */
interface Backlog {
  dueQueues: number
  /** How long the delivery that has waited longest is due; 0 when none is. */
  oldestDueSeconds: number
}

export type BacklogByStatus = Record<'active' | 'inactive', Backlog>

/** A metrics request goes without the figure rather than wait longer. */
const ANSWER_MILLISECONDS_MAX = 3_000

/** What waits for its end, due or not, of all processes on this store. */
interface Waiting {
  /** Beyond `WAITING_READ_MAX` of all destinations together: at least so many. */
  deliveries: number
  /** How long ago the oldest of those that were read was created; 0 when none waits. */
  oldestSeconds: number
}

export type WaitingByStatus = Record<'active' | 'inactive', Waiting>

/**
 * Reading so many takes 70 to 190 ms on two busy cores; a thousand, beside a million that are
 * settled, 1 to 7 ms. More than that wait only when something is very wrong.
 */
const WAITING_READ_MAX = 100_000

/**
 * How many deliveries wait, and for how long the oldest one: by its creation, since a retry or a
 * replay makes an old delivery due anew. Reads the lane index, which holds nothing but what waits,
 * and stops after `WAITING_READ_MAX` rows, so that the history costs nothing and a backlog of
 * millions no more than one of a hundred thousand.
 *
 * Without a name it is planned for the tables as they are now; without bitmaps and sorts the plan
 * is the same on tables that were never analyzed or analyzed when they were empty.
 */
export async function readWaiting({ pool }: Database, now: Date): Promise<WaitingByStatus> {
  const results = (await pool.query(READ_WAITING)) as unknown as { rows: WaitingRow[] }[]
  const waiting: WaitingByStatus = {
    active: { deliveries: 0, oldestSeconds: 0 },
    inactive: { deliveries: 0, oldestSeconds: 0 },
  }
  for (const row of results.flatMap(({ rows }) => rows)) {
    // A store whose clock is ahead of this process has events of the future.
    const oldestSeconds = Math.max(0, (now.getTime() - row.oldest_at.getTime()) / 1_000)
    waiting[row.status] = { deliveries: row.deliveries, oldestSeconds }
  }
  return waiting
}

interface WaitingRow {
  status: keyof WaitingByStatus
  deliveries: number
  oldest_at: Date
}

/** For a test of its plan, which is made under the same settings. */
export const WAITING_STATEMENT = `
  select lane.status, sum(waiting.deliveries)::bigint as deliveries,
    min(waiting.oldest_at) as oldest_at
  from (
    select tracker_id, destination_id, count(*) as deliveries, min(created_at) as oldest_at
    from (
      select tracker_id, destination_id, created_at from delivery_queue
      order by tracker_id, destination_id, next_attempt_at limit ${WAITING_READ_MAX}
    ) first
    group by tracker_id, destination_id
  ) waiting
  join destinations lane
    on lane.tracker_id = waiting.tracker_id and lane.id = waiting.destination_id
  group by lane.status`

/** Statements of one round trip are one transaction, with which these end. */
export const WAITING_SETTINGS = localSettings({
  statement_timeout: ANSWER_MILLISECONDS_MAX,
  enable_bitmapscan: 'off',
  enable_sort: 'off',
})

const READ_WAITING = `${WAITING_SETTINGS}; ${WAITING_STATEMENT}`

/**
 * What is due, apart for destinations that work and for those that are paused, where waiting is
 * what should happen. Each lane is asked for its first row by the lane index: like `findDueQueues`
 * it reads one row a lane, however many wait, and never counts them.
 */
export async function readBacklog({ pool }: Database, now: Date): Promise<BacklogByStatus> {
  const statement = {
    name: 'read-backlog',
    text: `select lane.status, count(*) as due_lanes, min(due.next_attempt_at) as oldest_at
           from destinations lane
           cross join lateral (
             select next_attempt_at from delivery_queue
             where delivery_queue.tracker_id = lane.tracker_id
               and delivery_queue.destination_id = lane.id
               and delivery_queue.next_attempt_at <= $1::timestamptz
             order by next_attempt_at limit 1
           ) due
           group by lane.status`,
    values: [now],
    query_timeout: ANSWER_MILLISECONDS_MAX,
  }
  const { rows } = await pool.query(statement)
  const backlog: BacklogByStatus = {
    active: { dueQueues: 0, oldestDueSeconds: 0 },
    inactive: { dueQueues: 0, oldestDueSeconds: 0 },
  }
  for (const row of rows) {
    const oldestDueSeconds = (now.getTime() - row.oldest_at.getTime()) / 1_000
    backlog[row.status as keyof BacklogByStatus] = { dueQueues: row.due_lanes, oldestDueSeconds }
  }
  return backlog
}

/** Waiting deliveries that are looked at. Beyond, the counts say "at least". */
const WAITING_MAX = 50_000

/** What still waits of one UTC day, of one event name, by the event's own time as it is sent. */
export interface WaitingOfDay {
  eventName: string
  waiting: number
  /** Of these, the ones whose request is under way or got no usable answer. */
  inFlight: number
}

export interface WaitingCounts {
  names: WaitingOfDay[]
  /** More waits than was looked at. */
  isTruncated: boolean
}

/** What of a day's events has not come to its end in the lane of one destination. */
export async function countWaitingOfDay(
  { pool }: Database,
  {
    trackerId,
    destinationId,
    from,
    until,
  }: {
    trackerId: string
    destinationId: string
    from: Date
    until: Date
  },
): Promise<WaitingCounts> {
  const { rows } = await pool.query({
    name: 'count-waiting-of-day',
    // `limit 1` keeps the planner from reading all events to find those of the few that wait.
    text: `with waiting as materialized (
             select created_at, event_id, space,
               status = 'sent' or status_reason = 'unknown' as is_in_flight
             from delivery_queue
             where tracker_id = $1::uuid and destination_id = $2::uuid
             limit ${WAITING_MAX}
           ), of_day as (
             select event.event_name, count(*) as waiting,
               count(*) filter (where waiting.is_in_flight) as in_flight
             from waiting cross join lateral (
               select event_name, least(event_time, created_at) as sent_time from events
               where tracker_id = $1::uuid and created_at = waiting.created_at
                 and event_id = waiting.event_id and space = waiting.space
               limit 1
             ) event
             where event.sent_time >= $3::timestamptz and event.sent_time < $4::timestamptz
             group by event.event_name order by event.event_name
           )
           select coalesce((select json_agg(of_day) from of_day), '[]'::json) as names,
             (select count(*) from waiting) = ${WAITING_MAX} as is_cut`,
    values: [trackerId, destinationId, from, until],
  })
  const [{ names, is_cut: isCut }] = rows
  return { names: names.map(waitingOf), isTruncated: isCut }
}

function waitingOf(row: { event_name: string; waiting: number; in_flight: number }): WaitingOfDay {
  return { eventName: row.event_name, waiting: row.waiting, inFlight: row.in_flight }
}
