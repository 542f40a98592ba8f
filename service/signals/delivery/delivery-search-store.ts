import { CompiledQuery } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import { setLocally } from '../../runtime/db/local-settings.ts'
import {
  type EventFilter,
  type FoundEvent,
  rangeValues,
  SEARCH_ROWS_MAX,
  type SearchRange,
  searchResult,
  toFoundEvent,
} from '../events/search-store.ts'
import { FAILED_STATUSES } from './delivery-status.ts'

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
