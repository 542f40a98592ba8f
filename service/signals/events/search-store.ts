import type { Database } from '../../runtime/db/database.ts'
import type { EventRef } from './event-columns.ts'

/**
 * Rows that one search reads. No index has the name or the order of an event: one would be written
 * with every event. Ten thousand rows of 372 bytes are about 500 buffers, read in about 10 ms.
 */
export const SEARCH_ROWS_MAX = 10_000

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
export const searchResult = (isMatch: string, source = 'scanned') => `
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
export function rangeValues({ trackerId, from, to, after }: SearchRange) {
  return [trackerId, from ?? '-infinity', after?.createdAt ?? to ?? 'infinity'] as const
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
export function toFoundEvent(row: any): FoundEvent {
  return {
    createdAt: row.created_at,
    eventId: row.event_id,
    space: row.space,
    deliveryId: row.delivery_id,
    isMatch: row.is_match,
  }
}
