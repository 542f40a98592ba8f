import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { CompiledQuery } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { arrayLiteral, setLocally } from '../../runtime/db/sql-fragments.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { payloadCondition } from '../events/event-store.ts'
import type { SendError } from '../platforms/platform.ts'
import { FAILED_STATUSES } from './delivery-status.ts'
import {
  ATTEMPT_COLUMNS,
  FIXED_COLUMNS,
  OUTCOME_COLUMNS,
  outcomeLiterals,
  rowsFromJson,
  rowsToJson,
} from './delivery-store.ts'
import { uncountOutcomes } from './sent-counts-store.ts'

/** The failed deliveries of a replay: those that match every member. */
export interface ReplaySelection {
  trackerId: string
  /** Null selects all. */
  deliveryIds: readonly number[] | null
  eventName: string | null
  /** Of the failed ones. Default: all of them. */
  statuses?: readonly DeliveryStatus[]
  destinationId?: string | null
  /** The last error. A member that is left out matches every error. */
  cause?: Partial<Pick<SendError, 'code' | 'subcode'>> & { class?: string }
  limit: number
}

export interface Replay extends ReplaySelection {
  at: Date
  /** The platform's window must not end before this. */
  windowEndsAfter: Date
}

export interface ReplayCounts {
  queued: number
  expired: number
  payloadExpired: number
  /** Of the queued ones: first sent before the platform stopped recognizing repeats of the ID. */
  mayCountTwice: number
  /** Of the queued ones: the platform may have the event, because an answer is missing. */
  unknownOutcome: number
  isCapped: boolean
}

/** Columns that move back into the queue unchanged. */
const UNCHANGED_COLUMNS = [...FIXED_COLUMNS, ...ATTEMPT_COLUMNS, 'last_error']
const UNCHANGED_NAMES = UNCHANGED_COLUMNS.join(', ')
const MOVED_COLUMNS = [...UNCHANGED_COLUMNS, ...OUTCOME_COLUMNS]

/**
 * Failed deliveries as `failed`, and what a replay would do with each as `checked`. `lock` is empty
 * in a preview. The lock is in a sub-select because Citus 13.0 misreads the result of a common
 * table expression that locks.
 */
const checkReplayable = (byId: boolean, lock: string) => `
  with failed as materialized (
    select * from (
      select delivery.tracker_id, delivery.created_at, delivery.id, delivery.event_id,
        delivery.space, delivery.replayable_until, delivery.first_sent_at,
        delivery.attempt_count, delivery.attempt_ids, event.event_class
      from deliveries delivery
      cross join lateral (
        select event_name, event_class from events
        where tracker_id = $1::uuid and created_at = delivery.created_at
          and event_id = delivery.event_id and space = delivery.space
        limit 1
      ) event
      where delivery.tracker_id = $1::uuid and delivery.replayable_until is not null
        and delivery.status = any($2::text[])
        and ${byId ? 'delivery.id = any($5::bigint[])' : '$5::bigint[] is null'}
        and ($6::text is null or event.event_name = $6::text)
        and ($7::uuid is null or delivery.destination_id = $7::uuid)
        and ($8::text[] is null or delivery.last_error::text ~ all($8::text[]))
      order by delivery.replayable_until desc limit $3::integer + 1
      ${lock}
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
  )`

const deleteReplayable = (byId: boolean) => `
  ${checkReplayable(byId, 'for update of delivery skip locked')}, moved as (
    delete from deliveries using checked
    where checked.result = 'queued' and deliveries.tracker_id = checked.tracker_id
      and deliveries.created_at = checked.created_at and deliveries.id = checked.id
      and deliveries.tracker_id = $1::uuid
    returning deliveries.*
  )`

const REPLAYED = outcomeLiterals({ status: 'queued', reason: 'replayed' })

const insertQueued = (source: string, at: string) => `
    insert into delivery_queue (${UNCHANGED_NAMES}, status, status_reason, next_attempt_at,
      replayed_at, attempts_before_replay, updated_at)
    select ${UNCHANGED_NAMES}, ${REPLAYED.status}, ${REPLAYED.reason}, ${at}::timestamptz,
      ${at}::timestamptz, attempt_count, ${at}::timestamptz
    from ${source}`

/**
 * The counts of `checked`. A delivery has an unknown outcome by the rules of
 * `countUnknownAttempts`: a request without a usable answer, or a claim of a worker that was lost.
 * The range of one id asks for the primary key; an equality may be looked up in the index by start,
 * all of it, while the table has no statistics.
 */
const selectCounts = (more = '') => `
  select
    count(*) filter (where result = 'queued') as queued,
    count(*) filter (where result = 'expired') as expired,
    count(*) filter (where result = 'payload_expired') as "payloadExpired",
    count(*) filter (where result = 'queued' and first_sent_at < $9::timestamptz)
      as "mayCountTwice",
    count(*) filter (where result = 'queued' and (
      attempts.unknown > 0 or attempt_count > cardinality(attempt_ids) - attempts.uncounted
    )) as "unknownOutcome",
    (select count(*) from failed) > $3::integer as "isCapped"${more}
  from checked
  cross join lateral (
    select count(*) filter (where outcome = 'unknown') as unknown,
      count(*) filter (
        where outcome in ('auth', 'config') and checked.event_class is distinct from 'test'
      ) as uncounted
    from unnest(case when result = 'queued' then attempt_ids end) as own(id)
    cross join lateral (
      select outcome from send_attempts
      where tracker_id = $1::uuid and id >= own.id and id <= own.id order by id limit 1
    ) attempt
  ) attempts`

/** Meta ignores an event ID that it receives again within 48 hours. */
export const DEDUPLICATION_MILLISECONDS = 48 * HOUR_MILLISECONDS

function replayValues(replay: Replay) {
  const { trackerId, deliveryIds, eventName, destinationId = null, cause = {}, at } = replay
  return [
    trackerId,
    replay.statuses ?? FAILED_STATUSES,
    replay.limit,
    replay.windowEndsAfter,
    deliveryIds && arrayLiteral(deliveryIds.map(String)),
    eventName,
    destinationId,
    causePatterns(cause),
    new Date(at.getTime() - DEDUPLICATION_MILLISECONDS),
  ]
}

/**
 * Patterns for the text of the stored error. PostgreSQL cannot read its members if one of the texts
 * of the platform has a NUL. Quotes within those texts are escaped, so none of them matches.
 */
export function causePatterns(cause: NonNullable<ReplaySelection['cause']>): string[] | null {
  const members = Object.entries(cause).filter(([, value]) => value !== undefined)
  if (members.length === 0) return null
  return members.map(([name, value]) => `"${name}":${JSON.stringify(value)}[,}]`)
}

/**
 * Moves failed deliveries back into the queue, newest events first, so that those that can never be
 * sent again leave room for the others. Atomic; rows that another replay has locked are skipped.
 * Needs its own transaction. It is one statement, except on a Citus cluster, where an insert cannot
 * read a common table expression (decision 0024).
 */
export async function replayFailed(
  { query }: Transaction,
  replay: Replay,
  { isCluster = false }: { isCluster?: boolean } = {},
): Promise<ReplayCounts> {
  const { at } = replay
  const deleteFailed = deleteReplayable(replay.deliveryIds !== null)
  const values = replayValues(replay)
  await readInOrder({ query })
  if (!isCluster) {
    const text = `${deleteFailed}, queued as (${insertQueued('moved', '$10')}),
      uncounted as (${uncountOutcomes('moved')}) ${selectCounts()}`
    const { rows } = await query.executeQuery(CompiledQuery.raw(text, [...values, at]))
    return rows[0] as ReplayCounts
  }
  const moving = `, ${rowsToJson(MOVED_COLUMNS, 'moved')} as moved`
  const text = `${deleteFailed} ${selectCounts(moving)}`
  const { rows } = await query.executeQuery(CompiledQuery.raw(text, values))
  const { moved, ...counts } = rows[0] as ReplayCounts & { moved: string | null }
  if (!moved) return counts
  const rowsOf = rowsFromJson(MOVED_COLUMNS, 'deliveries', '$1')
  await query.executeQuery(CompiledQuery.raw(insertQueued(rowsOf, '$2'), [moved, at]))
  await query.executeQuery(CompiledQuery.raw(uncountOutcomes(rowsOf), [moved]))
  return counts
}

/** What `replayFailed` would do now. Changes and locks nothing. Needs its own transaction. */
export async function countReplayable(
  { query }: Transaction,
  replay: Replay,
): Promise<ReplayCounts> {
  await readInOrder({ query })
  const text = `${checkReplayable(replay.deliveryIds !== null, '')} ${selectCounts()}`
  const { rows } = await query.executeQuery(CompiledQuery.raw(text, replayValues(replay)))
  return rows[0] as ReplayCounts
}

/**
 * The newest are at the end of the index. A bitmap scan loses that order, and reads and sorts all
 * failures of the tracker to find a few.
 */
function readInOrder(transaction: Transaction): Promise<void> {
  return setLocally(transaction, { enable_bitmapscan: 'off' })
}

/** Rows of each table that the progress of a replay reads: about 50 ms. */
const PROGRESS_ROWS_MAX = 50_000

const REPLAY_PROGRESS = `
  select waiting.replayed as waiting, failed.replayed as failed,
    greatest(waiting.rows, failed.rows) < ${PROGRESS_ROWS_MAX} as "isExact"
  from (
    select count(*) as rows, count(*) filter (where replayed_at = $2::timestamptz) as replayed
    from (
      select replayed_at from delivery_queue where tracker_id = $1::uuid
      order by created_at, id limit ${PROGRESS_ROWS_MAX}
    ) oldest
  ) waiting
  cross join (
    select count(*) as rows, count(*) filter (where replayed_at = $2::timestamptz) as replayed
    from (
      select replayed_at from deliveries
      where tracker_id = $1::uuid and replayable_until is not null
      order by id desc limit ${PROGRESS_ROWS_MAX}
    ) newest
  ) failed`

export interface ReplayProgress {
  waiting: number
  failed: number
  isExact: boolean
}

/**
 * How much of a replay waits and how much failed again, by its time. What waits is looked for among
 * the oldest of the queue, because failures are older than what waits for its first attempt.
 */
export async function readReplayProgress(
  { pool }: Database,
  trackerId: string,
  replayedAt: Date,
): Promise<ReplayProgress> {
  const { rows } = await pool.query({ text: REPLAY_PROGRESS, values: [trackerId, replayedAt] })
  return rows[0]
}
