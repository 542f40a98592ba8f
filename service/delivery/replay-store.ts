import { CompiledQuery } from 'kysely'
import type { Transaction } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import { FAILED_STATUSES } from './status-moves.ts'

export interface Replay {
  trackerId: string
  /** Null looks at all of them. */
  deliveryIds: readonly number[] | null
  eventName: string | null
  limit: number
  at: Date
  /** What is sent now must still be young enough when the platform reads it. */
  windowEndsAfter: Date
}

export interface ReplayCounts {
  queued: number
  expired: number
  payloadExpired: number
  isCapped: boolean
}

/**
 * Queues failed deliveries again, those of the newest events first: those that can never be sent
 * again thus never crowd out the others. One statement, so that all of it happens or nothing; rows
 * that a second replay has locked belong to that one. Needs a transaction of its own.
 */
export async function replayFailed(
  { query }: Transaction,
  { trackerId, deliveryIds, eventName, limit, at, windowEndsAfter }: Replay,
): Promise<ReplayCounts> {
  const statement = CompiledQuery.raw(
    `with failed as (
       select delivery.tracker_id, delivery.event_id, delivery.id, delivery.replayable_until,
         event.created_at
       from deliveries delivery
       cross join lateral (
         select created_at, event_name from events
         where tracker_id = delivery.tracker_id and event_id = delivery.event_id limit 1
       ) event
       where delivery.tracker_id = $1 and delivery.replayable_until is not null
         and delivery.status = any($2::text[])
         and ${deliveryIds ? 'delivery.id = any($6::integer[])' : '$6::integer[] is null'}
         and ($7::text is null or event.event_name = $7)
       order by delivery.replayable_until desc limit $3 + 1
       for update of delivery skip locked
     ), judged as (
       select failed.*, case
         when failed.replayable_until <= $5 then 'expired'
         when payload.is_there is null then 'payload_expired'
         else 'queued' end as verdict
       from (select * from failed order by replayable_until desc limit $3) failed
       left join lateral (
         select true as is_there from event_payloads
         where tracker_id = failed.tracker_id and event_id = failed.event_id
           and received_on = (failed.created_at at time zone 'UTC')::date
         limit 1
       ) payload on true
     ), queued as (
       update deliveries set
         status = 'queued', status_reason = 'replayed', next_attempt_at = $4,
         replayable_until = null, replayed_at = $4, attempts_before_replay = attempt_count,
         updated_at = $4
       from judged
       where judged.verdict = 'queued' and deliveries.tracker_id = judged.tracker_id
         and deliveries.event_id = judged.event_id and deliveries.id = judged.id
     )
     select count(*) filter (where verdict = 'queued') as queued,
       count(*) filter (where verdict = 'expired') as expired,
       count(*) filter (where verdict = 'payload_expired') as "payloadExpired",
       (select count(*) from failed) > $3 as "isCapped"
     from judged`,
    [
      trackerId,
      FAILED_STATUSES,
      limit,
      at,
      windowEndsAfter,
      deliveryIds && arrayLiteral(deliveryIds.map(String)),
      eventName,
    ],
  )
  // The newest are at the end of their index. A bitmap loses that order, and then all failures of
  // the tracker are read and sorted for the sake of a few.
  await query.executeQuery(CompiledQuery.raw('set local enable_bitmapscan = off'))
  const { rows } = await query.executeQuery(statement)
  return rows[0] as ReplayCounts
}
