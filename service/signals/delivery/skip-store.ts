import type pg from 'pg'
import { type Database, inTransaction, isCitusCluster } from '../../runtime/db/database.ts'
import type { WithdrawalReason } from '../consent/consent-decision.ts'
import { CLOCK_TOLERANCE_MINUTES } from '../consent/consent-signal.ts'
import {
  type EventRef,
  eventRefValues,
  isOfPage,
  unnestEventRefs,
} from '../events/event-columns.ts'
import { listFreeTextDigests } from '../events/free-text.ts'
import {
  FOUND_COLUMNS,
  selectPayloadsByIndexKeys,
  toErasablePayload,
} from '../events/payload-search-store.ts'
import {
  digestVisitorId,
  indexKey,
  legacyIndexKey,
  listWithdrawableDigests,
} from '../events/person-identifiers.ts'
import { countStages, stageLiteral } from '../events/stage-count-store.ts'
import { WAITING_STATUSES } from './delivery-status.ts'
import {
  ATTEMPT_COLUMNS,
  countPlanned,
  FIXED_COLUMNS,
  REPLAY_COLUMNS,
  rowsFromJson,
  rowsToJson,
} from './delivery-store.ts'
import { listDestinationIds } from './destination-store.ts'
import { countSkippedOutcomes } from './sent-counts-store.ts'

/** Columns that a skipped delivery takes into the history unchanged. */
const UNCHANGED_COLUMNS = [...FIXED_COLUMNS, ...REPLAY_COLUMNS, ...ATTEMPT_COLUMNS]
const SKIPPED_COLUMNS = [...UNCHANGED_COLUMNS, 'last_error']

/** The person who withdrew consent: a visitor, identifiers, or both. */
export interface WithdrawnPerson {
  trackerId: string
  visitorId: string | null
  /** Digests of email addresses, phone numbers and external IDs. */
  digests: readonly string[]
  /** The keyed digests of the same identifiers, for events that name them in free text. */
  freeTextDigests: readonly string[]
  at: Date
  /** Who sent the withdrawal. */
  reason: WithdrawalReason
  /** Whether it reaches events of pages only. */
  isOfPagesOnly: boolean
  /** The platforms that it names; empty or left out: every one. */
  platforms?: readonly string[]
}

/** The rest is skipped when a worker claims it. */
const SKIPPED_MAX = 10_000

/** Skips the waiting deliveries of a person who withdrew consent. Returns how many. */
export async function skipWaitingOfPerson(
  database: Pick<Database, 'pool'>,
  person: WithdrawnPerson,
): Promise<number> {
  const events = await findWaitingEvents(database, person)
  if (events.length === 0) return 0
  const { trackerId, at, reason, platforms = [] } = person
  const ids = platforms.length > 0 ? await listDestinationIds(database, person, platforms) : null
  const values = [trackerId, WAITING_STATUSES, ...eventRefValues(events)]
  if (await isCitusCluster(database)) {
    return inTransaction(database, client => skipInSteps(client, person, [...values, ids]))
  }
  const { rows } = await database.pool.query(SKIP_WAITING, [...values, at, reason, ids])
  return rows[0].count
}

/**
 * Events of the person with waiting deliveries. Those received more than the clock tolerance later
 * are left to the check at sending. The index has 32 bits of a digest, so the result is filtered.
 */
async function findWaitingEvents(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, visitorId, digests, freeTextDigests, at, isOfPagesOnly }: WithdrawnPerson,
): Promise<EventRef[]> {
  const searched = [...digests, ...(visitorId === null ? [] : [digestVisitorId(visitorId)])]
  const { rows } = await pool.query(FIND_WAITING, [
    trackerId,
    [...searched, ...freeTextDigests].map(digest => indexKey(trackerId, digest)),
    searched.map(legacyIndexKey),
    WAITING_STATUSES,
    new Date(at.getTime() + CLOCK_TOLERANCE_MINUTES * 60_000),
    SKIPPED_MAX,
  ])
  const named = new Set([...digests, ...freeTextDigests])
  return rows
    .map(toErasablePayload)
    .filter(payload => !isOfPagesOnly || isOfPage(payload))
    .filter(
      payload =>
        (visitorId !== null && payload.visitorId?.trim() === visitorId) ||
        listWithdrawableDigests(payload).some(digest => named.has(digest)) ||
        listFreeTextDigests(payload).some(digest => named.has(digest)),
    )
}

const FIND_WAITING = `
  select ${FOUND_COLUMNS}
  from ${selectPayloadsByIndexKeys({ trackerId: '$1', keys: '$2', legacyKeys: '$3' })}
  cross join lateral (
    select true from delivery_queue
    where tracker_id = $1::uuid and created_at = payload.event_created_at
      and event_id = payload.event_id and space = payload.space
      and status = any($4::text[])
    limit 1
  ) queue
  where payload.event_created_at <= $5::timestamptz
  limit $6::integer`

/** `ids` is the parameter of the destinations; null: every one. */
const deleteWaiting = (ids: string) => `
  with found as materialized (
    select queue.tracker_id, queue.created_at, queue.id
    from ${unnestEventRefs('withdrawn', 3)}
    cross join lateral (
      select * from delivery_queue
      where tracker_id = $1::uuid and created_at = withdrawn.created_at
        and event_id = withdrawn.event_id and space = withdrawn.space
      offset 0
    ) queue
  ), skipped as (
    delete from delivery_queue queue using found
    where queue.tracker_id = found.tracker_id and queue.created_at = found.created_at
      and queue.id = found.id and queue.status = any($2::text[])
      and queue.tracker_id = $1::uuid
      and queue.destination_id = any(coalesce(${ids}::uuid[], array[queue.destination_id]))
    returning queue.*
  )`

const SKIP_WAITING = `${deleteWaiting('$8')},
  inserted as (${insertSkipped('skipped', { reason: '$7', at: '$6' })}),
  counted as (${countPlanned('skipped', '-count(*)')}),
  held as (${countHeld('skipped', { reason: '$7', at: '$6' })}),
  outcomes as (${countSkippedOutcomes('skipped', { reason: '$7', at: '$6' })})
  select count(*) as count from skipped`

const DELETE_WAITING_ROWS = `${deleteWaiting('$6')}
  select (select count(*) from skipped) as count,
    ${rowsToJson(SKIPPED_COLUMNS, 'skipped')} as skipped`
const SKIPPED_ROWS = rowsFromJson(SKIPPED_COLUMNS, 'delivery_queue', '$2')
const INSERT_SKIPPED_ROWS = insertSkipped(SKIPPED_ROWS, { reason: '$3', at: '$1' })
const UNCOUNT_SKIPPED_ROWS = countPlanned(SKIPPED_ROWS, '-count(*)')
const COUNT_HELD_ROWS = countHeld(SKIPPED_ROWS, { reason: '$4', at: '$3' })
const COUNT_OUTCOME_ROWS = countSkippedOutcomes(SKIPPED_ROWS, { reason: '$4', at: '$3' })

/** On a Citus cluster, where an insert cannot read a common table expression (decision 0024). */
async function skipInSteps(
  client: pg.PoolClient,
  { trackerId, at, reason }: WithdrawnPerson,
  values: readonly unknown[],
): Promise<number> {
  const [{ count, skipped }] = (await client.query(DELETE_WAITING_ROWS, [...values])).rows
  if (count === 0) return 0
  await client.query(INSERT_SKIPPED_ROWS, [at, skipped, reason])
  await client.query(UNCOUNT_SKIPPED_ROWS, [trackerId, skipped])
  await client.query(COUNT_HELD_ROWS, [trackerId, skipped, at, reason])
  await client.query(COUNT_OUTCOME_ROWS, [trackerId, skipped, at, reason])
  return count
}

/** The SQL that inserts rows from the queue into the history as skipped. */
function insertSkipped(
  rows: string,
  { reason, lastError = 'last_error', at }: { reason: string; at: string; lastError?: string },
): string {
  const unchanged = UNCHANGED_COLUMNS.join(', ')
  return `insert into deliveries (${unchanged}, status, status_reason, last_error, updated_at)
       select ${unchanged}, 'skipped:consent', ${reason}::text, ${lastError}, ${at}::timestamptz
       from ${rows}`
}

/** Counts skipped deliveries as held in this hour; `$1` is the tracker. */
function countHeld(source: string, { reason, at }: { reason: string; at: string }): string {
  return countStages({
    source,
    trackerId: '$1::uuid',
    at: `${at}::timestamptz`,
    stage: stageLiteral('held'),
    reason: `${reason}::text`,
    where: 'not is_test',
  })
}

export interface StoppedDeliveries {
  /** Deliveries that another statement has locked: call again. */
  missed: number
  /** The requests that contained these events. */
  attemptIds: string[]
  /** A request is in flight, or a replay may start one. */
  mayBeAnswered: boolean
}

/**
 * Skips what waits of erased people. Every stored error keeps its codes and loses its text, which
 * may repeat what was sent. A row that a worker is settling is left for another call: no deadlock.
 */
export async function tryStopErased(
  { pool }: Database,
  { trackerId, events, at }: { trackerId: string; events: readonly EventRef[]; at: Date },
): Promise<StoppedDeliveries> {
  const values = [trackerId, at, WAITING_STATUSES, ...eventRefValues(events)]
  const { rows } = await pool.query(STOP_ERASED, values)
  const [{ missed, attempt_ids: attemptIds, may_be_answered: mayBeAnswered }] = rows
  return { missed, attemptIds, mayBeAnswered }
}

const HAS_TEXT = `coalesce(delivery.last_error ->> 'message' <> ''
  or delivery.last_error ->> 'user_title' is not null
  or delivery.last_error ->> 'user_message' is not null, false)`

/** The members of a `SendError`, without free text. */
const WITHOUT_TEXT = `(last_error::jsonb
  || '{"message": "", "user_title": null, "user_message": null}')::json`

const IS_WAITING = 'delivery.status = any($3::text[])'

/** The deliveries of the erased events in one of the two tables. */
const deliveriesOfErased = (
  table: 'delivery_queue' | 'deliveries',
  { needsChange, mayBeAnswered }: { needsChange: string; mayBeAnswered: string },
) => `
  select delivery.created_at, delivery.id, delivery.attempt_ids, ${needsChange} as needs_change,
    ${mayBeAnswered} as may_be_answered
  from ${unnestEventRefs('erased', 4)}
  cross join lateral (
    select * from ${table}
    where tracker_id = $1::uuid and created_at = erased.created_at
      and event_id = erased.event_id and space = erased.space
    offset 0
  ) delivery`

/** Those of them that need a change and are not locked elsewhere, locked in order. */
const lockDeliveries = (table: 'delivery_queue' | 'deliveries', concerned: string) => `
  select delivery.tracker_id, delivery.created_at, delivery.id, ${IS_WAITING} as is_waiting
  from (
    select * from ${concerned} where needs_change order by created_at, id
  ) concerned
  cross join lateral (
    select * from ${table}
    where tracker_id = $1::uuid and created_at = concerned.created_at and id = concerned.id
    limit 1 for update skip locked
  ) delivery`

const SAME_ROW = `delivery.tracker_id = locked.tracker_id
      and delivery.created_at = locked.created_at and delivery.id = locked.id`

const STOP_ERASED = `
  with concerned_queue as materialized (
    ${deliveriesOfErased('delivery_queue', {
      needsChange: `${IS_WAITING} or ${HAS_TEXT}`,
      mayBeAnswered: `delivery.status = 'sent'`,
    })}
  ), concerned_history as materialized (
    ${deliveriesOfErased('deliveries', {
      needsChange: HAS_TEXT,
      mayBeAnswered: 'delivery.replayable_until is not null',
    })}
  ), locked_queue as materialized (
    ${lockDeliveries('delivery_queue', 'concerned_queue')}
  ), locked_history as materialized (
    ${lockDeliveries('deliveries', 'concerned_history')}
  ), stopped as (
    delete from delivery_queue delivery using locked_queue locked
    where ${SAME_ROW} and locked.is_waiting
    returning delivery.*
  ), inserted as (
    ${insertSkipped('stopped', { reason: `'erased'`, at: '$2', lastError: WITHOUT_TEXT })}
  ), redacted as (
    update delivery_queue delivery set last_error = ${WITHOUT_TEXT}, updated_at = $2::timestamptz
    from locked_queue locked
    where ${SAME_ROW} and not locked.is_waiting
  ), redacted_history as (
    update deliveries delivery set last_error = ${WITHOUT_TEXT}, updated_at = $2::timestamptz
    from locked_history locked
    where ${SAME_ROW}
  ), counted as (
    ${countPlanned('stopped', '-count(*)')}
  ), held as (
    ${countHeld('stopped', { reason: `'erased'`, at: '$2' })}
  ), outcomes as (
    ${countSkippedOutcomes('stopped', { reason: `'erased'`, at: '$2' })}
  ), concerned as materialized (
    select attempt_ids, needs_change, may_be_answered from concerned_queue
    union all
    select attempt_ids, needs_change, may_be_answered from concerned_history
  )
  select
    (select count(*) from concerned where needs_change) - (select count(*) from locked_queue)
      - (select count(*) from locked_history) as missed,
    array(select distinct unnest(attempt_ids) from concerned) as attempt_ids,
    coalesce((select bool_or(may_be_answered) from concerned), false) as may_be_answered`
