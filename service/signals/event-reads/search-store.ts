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

/** What an event must be. Every member that is left out or null matches any. */
export interface EventFilter {
  eventName: string | null
  orderId: string | null
  /** Its value is at least this, as decimal text. */
  valueMin?: string | null
  /** The number of its space. */
  space?: number | null
  /** It happened at or after this time. */
  happenedFrom?: Date | null
  /** It happened before this time. */
  happenedTo?: Date | null
}

/** What one of its deliveries must be. */
export interface DeliveryConditions {
  destinationId?: string | null
  reason?: string | null
  isTest?: boolean | null
  /** The trace ID of the platform's answer. */
  traceId?: string | null
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

/** Columns that `eventMatches` reads. */
const EVENT_COLUMNS = 'created_at, event_id, space, event_name, order_id, value_amount, event_time'

/** Six parameters from `first` on. Events from before there were spaces are in both. */
const eventMatches = (first: number) => `
  ($${first}::text is null or event_name = $${first}::text)
  and ($${first + 1}::text is null or order_id = $${first + 1}::text)
  and ($${first + 2}::numeric is null or value_amount >= $${first + 2}::numeric)
  and ($${first + 3}::smallint is null or space in ($${first + 3}::smallint, 2))
  and ($${first + 4}::timestamptz is null or event_time >= $${first + 4}::timestamptz)
  and ($${first + 5}::timestamptz is null or event_time < $${first + 5}::timestamptz)`

function eventValues(filter: EventFilter): unknown[] {
  const { eventName, orderId, valueMin, space, happenedFrom, happenedTo } = filter
  return [eventName, orderId, valueMin, space, happenedFrom, happenedTo].map(each => each ?? null)
}

function hasEventFilter(filter: EventFilter): boolean {
  return eventValues(filter).some(value => value !== null)
}

/** Five parameters from `first` on. */
const deliveryMatches = (first: number) => `
  ($${first}::text[] is null or status = any($${first}::text[]))
  and ($${first + 1}::uuid is null or destination_id = $${first + 1}::uuid)
  and ($${first + 2}::text is null or coalesce(status_reason, status) = $${first + 2}::text)
  and ($${first + 3}::boolean is null or is_test = $${first + 3}::boolean)
  and ($${first + 4}::text is null or platform_trace_id = $${first + 4}::text)`

type Deliveries = DeliveryConditions & { statuses: readonly string[] | null }

function deliveryValues({ statuses, destinationId, reason, isTest, traceId }: Deliveries) {
  return [statuses, destinationId, reason, isTest, traceId].map(each => each ?? null)
}

const SEARCH_EVENTS = `
  with scanned as materialized (
    select *, 0 as delivery_id,
      row_number() over (order by created_at desc, event_id desc, space desc) as position
    from (
      select ${EVENT_COLUMNS} from events
      where tracker_id = $1::uuid
        and created_at >= $2::timestamptz and created_at <= $3::timestamptz
        and (created_at, event_id, space) < ($3::timestamptz, $4::text, $5::smallint)
      order by created_at desc, event_id desc, space desc limit ${SEARCH_ROWS_MAX}
    ) newest
  )
  ${searchResult(eventMatches(7))} limit $6::integer`

/** Events newest first. Each call reads a bounded number of rows from its position on. */
export async function searchEventRefs(
  { pool }: Database,
  range: SearchRange,
  filter: EventFilter,
): Promise<FoundEvent[]> {
  const { eventId, space } = range.after ?? { eventId: '', space: 0 }
  const { rows } = await pool.query({
    text: SEARCH_EVENTS,
    values: [...rangeValues(range), eventId, space, range.limit, ...eventValues(filter)],
  })
  return rows.map(toFoundEvent)
}

/** The children are found by their index first; the range of times only sifts them. */
const SEARCH_CHILDREN = `
  with children as materialized (
    select ${EVENT_COLUMNS} from events
    where tracker_id = $1::uuid and parent_event_id = $13::text limit ${SEARCH_ROWS_MAX}
  ), scanned as materialized (
    select *, 0 as delivery_id, 0 as position from children
    where created_at >= $2::timestamptz
      and (created_at, event_id, space) < ($3::timestamptz, $4::text, $5::smallint)
      and (not $14::boolean or exists (
        select 1 from all_deliveries
        where tracker_id = $1::uuid and created_at = children.created_at
          and event_id = children.event_id and space = children.space
          and ${deliveryMatches(15)}))
    order by created_at desc, event_id desc, space desc
  )
  ${searchResult(eventMatches(7))} limit $6::integer`

interface ChildFilter extends EventFilter, DeliveryConditions {
  parentEventId: string
  /** Null for any. */
  statuses: readonly string[] | null
}

/** The events that name a parent, newest first. */
export async function searchChildRefs(
  { pool }: Database,
  range: SearchRange,
  filter: ChildFilter,
): Promise<FoundEvent[]> {
  const { eventId, space } = range.after ?? { eventId: '', space: 0 }
  const deliveries = deliveryValues(filter)
  const { rows } = await pool.query({
    text: SEARCH_CHILDREN,
    values: [
      ...[...rangeValues(range), eventId, space, range.limit, ...eventValues(filter)],
      ...[filter.parentEventId, deliveries.some(value => value !== null), ...deliveries],
    ],
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

interface DeliveryFilter extends EventFilter, DeliveryConditions {
  /** Of one place: the queue, the failures, or the rest of the history. Null for any. */
  statuses: readonly string[] | null
}

/**
 * Events by what a delivery is, newest first. What waits is read from the queue, and failures
 * from an index that has nothing else, in the order of their IDs, so both are found anywhere in the
 * history. Other statuses are most of the history, of which each call reads a bounded part. An
 * event with several such deliveries is found once for each.
 */
export async function searchDeliveries(
  { query }: Pick<Database, 'query'>,
  range: SearchRange,
  filter: DeliveryFilter,
): Promise<FoundEvent[]> {
  const { statuses } = filter
  const areFailures = statuses?.every(isFailed) ?? false
  const source = areFailures ? FAILURES : inOrderOfReceipt(tableOf(statuses))
  const joinsEvents = hasEventFilter(filter)
  const text = joinsEvents ? searchWithEvents(source) : searchAlone(source)
  const values = [
    ...rangeValues(areFailures ? { ...range, after: null } : range),
    range.after?.deliveryId ?? 0,
    range.limit,
    ...deliveryValues(filter),
    ...(joinsEvents ? eventValues(filter) : []),
  ]
  return query.transaction().execute(async transaction => {
    // Each source has an index in its order. A table without statistics seems small enough to sort.
    await setLocally({ query: transaction }, { enable_sort: 'off', enable_bitmapscan: 'off' })
    const { rows } = await transaction.executeQuery(CompiledQuery.raw(text, values))
    return rows.map(toFoundEvent)
  })
}

function tableOf(statuses: readonly string[] | null): DeliveryTable {
  if (statuses === null) return 'all_deliveries'
  return statuses.every(isInQueue) ? 'delivery_queue' : 'deliveries'
}

type DeliveryTable = 'delivery_queue' | 'deliveries' | 'all_deliveries'

const COLUMNS = `created_at, event_id, space, id as delivery_id, status, status_reason,
  destination_id, is_test, platform_trace_id`

/** The newest rows of a table; those of the queue and of the history are merged in their order. */
const inOrderOfReceipt = (table: DeliveryTable) => `
    select *, row_number() over (order by created_at desc, delivery_id desc) as position from (
      ${table === 'all_deliveries' ? newestOfBoth() : newestOf(table)}
    ) newest`

const newestOf = (table: DeliveryTable) => `
      select ${COLUMNS} from ${table}
      where tracker_id = $1::uuid
        and created_at >= $2::timestamptz and created_at <= $3::timestamptz
        and (created_at, id) < ($3::timestamptz, $4::bigint)
      order by created_at desc, id desc limit ${SEARCH_ROWS_MAX}`

const newestOfBoth = () => `
      select * from (
        (${newestOf('delivery_queue')}) union all (${newestOf('deliveries')})
      ) both_tables order by created_at desc, delivery_id desc limit ${SEARCH_ROWS_MAX}`

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
  ${searchResult(deliveryMatches(6))} limit $5::integer`

/** An event is looked up only if its delivery matches. */
const searchWithEvents = (source: string) => `
  with scanned as materialized (${source}), matched as (
    select *, (${deliveryMatches(6)}) as is_delivery_match from scanned
  ), compared as (
    select matched.*, coalesce(event.is_match, false) as is_event_match
    from matched left join lateral (
      select true as is_match from events
      where matched.is_delivery_match and tracker_id = $1::uuid
        and created_at = matched.created_at and event_id = matched.event_id
        and space = matched.space and ${eventMatches(11)}
      limit 1
    ) event on true
  )
  ${searchResult('is_event_match', 'compared')} limit $5::integer`
