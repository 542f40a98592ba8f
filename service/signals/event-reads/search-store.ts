import { CompiledQuery } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import { setLocally } from '../../runtime/db/sql-fragments.ts'
import { FAILED_STATUSES } from '../delivery/delivery-status.ts'
import type { EventRef } from '../events/event-columns.ts'

/**
 * Rows that one search reads. No index has the name or the order of an event: one would be written
 * with every event. Ten thousand rows of 372 bytes are about 500 buffers, read in about 10 ms.
 */
const SEARCH_ROWS_MAX = 10_000

/** The last event of a page; the next page has older ones. */
export interface SearchPosition extends EventRef {
  /** Orders deliveries that were planned together. 0 in a search without a status. */
  deliveryId: number
}

export interface SearchRange {
  trackerId: string
  /** Received at or after this time. */
  from: Date | null
  /** Received before this time. */
  to: Date | null
  after: SearchPosition | null
  /** Rows per page. */
  limit: number
}

export interface EventFilter {
  eventName: string | null
  orderId: string | null
}

export interface FoundEvent extends SearchPosition {
  /** False for the row at which the search stopped, if it does not match. */
  isMatch: boolean
}

/**
 * The rows of the CTE `scanned` that match, and the one at which the search stopped. Its rows come
 * out in their order, newest first, and are read only until the limit is reached.
 */
const searchResult = (isMatch: string, source = 'scanned') => `
  select created_at, event_id, space, delivery_id, (${isMatch}) as is_match
  from ${source} where (${isMatch}) or position = ${SEARCH_ROWS_MAX}`

const MATCHES = `
  ($6::text is null or event_name = $6::text) and ($7::text is null or order_id = $7::text)`

const SEARCH_EVENTS = `
  with scanned as materialized (
    select *, 0 as delivery_id,
      row_number() over (order by created_at desc, event_id desc, space desc) as position
    from (
      select created_at, event_id, space, event_name, order_id from events
      where tracker_id = $1::uuid
        and created_at >= $2::timestamptz and created_at <= $3::timestamptz
        and (created_at, event_id, space) < ($3::timestamptz, $4::text, $5::smallint)
      order by created_at desc, event_id desc, space desc limit ${SEARCH_ROWS_MAX}
    ) newest
  )
  ${searchResult(MATCHES)} limit $8::integer`

/** Events newest first. Each call reads a bounded number of rows from its position on. */
export async function searchEventRefs(
  { pool }: Database,
  range: SearchRange,
  { eventName, orderId }: EventFilter,
): Promise<FoundEvent[]> {
  const { eventId, space } = range.after ?? { eventId: '', space: 0 }
  const { rows } = await pool.query({
    text: SEARCH_EVENTS,
    values: [...rangeValues(range), eventId, space, eventName, orderId, range.limit],
  })
  return rows.map(toFoundEvent)
}

/** The children are found by their index first; the range of times only sifts them. */
const SEARCH_CHILDREN = `
  with children as materialized (
    select created_at, event_id, space, event_name, order_id from events
    where tracker_id = $1::uuid and parent_event_id = $9::text limit ${SEARCH_ROWS_MAX}
  ), scanned as materialized (
    select *, 0 as delivery_id, 0 as position from children
    where created_at >= $2::timestamptz
      and (created_at, event_id, space) < ($3::timestamptz, $4::text, $5::smallint)
      and ($10::text[] is null or exists (
        select 1 from all_deliveries
        where tracker_id = $1::uuid and created_at = children.created_at
          and event_id = children.event_id and space = children.space
          and status = any($10::text[])))
    order by created_at desc, event_id desc, space desc
  )
  ${searchResult(MATCHES)} limit $8::integer`

interface ChildFilter extends EventFilter {
  parentEventId: string
  /** Null for any. */
  statuses: readonly string[] | null
}

/** The events that name a parent, newest first. */
export async function searchChildRefs(
  { pool }: Database,
  range: SearchRange,
  { eventName, orderId, parentEventId, statuses }: ChildFilter,
): Promise<FoundEvent[]> {
  const { eventId, space } = range.after ?? { eventId: '', space: 0 }
  const values = [...rangeValues(range), eventId, space, eventName, orderId, range.limit]
  const { rows } = await pool.query({
    text: SEARCH_CHILDREN,
    values: [...values, parentEventId, statuses],
  })
  return rows.map(toFoundEvent)
}

/** The first three parameters of a search: tracker, oldest time, newest time. */
function rangeValues({ trackerId, from, to, after }: SearchRange) {
  return [trackerId, from ?? '-infinity', after?.createdAt ?? to ?? 'infinity'] as const
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function toFoundEvent(row: any): FoundEvent {
  return {
    createdAt: row.created_at,
    eventId: row.event_id,
    space: row.space,
    deliveryId: row.delivery_id,
    isMatch: row.is_match,
  }
}

const isFailed = (status: string) => (FAILED_STATUSES as readonly string[]).includes(status)
const isInQueue = (status: string) => ['queued', 'sent', 'retrying'].includes(status)

interface DeliveryFilter extends EventFilter {
  /** Of one place: the queue, the failures, or the rest of the history. */
  statuses: readonly string[]
}

/**
 * Events by the status of a delivery, newest first. What waits is read from the queue, and failures
 * from an index that has nothing else, in the order of their IDs, so both are found anywhere in the
 * history. Other statuses are most of the history, of which each call reads a bounded part. An
 * event with several such deliveries is found once for each.
 */
export async function searchDeliveries(
  { query }: Pick<Database, 'query'>,
  range: SearchRange,
  { statuses, eventName, orderId }: DeliveryFilter,
): Promise<FoundEvent[]> {
  const areFailures = statuses.every(isFailed)
  const table = statuses.every(isInQueue) ? 'delivery_queue' : 'deliveries'
  const source = areFailures ? FAILURES : inOrderOfReceipt(table)
  const hasEventFilter = eventName !== null || orderId !== null
  const text = hasEventFilter ? searchWithEvents(source) : searchAlone(source)
  const values = [
    ...rangeValues(areFailures ? { ...range, after: null } : range),
    range.after?.deliveryId ?? 0,
    statuses,
    range.limit,
    ...(hasEventFilter ? [eventName, orderId] : []),
  ]
  return query.transaction().execute(async transaction => {
    // Each source has an index in its order. A table without statistics seems small enough to sort.
    await setLocally({ query: transaction }, { enable_sort: 'off', enable_bitmapscan: 'off' })
    const { rows } = await transaction.executeQuery(CompiledQuery.raw(text, values))
    return rows.map(toFoundEvent)
  })
}

const COLUMNS = 'created_at, event_id, space, id as delivery_id, status'

const inOrderOfReceipt = (table: 'delivery_queue' | 'deliveries') => `
    select *, row_number() over (order by created_at desc, delivery_id desc) as position from (
      select ${COLUMNS} from ${table}
      where tracker_id = $1::uuid
        and created_at >= $2::timestamptz and created_at <= $3::timestamptz
        and (created_at, id) < ($3::timestamptz, $4::bigint)
      order by created_at desc, id desc limit ${SEARCH_ROWS_MAX}
    ) newest`

/** The IDs of a tracker grow with time, except that each process takes a block of them at once. */
const FAILURES = `
    select *, row_number() over (order by delivery_id desc) as position from (
      select ${COLUMNS} from deliveries
      where tracker_id = $1::uuid and replayable_until is not null
        and created_at >= $2::timestamptz and created_at < $3::timestamptz
        and ($4::bigint = 0 or id < $4::bigint)
      order by id desc limit ${SEARCH_ROWS_MAX}
    ) newest`

const searchAlone = (source: string) => `
  with scanned as materialized (${source})
  ${searchResult('status = any($5::text[])')} limit $6::integer`

/** An event is looked up only if the status of its delivery matches. */
const searchWithEvents = (source: string) => `
  with scanned as materialized (${source}), compared as (
    select scanned.*, coalesce(event.is_match, false) as is_event_match
    from scanned left join lateral (
      select true as is_match from events
      where scanned.status = any($5::text[]) and tracker_id = $1::uuid
        and created_at = scanned.created_at and event_id = scanned.event_id
        and space = scanned.space
        and ($7::text is null or event_name = $7::text)
        and ($8::text is null or order_id = $8::text)
      limit 1
    ) event on true
  )
  ${searchResult('is_event_match', 'compared')} limit $6::integer`
