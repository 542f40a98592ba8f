import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { Database } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import { type EventSpace, SPACE_NUMBERS } from '../events/event-record.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { selectMatches } from '../events/page-match-store.ts'
import { DELIVERY_KEY_COLUMNS, outcomeLiterals, updateClaimed } from './delivery-store.ts'

/** What an event of the other space is compared by. */
export type MatchedEvent = Pick<StoredEvent, 'eventId' | 'eventName' | 'orderId'>

/** A delivery of an event in the other space that has the name and an ID of a given event. */
export interface Match {
  /** The position of the given event. */
  index: number
  eventId: string
  /** When the event was received. */
  createdAt: Date
  valueAmount: string | null
  valueCurrency: string | null
  deliveryId: number
  destinationId: string
  isTest: boolean
  status: Stored<DeliveryStatus>
  statusReason: string
  firstSentAt: Date | null
  /** It was sent under the prefixed ID. */
  hasIdPrefix: boolean
}

interface MatchSearch {
  trackerId: string
  /** The space in which matches are looked for. */
  space: EventSpace
  events: readonly MatchedEvent[]
  /** Null for the deliveries to every destination. */
  destinationId?: string | null
}

const GIVEN_COLUMNS: BatchColumn<MatchedEvent>[] = [
  { name: 'event_name', type: 'text', text: ({ eventName }) => eventName },
  { name: 'event_id', type: 'text', text: ({ eventId }) => eventId },
  { name: 'order_id', type: 'text', text: ({ orderId }) => orderId },
]

const GIVEN = unnestColumns(GIVEN_COLUMNS, {
  alias: 'given',
  firstParameter: 3,
  number: 'number',
})

/** A tracker without a key for pages has no events of pages, and nothing is looked up. */
const HAS_PAGES = `(
    select 1 from tracker_keys
    where tracker_id = $1::uuid and kind = 'publishable' and origins <> '{}' limit 1
  ) pages`

const FIND_MATCHES: Record<EventSpace, string> = {
  secret: findMatchesIn('secret'),
  publishable: findMatchesIn('publishable'),
}

function findMatchesIn(space: EventSpace): string {
  const number = SPACE_NUMBERS[space]
  // The offset keeps the destination out of the lookup, which then uses the primary key.
  return `
  select given.number - 1 as index, match.*, delivery.*
  from ${HAS_PAGES} cross join ${GIVEN}
  cross join lateral (${selectMatches('given', space)}) match
  cross join lateral (
    select id, destination_id, is_test, status, status_reason, first_sent_at, has_id_prefix
    from all_deliveries
    where tracker_id = $1::uuid and created_at = match.created_at
      and event_id = match.event_id and space = ${number}
    offset 0
  ) delivery
  where delivery.destination_id is not null
    and ($2::uuid is null or delivery.destination_id = $2::uuid)
  order by given.number, match.created_at, match.event_id, delivery.id`
}

/** The deliveries of matching events in the other space, in the order of the given events. */
export async function findMatches(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, space, events, destinationId = null }: MatchSearch,
): Promise<Match[]> {
  if (events.length === 0) return []
  const { rows } = await pool.query({
    name: `find-${space}-matches`,
    text: FIND_MATCHES[space],
    values: [trackerId, destinationId, ...toArrayParameters(GIVEN_COLUMNS, events)],
  })
  return rows.map(row => ({
    index: Number(row.index),
    eventId: row.event_id,
    createdAt: row.created_at,
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    deliveryId: row.id,
    destinationId: row.destination_id,
    isTest: row.is_test,
    status: parseStored(DELIVERY_STATUSES, row.status),
    statusReason: row.status_reason,
    firstSentAt: row.first_sent_at,
    hasIdPrefix: row.has_id_prefix === true,
  }))
}

type DeliveryKey = Pick<Match, 'createdAt' | 'deliveryId'>

const HELD = outcomeLiterals({ status: 'queued', reason: 'held_for_secret' })

/**
 * Makes held deliveries due now, because the event that they wait for is here. One that another
 * worker has locked is left alone: it becomes due by itself.
 */
export async function releaseHeld(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, held, at }: { trackerId: string; held: readonly DeliveryKey[]; at: Date },
): Promise<void> {
  if (held.length === 0) return
  await pool.query({
    text: `with held as materialized (
             select * from (
               select queue.row_position
               from ${unnestColumns(DELIVERY_KEY_COLUMNS, { alias: 'given', firstParameter: 3 })}
               cross join lateral (
                 select ctid as row_position, created_at, id from delivery_queue
                 where tracker_id = $1::uuid and created_at = given.created_at
                   and id = given.id and status = ${HELD.status}
                   and status_reason = ${HELD.reason} and next_attempt_at > $2::timestamptz
                 limit 1 for update skip locked
               ) queue
               order by queue.created_at, queue.id
             ) locked
           )
           update delivery_queue queue set next_attempt_at = $2::timestamptz
           from held
           where queue.ctid = held.row_position and queue.tracker_id = $1::uuid`,
    values: [trackerId, at, ...toArrayParameters(DELIVERY_KEY_COLUMNS, held)],
  })
}

/**
 * Remembers, before they are sent, which deliveries are sent under the prefixed ID, so that every
 * later attempt uses the same one.
 */
export function storeIdPrefixes(
  database: Pick<Database, 'pool'>,
  {
    trackerId,
    leaseEndsAt,
    prefixed,
  }: { trackerId: string; leaseEndsAt: Date; prefixed: readonly DeliveryKey[] },
): Promise<void> {
  const set = 'has_id_prefix = true'
  const change = { trackerId, leaseEndsAt, columns: DELIVERY_KEY_COLUMNS, rows: prefixed, set }
  return updateClaimed(database, change)
}
