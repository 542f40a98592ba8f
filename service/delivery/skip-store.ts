import type pg from 'pg'
import { type Database, inTransaction } from '../db/database.ts'
import { isCitusCluster } from '../db/distribute-tables.ts'
import { COUNTER_SHARD, utcDay } from '../db/sql-fragments.ts'
import { selectPayloadsByIndexKey } from '../events/erase-store.ts'
import { type EventRef, eventRefValues, unnestEventRefs } from '../events/event-ref.ts'
import { digestVisitorId, indexKey, legacyIndexKey } from '../events/person-identifiers.ts'
import {
  ADD_COUNTS,
  ATTEMPT_COLUMNS,
  FIXED_COLUMNS,
  REPLAY_COLUMNS,
  rowsFromJson,
  rowsToJson,
} from './delivery-columns.ts'
import { WAITING_STATUSES } from './delivery-status.ts'

/** What goes into the history of a delivery that is skipped, beside its status. */
const KEPT_COLUMNS = [...FIXED_COLUMNS, ...REPLAY_COLUMNS, ...ATTEMPT_COLUMNS]
const SKIPPED_COLUMNS = [...KEPT_COLUMNS, 'last_error']

export interface WithdrawnVisitor {
  trackerId: string
  visitorId: string
  at: Date
}

/** A visitor withdrew: what still waits for them is not sent. Returns how many were stopped. */
export async function skipWaitingOfVisitor(
  database: Pick<Database, 'pool'>,
  { trackerId, visitorId, at }: WithdrawnVisitor,
): Promise<number> {
  const digest = digestVisitorId(visitorId)
  const person = [trackerId, visitorId, WAITING_STATUSES]
  const values = [...person, indexKey(trackerId, digest), legacyIndexKey(digest)]
  if (await isCitusCluster(database)) {
    return inTransaction(database, client => skipInSteps(client, { trackerId, at }, values))
  }
  const { rows } = await database.pool.query(SKIP_WAITING, [...values, at])
  return rows[0].count
}

const TAKE_WAITING = `
  with found as materialized (
    select queue.tracker_id, queue.created_at, queue.id
    from ${selectPayloadsByIndexKey({ trackerId: '$1', key: '$4', legacyKey: '$5' })}
    cross join lateral (
      select * from delivery_queue
      where tracker_id = $1::uuid and created_at = payload.event_created_at
        and event_id = payload.event_id and space = payload.space
      offset 0
    ) queue
    where payload.visitor_id = $2::text
  ), skipped as (
    delete from delivery_queue queue using found
    where queue.tracker_id = found.tracker_id and queue.created_at = found.created_at
      and queue.id = found.id and queue.status = any($3::text[])
      and queue.tracker_id = $1::uuid
    returning queue.*
  )`

const WITHDRAWN = { reason: `'consent_withdrawn'`, lastError: 'last_error' }

const SKIP_WAITING = `${TAKE_WAITING},
  kept as (${keepSkipped('skipped', { ...WITHDRAWN, at: '$6' })}),
  counted as (${uncountSkipped('skipped')})
  select count(*) as count from skipped`

const TAKE_WAITING_ROWS = `${TAKE_WAITING}
  select (select count(*) from skipped) as count,
    ${rowsToJson(SKIPPED_COLUMNS, 'skipped')} as skipped`
const SKIPPED_ROWS = rowsFromJson(SKIPPED_COLUMNS, 'delivery_queue', '$2')
const KEEP_SKIPPED_ROWS = keepSkipped(SKIPPED_ROWS, { ...WITHDRAWN, at: '$1' })
const UNCOUNT_SKIPPED_ROWS = uncountSkipped(SKIPPED_ROWS)

/** On a Citus cluster, where an insert may not read a common table expression (decision 0024). */
async function skipInSteps(
  client: pg.PoolClient,
  { trackerId, at }: Pick<WithdrawnVisitor, 'trackerId' | 'at'>,
  values: readonly unknown[],
): Promise<number> {
  const { rows } = await client.query(TAKE_WAITING_ROWS, [...values])
  const [{ count, skipped }] = rows
  if (count === 0) return 0
  await client.query(KEEP_SKIPPED_ROWS, [at, skipped])
  await client.query(UNCOUNT_SKIPPED_ROWS, [trackerId, skipped])
  return count
}

/** Inserts rows that left the queue into the history as skipped, as SQL. */
function keepSkipped(
  rows: string,
  { reason, lastError, at }: { reason: string; lastError: string; at: string },
): string {
  const kept = KEPT_COLUMNS.join(', ')
  return `insert into deliveries (${kept}, status, status_reason, last_error, updated_at)
       select ${kept}, 'skipped:consent', ${reason}, ${lastError}, ${at}::timestamptz
       from ${rows}`
}

/** Takes skipped deliveries out of the counts of what was planned, as SQL; `$1` is the tracker. */
function uncountSkipped(rows: string): string {
  return `insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
       select $1::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD}, -count(*), 0
       from ${rows} where not is_test group by 2 order by 2
       ${ADD_COUNTS}`
}

export interface ErasedEvents {
  trackerId: string
  events: readonly EventRef[]
  at: Date
}

export interface StoppedDeliveries {
  /** Deliveries that another statement is writing at this moment: to be tried again. */
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
export async function tryStopErased(
  { pool }: Database,
  { trackerId, events, at }: ErasedEvents,
): Promise<StoppedDeliveries> {
  const values = [trackerId, at, WAITING_STATUSES, ...eventRefValues(events)]
  const { rows } = await pool.query(STOP_ERASED, values)
  const [{ missed, attempt_ids: attemptIds, may_be_answered: mayBeAnswered }] = rows
  return { missed, attemptIds, mayBeAnswered }
}

const HAS_TEXT = `coalesce(delivery.last_error ->> 'message' <> ''
  or delivery.last_error ->> 'user_title' is not null
  or delivery.last_error ->> 'user_message' is not null, false)`

/** Members of a `SendError`. */
const WITHOUT_TEXT = `(last_error::jsonb
  || '{"message": "", "user_title": null, "user_message": null}')::json`

const IS_WAITING = 'delivery.status = any($3::text[])'

/** The deliveries of the erased events in one of the two tables. */
const deliveriesOfErased = (
  table: 'delivery_queue' | 'deliveries',
  { isOpen, mayBeAnswered }: { isOpen: string; mayBeAnswered: string },
) => `
  select delivery.created_at, delivery.id, delivery.attempt_ids, ${isOpen} as is_open,
    ${mayBeAnswered} as may_be_answered
  from ${unnestEventRefs('erased', 4)}
  cross join lateral (
    select * from ${table}
    where tracker_id = $1::uuid and created_at = erased.created_at
      and event_id = erased.event_id and space = erased.space
    offset 0
  ) delivery`

/** Those of them that are to be changed and are not locked elsewhere, locked in order. */
const lockedOf = (table: 'delivery_queue' | 'deliveries', concerned: string) => `
  select delivery.tracker_id, delivery.created_at, delivery.id, ${IS_WAITING} as is_waiting
  from (
    select * from ${concerned} where is_open order by created_at, id
  ) concerned
  cross join lateral (
    select * from ${table}
    where tracker_id = $1::uuid and created_at = concerned.created_at and id = concerned.id
    limit 1 for update skip locked
  ) delivery`

const SAME_ROW = `delivery.tracker_id = reached.tracker_id
      and delivery.created_at = reached.created_at and delivery.id = reached.id`

const STOP_ERASED = `
  with concerned_queue as materialized (
    ${deliveriesOfErased('delivery_queue', {
      isOpen: `${IS_WAITING} or ${HAS_TEXT}`,
      mayBeAnswered: `delivery.status = 'sent'`,
    })}
  ), concerned_history as materialized (
    ${deliveriesOfErased('deliveries', {
      isOpen: HAS_TEXT,
      mayBeAnswered: 'delivery.replayable_until is not null',
    })}
  ), reached_queue as materialized (
    ${lockedOf('delivery_queue', 'concerned_queue')}
  ), reached_history as materialized (
    ${lockedOf('deliveries', 'concerned_history')}
  ), stopped as (
    delete from delivery_queue delivery using reached_queue reached
    where ${SAME_ROW} and reached.is_waiting
    returning delivery.*
  ), kept as (
    ${keepSkipped('stopped', { reason: "'erased'", lastError: WITHOUT_TEXT, at: '$2' })}
  ), silenced as (
    update delivery_queue delivery set last_error = ${WITHOUT_TEXT}, updated_at = $2::timestamptz
    from reached_queue reached
    where ${SAME_ROW} and not reached.is_waiting
  ), silenced_history as (
    update deliveries delivery set last_error = ${WITHOUT_TEXT}, updated_at = $2::timestamptz
    from reached_history reached
    where ${SAME_ROW}
  ), counted as (
    ${uncountSkipped('stopped')}
  ), concerned as materialized (
    select attempt_ids, is_open, may_be_answered from concerned_queue
    union all
    select attempt_ids, is_open, may_be_answered from concerned_history
  )
  select
    (select count(*) from concerned where is_open) - (select count(*) from reached_queue)
      - (select count(*) from reached_history) as missed,
    array(select distinct unnest(attempt_ids) from concerned) as attempt_ids,
    coalesce((select bool_or(may_be_answered) from concerned), false) as may_be_answered`
