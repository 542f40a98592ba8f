import { isMember, parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { DESTINATION_STATUSES, type DestinationStatus } from '@signalbox/contract/destinations.ts'
import { ALL_DELIVERY_REASONS, type DeliveryReason } from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { localSettings } from '../../runtime/db/sql-fragments.ts'

/** Due deliveries that are not settled yet, of the whole store. */
interface Backlog {
  dueQueues: number
  /** How long ago the oldest due delivery became due; 0 when none is due. */
  oldestDueSeconds: number
}

export type BacklogByStatus = Record<DestinationStatus, Backlog>

/** A metrics request omits the value rather than wait longer. */
const ANSWER_MILLISECONDS_MAX = 3_000

/** Deliveries that are not final, due or not, of the whole store. */
interface Waiting {
  /** A lower bound once all destinations together have more than `WAITING_READ_MAX`. */
  deliveries: number
  /** How long ago the oldest one that was read was created; 0 when none waits. */
  oldestSeconds: number
}

export type WaitingByStatus = Record<DestinationStatus, Waiting>

/**
 * Reading this many takes 70 to 190 ms on two busy cores; reading a thousand beside a million
 * settled ones takes 1 to 7 ms. More wait only when something is very wrong.
 */
const WAITING_READ_MAX = 100_000

/**
 * How many deliveries wait, and the age of the oldest one since its creation, because a retry or a
 * replay changes the due time. It reads the queue index, which contains only waiting rows, and
 * stops after `WAITING_READ_MAX` rows: the history costs nothing, and a backlog of millions costs
 * no more than one of a hundred thousand.
 *
 * Not prepared, so it is planned for the tables as they are now; without bitmaps and sorts the plan
 * is the same on tables that were never analyzed or were analyzed when empty.
 */
export async function readWaiting({ pool }: Database, now: Date): Promise<WaitingByStatus> {
  const results = (await pool.query(READ_WAITING)) as unknown as { rows: WaitingRow[] }[]
  const waiting: WaitingByStatus = {
    active: { deliveries: 0, oldestSeconds: 0 },
    inactive: { deliveries: 0, oldestSeconds: 0 },
  }
  for (const row of results.flatMap(({ rows }) => rows)) {
    if (!isMember(DESTINATION_STATUSES, row.status)) continue
    // A database clock that runs ahead of this process creates rows in the future.
    const oldestSeconds = Math.max(0, (now.getTime() - row.oldest_at.getTime()) / 1_000)
    waiting[row.status] = { deliveries: row.deliveries, oldestSeconds }
  }
  return waiting
}

interface WaitingRow {
  status: string
  deliveries: number
  oldest_at: Date
}

/** Exported for the test of its plan. */
export const WAITING_STATEMENT = `
  select destination.status, sum(waiting.deliveries)::bigint as deliveries,
    min(waiting.oldest_at) as oldest_at
  from (
    select tracker_id, destination_id, count(*) as deliveries, min(created_at) as oldest_at
    from (
      select tracker_id, destination_id, created_at from delivery_queue
      order by tracker_id, destination_id, next_attempt_at limit ${WAITING_READ_MAX}
    ) first
    group by tracker_id, destination_id
  ) waiting
  join destinations destination
    on destination.tracker_id = waiting.tracker_id
      and destination.id = waiting.destination_id
  group by destination.status`

/** Statements of one round trip form one transaction, which these settings end with. */
export const WAITING_SETTINGS = localSettings({
  statement_timeout: ANSWER_MILLISECONDS_MAX,
  enable_bitmapscan: 'off',
  enable_sort: 'off',
})

const READ_WAITING = `${WAITING_SETTINGS}; ${WAITING_STATEMENT}`

/**
 * What is due, separately for active destinations and for inactive ones, whose deliveries are meant
 * to wait. Like `findDueQueues`, it reads the first row of each queue from the queue index and
 * never counts rows.
 */
export async function readBacklog({ pool }: Database, now: Date): Promise<BacklogByStatus> {
  const statement = {
    name: 'read-backlog',
    text: `select destination.status, count(*) as due_queues,
             min(due.next_attempt_at) as oldest_at
           from destinations destination
           cross join lateral (
             select next_attempt_at from delivery_queue
             where delivery_queue.tracker_id = destination.tracker_id
               and delivery_queue.destination_id = destination.id
               and delivery_queue.next_attempt_at <= $1::timestamptz
             order by next_attempt_at limit 1
           ) due
           group by destination.status`,
    values: [now],
    query_timeout: ANSWER_MILLISECONDS_MAX,
  }
  const { rows } = await pool.query(statement)
  const backlog: BacklogByStatus = {
    active: { dueQueues: 0, oldestDueSeconds: 0 },
    inactive: { dueQueues: 0, oldestDueSeconds: 0 },
  }
  for (const { status, due_queues: dueQueues, oldest_at: oldestAt } of rows as BacklogRow[]) {
    if (!isMember(DESTINATION_STATUSES, status)) continue
    const oldestDueSeconds = (now.getTime() - oldestAt.getTime()) / 1_000
    backlog[status] = { dueQueues, oldestDueSeconds }
  }
  return backlog
}

interface BacklogRow {
  status: string
  due_queues: number
  oldest_at: Date
}

/** Waiting deliveries that are read. With more, the counts are lower bounds. */
const WAITING_MAX = 50_000

/** Waiting deliveries of one UTC day and event name, by the event time that is sent. */
export interface WaitingOfDay {
  eventName: string
  waiting: number
  /** Those of them whose request is in flight or got no usable answer. */
  inFlight: number
}

export interface WaitingCounts {
  names: WaitingOfDay[]
  /** More deliveries wait than were read. */
  isTruncated: boolean
}

/** The deliveries of a day's events to one destination that are not final. */
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
             (select count(*) from waiting) = ${WAITING_MAX} as is_truncated`,
    values: [trackerId, destinationId, from, until],
  })
  const [{ names, is_truncated: isTruncated }] = rows
  return { names: names.map(toWaitingOfDay), isTruncated }
}

interface WaitingOfDayRow {
  event_name: string
  waiting: number
  in_flight: number
}

function toWaitingOfDay(row: WaitingOfDayRow): WaitingOfDay {
  return { eventName: row.event_name, waiting: row.waiting, inFlight: row.in_flight }
}

/** Deliveries of each destination that are read. With more, the counts are lower bounds. */
const WAITING_OF_DESTINATION_MAX = 10_000

export interface WaitingByReason {
  status: Stored<DeliveryStatus>
  reason: Stored<DeliveryReason>
  /** The destination is inactive: nothing is sent until its problem is solved. */
  isPaused: boolean
  count: number
}

/** The live deliveries of a tracker that are not final, by status and reason. */
export async function countWaitingByReason(
  { pool }: Database,
  trackerId: string,
): Promise<{ reasons: WaitingByReason[]; isTruncated: boolean }> {
  const { rows } = await pool.query({
    name: 'count-waiting-by-reason',
    text: `select destination.id, destination.status <> 'active' as "isPaused", waiting.status,
             waiting.status_reason as reason, waiting.is_test, count(*) as count
           from destinations destination
           cross join lateral (
             select status, status_reason, is_test from delivery_queue
             where tracker_id = $1::uuid and destination_id = destination.id
             limit ${WAITING_OF_DESTINATION_MAX}
           ) waiting
           where destination.tracker_id = $1::uuid
           group by 1, 2, 3, 4, 5 order by 1, 3, 4, 5`,
    values: [trackerId],
  })
  const read = Map.groupBy(rows, ({ id }) => id).values()
  const isTruncated = [...read].some(
    ofOne => ofOne.reduce((sum, { count }) => sum + count, 0) >= WAITING_OF_DESTINATION_MAX,
  )
  const reasons = rows
    .filter(row => !row.is_test)
    .map(({ status, reason, isPaused, count }) => ({
      status: parseStored(DELIVERY_STATUSES, status),
      reason: parseStored(ALL_DELIVERY_REASONS, reason),
      isPaused,
      count,
    }))
  return { reasons, isTruncated }
}

/** A metrics request omits the figure instead of waiting longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/** The highest delivery ID that any tracker has used or reserved. */
export async function readLastDeliveryId({ pool }: Database): Promise<number> {
  const statement = {
    text: 'select coalesce(max(last_id), 0) as last_id from delivery_id_counters',
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  }
  const { rows } = await pool.query(statement)
  return rows[0].last_id
}
