import { CompiledQuery } from 'kysely'
import type { Transaction } from '../db/database.ts'
import { setLocally } from '../db/local-settings.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'
import { payloadCondition } from '../events/store.ts'
import { ATTEMPT_COLUMNS, FIXED_COLUMNS, rowsFromJson, rowsToJson } from './delivery-columns.ts'
import { FAILED_STATUSES } from './delivery-status.ts'

export interface Replay {
  trackerId: string
  /** Null replays all failed deliveries. */
  deliveryIds: readonly number[] | null
  eventName: string | null
  limit: number
  at: Date
  /** The platform's window must not end before this. */
  windowEndsAfter: Date
}

export interface ReplayCounts {
  queued: number
  expired: number
  payloadExpired: number
  isCapped: boolean
}

/** Columns that move back into the queue unchanged. */
const UNCHANGED_COLUMNS = [...FIXED_COLUMNS, ...ATTEMPT_COLUMNS, 'last_error']
const UNCHANGED_NAMES = UNCHANGED_COLUMNS.join(', ')

/**
 * Deletes replayable deliveries as `moved`. The lock is in a sub-select because Citus 13.0 misreads
 * the result of a common table expression that locks.
 */
const deleteReplayable = (byId: boolean) => `
  with failed as materialized (
    select * from (
      select delivery.tracker_id, delivery.created_at, delivery.id, delivery.event_id,
        delivery.space, delivery.replayable_until
      from deliveries delivery
      cross join lateral (
        select event_name from events
        where tracker_id = $1::uuid and created_at = delivery.created_at
          and event_id = delivery.event_id and space = delivery.space
        limit 1
      ) event
      where delivery.tracker_id = $1::uuid and delivery.replayable_until is not null
        and delivery.status = any($2::text[])
        and ${byId ? 'delivery.id = any($5::bigint[])' : '$5::bigint[] is null'}
        and ($6::text is null or event.event_name = $6::text)
      order by delivery.replayable_until desc limit $3::integer + 1
      for update of delivery skip locked
    ) locked
  ), checked as materialized (
    select failed.*, case
      when failed.replayable_until <= $4::timestamptz then 'expired'
      when payload.is_there is null then 'payload_expired'
      else 'queued' end as result
    from (select * from failed order by replayable_until desc limit $3::integer) failed
    left join lateral (
      select true as is_there from event_payloads
      where ${payloadCondition('failed')} limit 1
    ) payload on true
  ), moved as (
    delete from deliveries using checked
    where checked.result = 'queued' and deliveries.tracker_id = checked.tracker_id
      and deliveries.created_at = checked.created_at and deliveries.id = checked.id
      and deliveries.tracker_id = $1::uuid
    returning deliveries.*
  )`

const insertQueued = (source: string, at: string) => `
    insert into delivery_queue (${UNCHANGED_NAMES}, status, status_reason, next_attempt_at,
      replayed_at, attempts_before_replay, updated_at)
    select ${UNCHANGED_NAMES}, 'queued', 'replayed', ${at}::timestamptz,
      ${at}::timestamptz, attempt_count, ${at}::timestamptz
    from ${source}`

const COUNTS = `
  count(*) filter (where result = 'queued') as queued,
  count(*) filter (where result = 'expired') as expired,
  count(*) filter (where result = 'payload_expired') as "payloadExpired",
  (select count(*) from failed) > $3::integer as "isCapped"`

/**
 * Moves failed deliveries back into the queue, newest events first, so that those that can never be
 * sent again leave room for the others. Atomic; rows that another replay has locked are skipped.
 * Needs its own transaction. It is one statement, except on a Citus cluster, where an insert cannot
 * read a common table expression (decision 0024).
 */
export async function replayFailed(
  { query }: Transaction,
  { trackerId, deliveryIds, eventName, limit, at, windowEndsAfter }: Replay,
  { isCluster = false }: { isCluster?: boolean } = {},
): Promise<ReplayCounts> {
  const ids = deliveryIds && arrayLiteral(deliveryIds.map(String))
  const deleteFailed = deleteReplayable(ids !== null)
  const values = [trackerId, FAILED_STATUSES, limit, windowEndsAfter, ids, eventName]
  // The newest are at the end of the index. A bitmap scan loses that order, and reads and sorts all
  // failures of the tracker to find a few.
  await setLocally({ query }, { enable_bitmapscan: 'off' })
  if (!isCluster) {
    const text = `${deleteFailed}, queued as (${insertQueued('moved', '$7')})
      select ${COUNTS} from checked`
    const { rows } = await query.executeQuery(CompiledQuery.raw(text, [...values, at]))
    return rows[0] as ReplayCounts
  }
  const text = `${deleteFailed}
    select ${COUNTS}, ${rowsToJson(UNCHANGED_COLUMNS, 'moved')} as moved from checked`
  const { rows } = await query.executeQuery(CompiledQuery.raw(text, values))
  const { moved, ...counts } = rows[0] as ReplayCounts & { moved: string | null }
  const insert = insertQueued(rowsFromJson(UNCHANGED_COLUMNS, 'deliveries', '$1'), '$2')
  if (moved) await query.executeQuery(CompiledQuery.raw(insert, [moved, at]))
  return counts
}
