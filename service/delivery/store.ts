import { COUNT_SLOT, utcDay } from '../db/count-slot.ts'
import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import { payloadsByKey } from '../ledger/erase-store.ts'
import { indexKey, visitorDigest } from '../ledger/identifiers.ts'
import { WAITING_STATUSES } from './status-moves.ts'

export const DELIVERY_CHANNEL = 'signalbox_deliveries'

/** Where deliveries wait: one destination of one tracker. */
export interface Lane {
  trackerId: string
  destinationId: string
  /** The destination is inactive and due for a probe: one event, not a batch. */
  isProbe: boolean
  /** The platform could not be reached last time: a few events try it, not a batch. */
  isTrial?: boolean
}

export interface DueLanes {
  now: Date
  lanesMax: number
  /** Destinations that are not to be looked at, so that they crowd nobody out of the limit. */
  leaveOut: readonly string[]
}

/**
 * The lanes that have something due, in no order. Each is asked for by the lane index, so a lane
 * with a million waiting rows costs as much as one with a single row: the limit inside keeps the
 * planner from reading all that waits (150 ms for 500,000 rows with a plain `exists`, now 1 ms).
 */
export async function findDueLanes(
  { pool }: Database,
  { now, lanesMax, leaveOut }: DueLanes,
): Promise<Lane[]> {
  const { rows } = await pool.query({
    name: 'find-due-lanes',
    text: `select lane.tracker_id, lane.id, lane.status = 'inactive' as is_probe
           from destinations lane
           cross join lateral (
             select from deliveries
             where deliveries.tracker_id = lane.tracker_id
               and deliveries.destination_id = lane.id
               and deliveries.next_attempt_at <= $1
               and (deliveries.leased_until is null
                 or deliveries.leased_until <= statement_timestamp())
             order by deliveries.next_attempt_at limit 1
           ) due
           where (lane.status = 'active' or lane.next_probe_at <= $1)
             and lane.id <> all($3::uuid[])
           order by random() limit $2`,
    values: [now, lanesMax, arrayLiteral(leaveOut)],
  })
  return rows.map(row => ({
    trackerId: row.tracker_id,
    destinationId: row.id,
    isProbe: row.is_probe,
  }))
}

/** Whether or not anybody has planned a delivery on that day in this slot. */
export const ADD_COUNTS = `
  on conflict (tracker_id, planned_on, slot) do update set
    planned = delivery_counts.planned + excluded.planned,
    accepted = delivery_counts.accepted + excluded.accepted`

/**
 * The platform can be reached again: what an attempt could not bring to it goes out now, and not
 * when the retry schedule says, which knew nothing of the outage. What the platform itself answered
 * keeps its time. Returns how many it brought forward.
 */
export async function bringForward(
  { pool }: Database,
  lane: { trackerId: string; destinationId: string; at: Date },
): Promise<number> {
  const { rowCount } = await pool.query(
    `update deliveries set next_attempt_at = $3, updated_at = $3
     where tracker_id = $1 and destination_id = $2 and next_attempt_at > $3
       and status = 'retrying' and last_error ->> 'http_status' is null`,
    [lane.trackerId, lane.destinationId, lane.at],
  )
  return rowCount ?? 0
}

/** Wakes the workers of other processes. Losing it costs one polling interval, nothing more. */
export async function announceDeliveries({ pool }: Database): Promise<void> {
  await pool.query(`select pg_notify('${DELIVERY_CHANNEL}', '')`)
}

export interface WithdrawnVisitor {
  trackerId: string
  visitorId: string
  at: Date
}

/** A visitor withdrew: what still waits for them is not sent. Returns how many were stopped. */
export async function skipWaitingOfVisitor(
  { pool }: Database,
  visitor: WithdrawnVisitor,
): Promise<number> {
  const { rows } = await pool.query(
    `with skipped as (
     update deliveries set status = 'skipped:consent', status_reason = 'consent_withdrawn',
       next_attempt_at = null, updated_at = $3
     from ${payloadsByKey('$5')}
     where payload.tracker_id = $1 and payload.visitor_id = $2
       and deliveries.tracker_id = $1 and deliveries.event_id = payload.event_id
       and deliveries.next_attempt_at is not null and deliveries.status = any($4)
     returning deliveries.created_at, deliveries.is_test
     ), counted as (
       insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
       select $1, ${utcDay('created_at')}, ${COUNT_SLOT}, -count(*), 0
       from skipped where not is_test group by 2 order by 2
       ${ADD_COUNTS}
     )
     select count(*) as count from skipped`,
    [
      visitor.trackerId,
      visitor.visitorId,
      visitor.at,
      WAITING_STATUSES,
      indexKey(visitorDigest(visitor.visitorId)),
    ],
  )
  return rows[0].count
}

export interface ErasedEvents {
  trackerId: string
  eventIds: readonly string[]
  at: Date
}

export interface StoppedDeliveries {
  /** Deliveries that somebody else is writing at this moment: to be tried again. */
  missed: number
  /** The requests that carried these events. */
  attemptIds: string[]
  /** A request is under way, or a replay may begin one. */
  mayBeAnswered: boolean
}

/**
 * The people of these events were erased: what waits is not sent, and what the platform said of any
 * delivery keeps its codes and loses its words, which might repeat what was sent. A row that a
 * worker is just settling is left for another call, so that the two cannot wait for each other.
 */
export async function stopErased(
  { pool }: Database,
  { trackerId, eventIds, at }: ErasedEvents,
): Promise<StoppedDeliveries> {
  const values = [trackerId, arrayLiteral(eventIds), at, WAITING_STATUSES]
  const { rows } = await pool.query(STOP_ERASED, values)
  const [{ missed, attempt_ids: attemptIds, may_be_answered: mayBeAnswered }] = rows
  return { missed, attemptIds, mayBeAnswered }
}

const IS_WAITING = `(delivery.next_attempt_at is not null and delivery.status = any($4::text[]))`

const HAS_WORDS = `coalesce(delivery.last_error ->> 'message' <> ''
  or delivery.last_error ->> 'user_title' is not null
  or delivery.last_error ->> 'user_message' is not null, false)`

/** Members of a `SendError`. */
const WITHOUT_WORDS = '{"message": "", "user_title": null, "user_message": null}'

const STOP_ERASED = `
  with concerned as materialized (
    select delivery.tracker_id, delivery.event_id, delivery.id, delivery.attempt_ids,
      ${IS_WAITING} or ${HAS_WORDS} as is_open,
      delivery.status = 'sent' or delivery.replayable_until is not null as may_be_answered
    from unnest($2::text[]) as erased(event_id)
    cross join lateral (
      select * from deliveries where tracker_id = $1 and event_id = erased.event_id offset 0
    ) delivery
  ), reached as materialized (
    select delivery.tracker_id, delivery.event_id, delivery.id, ${IS_WAITING} as is_waiting
    from concerned
    join deliveries delivery
      on delivery.tracker_id = concerned.tracker_id and delivery.event_id = concerned.event_id
      and delivery.id = concerned.id
    where concerned.is_open
    order by delivery.event_id, delivery.id for update of delivery skip locked
  ), stopped as (
    update deliveries set
      status = case when reached.is_waiting then 'skipped:consent' else status end,
      status_reason = case when reached.is_waiting then 'erased' else status_reason end,
      next_attempt_at = case when reached.is_waiting then null else next_attempt_at end,
      last_error = (last_error::jsonb || '${WITHOUT_WORDS}')::json,
      updated_at = $3
    from reached
    where deliveries.tracker_id = reached.tracker_id and deliveries.event_id = reached.event_id
      and deliveries.id = reached.id
    returning deliveries.created_at, deliveries.is_test, reached.is_waiting
  ), counted as (
    insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
    select $1, ${utcDay('created_at')}, ${COUNT_SLOT}, -count(*), 0
    from stopped where is_waiting and not is_test group by 2 order by 2
    ${ADD_COUNTS}
  )
  select
    (select count(*) from concerned where is_open) - (select count(*) from reached) as missed,
    array(select distinct unnest(attempt_ids) from concerned) as attempt_ids,
    coalesce((select bool_or(may_be_answered) from concerned), false) as may_be_answered`
