import { CompiledQuery } from 'kysely'
import type { Transaction } from '../db/database.ts'
import { setLocally } from '../db/local-settings.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'
import { payloadCondition } from '../events/store.ts'
import { ATTEMPT_COLUMNS, FIXED_COLUMNS, rowsFromJson, rowsToJson } from './delivery-columns.ts'
import { FAILED_STATUSES } from './delivery-status.ts'

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

/** What moves back into the queue as it is. */
const KEPT_COLUMNS = [...FIXED_COLUMNS, ...ATTEMPT_COLUMNS, 'last_error']
const KEPT_NAMES = KEPT_COLUMNS.join(', ')

/**
 * The moved rows are `moved`. The lock is in a sub-select because Citus 13.0 misreads the result of
 * a common table expression that locks.
 */
const takeFailed = (byId: boolean) => `
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
  ), judged as materialized (
    select failed.*, case
      when failed.replayable_until <= $4::timestamptz then 'expired'
      when payload.is_there is null then 'payload_expired'
      else 'queued' end as verdict
    from (select * from failed order by replayable_until desc limit $3::integer) failed
    left join lateral (
      select true as is_there from event_payloads
      where ${payloadCondition('failed')} limit 1
    ) payload on true
  ), moved as (
    delete from deliveries using judged
    where judged.verdict = 'queued' and deliveries.tracker_id = judged.tracker_id
      and deliveries.created_at = judged.created_at and deliveries.id = judged.id
      and deliveries.tracker_id = $1::uuid
    returning deliveries.*
  )`

const queueAgain = (source: string, at: string) => `
    insert into delivery_queue (${KEPT_NAMES}, status, status_reason, next_attempt_at,
      replayed_at, attempts_before_replay, updated_at)
    select ${KEPT_NAMES}, 'queued', 'replayed', ${at}::timestamptz,
      ${at}::timestamptz, attempt_count, ${at}::timestamptz
    from ${source}`

const COUNTS = `
  count(*) filter (where verdict = 'queued') as queued,
  count(*) filter (where verdict = 'expired') as expired,
  count(*) filter (where verdict = 'payload_expired') as "payloadExpired",
  (select count(*) from failed) > $3::integer as "isCapped"`

/**
 * Moves failed deliveries back into the queue, those of the newest events first: those that can
 * never be sent again thus never crowd out the others. All of it happens or nothing; rows that a
 * second replay has locked belong to that one. Needs a transaction of its own. One statement, but
 * on a Citus cluster, where an insert may not read a common table expression (decision 0024).
 */
export async function replayFailed(
  { query }: Transaction,
  { trackerId, deliveryIds, eventName, limit, at, windowEndsAfter }: Replay,
  { isCluster = false }: { isCluster?: boolean } = {},
): Promise<ReplayCounts> {
  const ids = deliveryIds && arrayLiteral(deliveryIds.map(String))
  const take = takeFailed(ids !== null)
  const values = [trackerId, FAILED_STATUSES, limit, windowEndsAfter, ids, eventName]
  // The newest are at the end of their index. A bitmap loses that order, and then all failures of
  // the tracker are read and sorted for the sake of a few.
  await setLocally({ query }, { enable_bitmapscan: 'off' })
  if (!isCluster) {
    const text = `${take}, queued as (${queueAgain('moved', '$7')}) select ${COUNTS} from judged`
    const { rows } = await query.executeQuery(CompiledQuery.raw(text, [...values, at]))
    return rows[0] as ReplayCounts
  }
  const text = `${take}
    select ${COUNTS}, ${rowsToJson(KEPT_COLUMNS, 'moved')} as moved from judged`
  const { rows } = await query.executeQuery(CompiledQuery.raw(text, values))
  const { moved, ...counts } = rows[0] as ReplayCounts & { moved: string | null }
  const again = queueAgain(rowsFromJson(KEPT_COLUMNS, 'deliveries', '$1'), '$2')
  if (moved) await query.executeQuery(CompiledQuery.raw(again, [moved, at]))
  return counts
}
