import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral, type BatchWrite, utcDay } from '../../runtime/db/sql-fragments.ts'
import { formatUtcDay } from '../../runtime/util/time.ts'
import { type EventRef, type EventRow, pickAppendColumns } from './event-columns.ts'
import { type EventSpace, PURCHASE, REFUND, SPACE_NUMBERS } from './event-record.ts'

/**
 * The writes of acceptance by which an event of a page and one of the tracker secret find each
 * other. A row that exists is not locked, so commits of several processes do not wait for each
 * other.
 */
export const PAGE_MATCH_WRITES = {
  /** The days on which the tracker secret sent an event of a name. */
  name_writes: {
    columns: pickAppendColumns('tracker_id', 'created_at', 'space', 'event_name', 'event_class'),
    from: source => `
    insert into secret_event_names (tracker_id, received_on, event_name)
    select distinct tracker_id, ${utcDay('created_at')}, event_name
    from ${source} where space = 0 and event_class is null
    order by 1, 2, 3
    on conflict (tracker_id, received_on, event_name) do nothing`,
  },
  order_writes: {
    columns: pickAppendColumns(
      ...['tracker_id', 'created_at', 'space', 'order_digest', 'refund_digest'],
    ),
    from: source => `
    insert into order_keys (created_at, tracker_id, order_digest, space)
    select created_at, tracker_id, key.order_digest, space
    from ${source}
    cross join lateral (values (order_digest), (refund_digest)) as key(order_digest)
    where key.order_digest is not null
    order by tracker_id, space, order_digest
    on conflict (tracker_id, space, order_digest, created_at) do nothing`,
  },
} satisfies Record<string, BatchWrite<EventRow>>

/** The digest of `toOrderKey` (event-record.ts), as SQL. */
export function orderDigest(eventName: string, orderId: string): string {
  return `event_id_digest(${eventName} || E'\\n' || ${orderId})`
}

/** The digest of `toRefundKey`, as SQL. */
export function refundDigest(parentEventId: string): string {
  return orderDigest(`'${REFUND}'`, `E'\\n' || ${parentEventId}`)
}

/** SQL that deletes the order keys of events, which have their names, order IDs and parents. */
export function deleteOrderKeys(events: string): string {
  return `
      delete from order_keys using ${events}
      where order_keys.tracker_id = ${events}.tracker_id and order_keys.space = ${events}.space
        and order_keys.order_digest in (
          ${orderDigest(`${events}.event_name`, `${events}.order_id`)},
          ${refundDigest(`${events}.parent_event_id`)})
        and order_keys.created_at = ${events}.created_at`
}

/** How long a name counts as one that the tracker secret sends. */
const NAME_DAYS = 30

/**
 * Which of these names the tracker secret sent in the last 30 UTC days and today: one lookup of the
 * primary key for each name and day.
 */
export async function findSecretNames(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, names, at }: { trackerId: string; names: Iterable<string>; at: Date },
): Promise<Set<string>> {
  const { rows } = await pool.query({
    name: 'find-secret-names',
    text: `select given.name from unnest($2::text[]) as given(name)
           cross join lateral (
             select 1 from generate_series(0, ${NAME_DAYS}) as days_ago
             cross join lateral (
               select 1 from secret_event_names
               where tracker_id = $1::uuid and received_on = $3::date - days_ago
                 and event_name = given.name
               limit 1
             ) sent
             limit 1
           ) known`,
    values: [trackerId, arrayLiteral([...names]), formatUtcDay(at)],
  })
  return new Set(rows.map(({ name }) => name))
}

/** Events of an order that are compared; a shop reports an order once or twice. */
const ORDER_EVENTS_MAX = 10

/**
 * SQL for the events of a space with the name and the event ID or order ID of a row of `given`,
 * which has `event_name`, `event_id` and `order_id`. An event ID of a page that is the order ID of
 * the tracker secret matches too: some platforms know an order by it. `$1` is the tracker; every
 * table names it, and every lookup has its limit (docs/decisions/0024).
 */
export function selectMatches(given: string, space: EventSpace): string {
  const number = SPACE_NUMBERS[space]
  const ofEventId = (id: string) => `
      (select created_at from event_keys
       where tracker_id = $1::uuid and space = ${number} and id_digest = event_id_digest(${id})
       limit 1)`
  const ofOrderId = (id: string) => `
      (select created_at from order_keys
       where tracker_id = $1::uuid and space = ${number}
         and order_digest = ${orderDigest(`${given}.event_name`, id)}
       order by created_at desc limit ${ORDER_EVENTS_MAX})`
  const [eventId, orderId] = [`${given}.event_id`, `${given}.order_id`]
  const crossed =
    space === 'secret'
      ? { keys: ofOrderId(eventId), rule: `order_id = ${eventId}` }
      : { keys: ofEventId(orderId), rule: `event_id = ${orderId}` }
  return `
    select event.event_id, event.created_at, event.value_amount, event.value_currency
    from (
${ofEventId(eventId)}
      union ${ofOrderId(orderId)}
      union ${crossed.keys}
    ) key
    cross join lateral (
      select event_id, created_at, value_amount, value_currency from events
      where tracker_id = $1::uuid and created_at = key.created_at and space = ${number}
        and event_name = ${given}.event_name
        and (event_id = ${eventId} or order_id = ${orderId} or ${crossed.rule})
      order by event_id limit ${ORDER_EVENTS_MAX}
    ) event`
}

/** Purchases and their refunds by the keys that acceptance writes, at any age. */
const SEARCH_ORDER = `
  select event.created_at, event.event_id, event.space
  from unnest(array['${PURCHASE}', '${REFUND}']) as own(name)
  cross join lateral (
    select created_at, space from order_keys
    where tracker_id = $1::uuid and space in (0, 1)
      and order_digest = ${orderDigest('own.name', '$2::text')}
    order by space, created_at limit $3::integer
  ) key
  cross join lateral (
    select created_at, event_id, space from events
    where tracker_id = $1::uuid and created_at = key.created_at and space = key.space
      and order_id = $2::text
    order by event_id limit $3::integer
  ) event
  order by event.created_at desc limit $3::integer`

/** The purchases of an order, and its refunds that name it by its ID. */
export async function searchOrderRefs(
  { pool }: Database,
  { trackerId, orderId, limit }: { trackerId: string; orderId: string; limit: number },
): Promise<EventRef[]> {
  const { rows } = await pool.query({ text: SEARCH_ORDER, values: [trackerId, orderId, limit] })
  return rows.map(({ created_at: createdAt, event_id: eventId, space }) => ({
    createdAt,
    eventId,
    space,
  }))
}
