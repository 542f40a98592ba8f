import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import { type EventRef, eventRefKey, isOfPage } from './event-columns.ts'
import { type EventSpace, PURCHASE, REFUND, SPACE_NUMBERS } from './event-record.ts'
import { findEventsById, findEventsByRef, type StoredEvent } from './event-store.ts'
import { holdsToken } from './free-text.ts'
import type { Order } from './order-value.ts'
import { orderDigest, refundDigest } from './page-match-store.ts'

/** Refunds of an order that are added up. */
export const REFUNDS_MAX = 100
/** Of pages, which change nothing and are only shown. */
const PAGE_REFUNDS_MAX = 10
/** Purchases with one order ID that are shown. */
const PURCHASES_MAX = 10

/** What leads to an order: the event that something was bought with, or an ID of it. */
interface OrderAnchor {
  purchase: StoredEvent | null
  /** A refund names the purchase as its parent; else it is the event that is looked at. */
  isNamed: boolean
  /** The parent that a refund names and that is not stored. */
  missingId: string | null
  orderId: string | null
}

interface FoundOrder extends OrderAnchor {
  /** The purchases of the order, the first one that was received before the others. */
  purchases: StoredEvent[]
  /** The IDs that refunds of the order may name as their parent. */
  parentIds: string[]
}

/**
 * The orders of these events; none for one that names no order. A refund belongs to the event that
 * it names as its parent, and only without one to the purchase with its order ID. The number of
 * rows is limited for each order, so it does not grow with the store.
 *
 * Anyone can forge the events of a page, so nothing of a page changes an order of the tracker
 * secret: neither a purchase with its order ID, nor one with the ID of another purchase.
 */
export async function findOrders(
  database: Database,
  trackerId: string,
  { events, parents }: { events: readonly StoredEvent[]; parents: ParentEvents },
): Promise<Map<StoredEvent, Order>> {
  const anchors = new Map<StoredEvent, OrderAnchor>()
  for (const event of events) {
    const anchor = findAnchor(event, parents.get(event) ?? null)
    if (anchor) anchors.set(event, anchor)
  }
  if (anchors.size === 0) return new Map()
  const found = await findPurchases(database, trackerId, [...anchors.values()])
  const refunds = await findRefunds(database, trackerId, found)
  return new Map(
    [...anchors.keys()].map((event, index) => [
      event,
      buildOrder(found[index] as FoundOrder, refunds[index] ?? []),
    ]),
  )
}

type ParentEvents = ReadonlyMap<StoredEvent, StoredEvent>

function findAnchor(event: StoredEvent, parent: StoredEvent | null): OrderAnchor | null {
  const { eventName, parentEventId: parentId, orderId } = event
  const unknown = { purchase: null, isNamed: false, missingId: null, orderId: null }
  if (eventName !== REFUND) return { ...unknown, purchase: event, orderId: orderOf(event) }
  if (parent && parent.eventName !== REFUND) {
    return { ...unknown, purchase: parent, isNamed: true, orderId: orderOf(parent) }
  }
  // With another refund nothing was bought, and no event has the order ID of a token.
  if (parent) return null
  if (parentId !== null) return { ...unknown, missingId: parentId }
  return orderId === null || holdsToken(orderId) ? null : { ...unknown, orderId }
}

/** Refunds by order ID are of purchases: other events of an order do not carry its value. */
function orderOf({ eventName, orderId }: StoredEvent): string | null {
  return eventName === PURCHASE ? orderId : null
}

async function findPurchases(
  database: Database,
  trackerId: string,
  anchors: readonly OrderAnchor[],
): Promise<FoundOrder[]> {
  const refs = await findPurchaseRefs(database, trackerId, anchors)
  const byKey = await loadEvents(database, trackerId, refs.flat())
  const found = anchors.map((anchor, index) => {
    const stored = (refs[index] ?? []).flatMap(ref => byKey.get(eventRefKey(ref)) ?? [])
    return choosePurchases(anchor, stored.filter(isNoTest))
  })
  const ofPages = found.flatMap(({ purchases }) => purchases.filter(isOfPage))
  const pageIds = [...new Set(ofPages.map(({ eventId }) => eventId))]
  const hidden =
    pageIds.length === 0 ? [] : await findEventsById(database, trackerId, pageIds, ['secret'])
  const ofSecret = new Set(hidden.map(({ eventId }) => eventId))
  return found.map(order => {
    const own = order.purchases.filter(event => !isOfPage(event) || !ofSecret.has(event.eventId))
    const parentIds = own.map(({ eventId }) => eventId)
    return { ...order, parentIds: order.missingId === null ? parentIds : [order.missingId] }
  })
}

function choosePurchases(
  anchor: OrderAnchor,
  found: readonly StoredEvent[],
): Omit<FoundOrder, 'parentIds'> {
  const { purchase, isNamed } = anchor
  const all = purchase === null ? found : [purchase, ...found]
  const distinct = [...new Map(all.map(event => [eventRefKey(event), event])).values()]
  const inOrder = distinct.toSorted(compareReceipt)
  const ofSecret = inOrder.filter(event => !isOfPage(event))
  if (ofSecret.length === 0) return { ...anchor, purchases: inOrder }
  if (purchase && isNamed && isOfPage(purchase)) {
    return { ...anchor, orderId: null, purchases: [purchase] }
  }
  return { ...anchor, purchases: ofSecret }
}

function compareReceipt(one: StoredEvent, other: StoredEvent): number {
  return one.createdAt.getTime() - other.createdAt.getTime()
}

async function findRefunds(
  database: Database,
  trackerId: string,
  orders: readonly FoundOrder[],
): Promise<StoredEvent[][]> {
  const refs = await findRefundRefs(database, trackerId, orders)
  const byKey = await loadEvents(database, trackerId, refs.flat())
  return refs.map(own =>
    own
      .flatMap(ref => byKey.get(eventRefKey(ref)) ?? [])
      .filter(isNoTest)
      .toSorted(compareReceipt),
  )
}

async function loadEvents(
  database: Database,
  trackerId: string,
  refs: readonly EventRef[],
): Promise<Map<string, StoredEvent>> {
  if (refs.length === 0) return new Map()
  const events = await findEventsByRef(database, trackerId, distinctRefs(refs))
  return new Map(events.map(event => [eventRefKey(event), event]))
}

/** A page's refund is shown and changes nothing; it takes no place of those that count. */
function buildOrder({ purchases }: FoundOrder, refunds: readonly StoredEvent[]): Order {
  const [purchase = null, ...otherPurchases] = purchases
  const counted = refunds.filter(refund => !isOfPage(refund))
  const read = new Set(counted.slice(0, REFUNDS_MAX))
  return {
    purchase,
    otherPurchases,
    refunds: refunds.filter(refund => isOfPage(refund) || read.has(refund)),
    hasMoreRefunds: counted.length > REFUNDS_MAX,
  }
}

/** Test purchases belong to no order, even with an order ID. */
function isNoTest({ eventClass }: StoredEvent): boolean {
  return eventClass !== 'test'
}

const keysOfSpace = (digest: string, { space, limit }: { space: EventSpace; limit: number }) => `
      (select created_at, space from order_keys
       where tracker_id = $1::uuid and space = ${SPACE_NUMBERS[space]} and order_digest = ${digest}
       order by created_at limit ${limit})`

const PURCHASE_KEY = orderDigest(`'${PURCHASE}'`, 'given.order_id')

const FIND_PURCHASES = `
  select given.number - 1 as index, event.*
  from unnest($2::text[]) with ordinality as given(order_id, number)
  cross join lateral (
    ${keysOfSpace(PURCHASE_KEY, { space: 'secret', limit: PURCHASES_MAX })}
    union all
    ${keysOfSpace(PURCHASE_KEY, { space: 'publishable', limit: PURCHASES_MAX })}
  ) key
  cross join lateral (
    select created_at, event_id, space from events
    where tracker_id = $1::uuid and created_at = key.created_at and space = key.space
      and event_name = '${PURCHASE}' and order_id = given.order_id
    order by event_id limit ${PURCHASES_MAX}
  ) event
  order by given.number, event.created_at, event.event_id`

/** For each anchor, the purchases with its order ID, the first ones that were received. */
async function findPurchaseRefs(
  { pool }: Database,
  trackerId: string,
  anchors: readonly OrderAnchor[],
): Promise<EventRef[][]> {
  const orderIds = [...new Set(anchors.flatMap(({ orderId }) => orderId ?? []))]
  if (orderIds.length === 0) return anchors.map(() => [])
  const { rows } = await pool.query({
    name: 'find-order-purchases',
    text: FIND_PURCHASES,
    values: [trackerId, arrayLiteral(orderIds)],
  })
  const byOrder = Map.groupBy(rows, row => orderIds[Number(row.index)])
  return anchors.map(({ orderId }) =>
    orderId === null ? [] : (byOrder.get(orderId) ?? []).map(toRef),
  )
}

const REFUND_KEY = `coalesce(${refundDigest('given.parent_id')},
        ${orderDigest(`'${REFUND}'`, 'given.order_id')})`

/** A row of `given` has either a parent or an order. */
const FIND_REFUNDS = `
  select given.number - 1 as index, event.*
  from unnest($2::text[], $3::text[]) with ordinality as given(parent_id, order_id, number)
  cross join lateral (
    ${keysOfSpace(REFUND_KEY, { space: 'secret', limit: REFUNDS_MAX + 1 })}
    union all
    ${keysOfSpace(REFUND_KEY, { space: 'publishable', limit: PAGE_REFUNDS_MAX })}
  ) key
  cross join lateral (
    select created_at, event_id, space from events
    where tracker_id = $1::uuid and created_at = key.created_at and space = key.space
      and event_name = '${REFUND}'
      and (parent_event_id = given.parent_id
        or (parent_event_id is null and order_id = given.order_id))
    order by event_id limit ${REFUNDS_MAX + 1}
  ) event
  order by given.number, event.created_at, event.event_id`

async function findRefundRefs(
  { pool }: Database,
  trackerId: string,
  orders: readonly FoundOrder[],
): Promise<EventRef[][]> {
  const given = orders.flatMap(({ orderId, parentIds }, order) => [
    ...parentIds.map(parentId => ({ order, parentId, orderId: null })),
    ...(orderId === null ? [] : [{ order, parentId: null, orderId }]),
  ])
  if (given.length === 0) return orders.map(() => [])
  const { rows } = await pool.query({
    name: 'find-order-refunds',
    text: FIND_REFUNDS,
    values: [
      trackerId,
      arrayLiteral(given.map(({ parentId }) => parentId)),
      arrayLiteral(given.map(({ orderId }) => orderId)),
    ],
  })
  const byOrder = Map.groupBy(rows, row => given[Number(row.index)]?.order)
  return orders.map((_, order) => distinctRefs((byOrder.get(order) ?? []).map(toRef)))
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function toRef(row: any): EventRef {
  return { createdAt: row.created_at, eventId: row.event_id, space: row.space }
}

function distinctRefs(refs: readonly EventRef[]): EventRef[] {
  return [...new Map(refs.map(ref => [eventRefKey(ref), ref])).values()]
}
