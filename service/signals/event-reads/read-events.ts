import type { Delivery } from '@signalbox/contract/deliveries.ts'
import type { DashboardMetrics, EventPage } from '@signalbox/contract/event-pages.ts'
import { type EventDetail, EventSpaceQuery } from '@signalbox/contract/events.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { type FieldErrorList, Validator } from '../../runtime/http/validator.ts'
import { subtractDays } from '../../runtime/util/time.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { findAttempts, type StoredAttempt } from '../delivery/attempt-store.ts'
import { explainDelivery } from '../delivery/delivery-explanation.ts'
import { countAcceptance, findDeliveries, type StoredDelivery } from '../delivery/delivery-store.ts'
import { findMatches, type Match } from '../delivery/page-event-store.ts'
import { findReceipts, type StoredReceipt } from '../delivery/receipt-store.ts'
import { windowEnd } from '../delivery/review-deliveries.ts'
import { eventRefKey, isOfPage } from '../events/event-columns.ts'
import { BOTH_SPACES, type EventSpace } from '../events/event-record.ts'
import { findEventsById, findEventsByRef, type StoredEvent } from '../events/event-store.ts'
import { findChildEvents, findParentEvents } from '../events/lineage-store.ts'
import { listEventRefs } from '../events/list-store.ts'
import { findOrders } from '../events/order-store.ts'
import type { Order } from '../events/order-value.ts'
import { findPageWithdrawals, type PageWithdrawal } from '../events/page-withdrawal-store.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { ATTEMPTS_SHOWN_MAX, deliveryView, eventView, lineageView } from './event-view.ts'
import { orderView } from './order-view.ts'
import { buildEventPage, type EventPageRequest } from './pagination.ts'

interface ListRequest {
  tracker: TrackerIdentity
  page: EventPageRequest
  /** The absolute URL of the list, for its links. */
  path: string
  at: Date
}

/** listEvents: a page of events with their deliveries, and the acceptance rate of the week. */
export async function listEvents(
  database: Database,
  { tracker, page, path, at }: ListRequest,
): Promise<{ events: EventPage; metrics: DashboardMetrics }> {
  const { trackerId, workspaceId } = tracker
  const offset = (page.page - 1) * page.perPage
  const [{ total, events: refs }, metrics] = await Promise.all([
    listEventRefs(database, { trackerId, offset, limit: page.perPage }),
    acceptanceMetrics(database, trackerId, at),
  ])
  const [stored, deliveries] = await Promise.all([
    findEventsByRef(database, trackerId, refs),
    findDeliveries(database, trackerId, refs),
  ])
  const owner = { workspaceId, signalTrackerId: trackerId }
  const eventsByKey = new Map(stored.map(event => [eventRefKey(event), event]))
  const events = refs.flatMap(ref => {
    const event = eventsByKey.get(eventRefKey(ref))
    if (!event) return []
    const own = deliveries.filter(delivery => eventRefKey(delivery) === eventRefKey(ref))
    const views = own.map(delivery => deliveryView(delivery, owner, []))
    return [eventView(event, owner, views)]
  })
  return { events: buildEventPage({ ...page, events, total, path }), metrics }
}

const WINDOW_DAYS = 7
const RATE_DIGITS = 4

/** Today and the six UTC days before. The rate is null when no delivery was planned. */
async function acceptanceMetrics(
  database: Database,
  trackerId: string,
  at: Date,
): Promise<DashboardMetrics> {
  const since = subtractDays(at, WINDOW_DAYS - 1)
  const { planned, accepted } = await countAcceptance(database, trackerId, since)
  return {
    accepted,
    total_deliveries: planned,
    acceptance_rate: planned === 0 ? null : Number((accepted / planned).toFixed(RATE_DIGITS)),
    acceptance_rate_window: 'last_7_days',
  }
}

/** When `space` is null, the event of the secret key, else that of the publishable key. */
interface EventLookup {
  eventId: string
  space: EventSpace | null
  /** They know how long they accept an event. */
  platforms: PlatformRegistry
  at: Date
}

/** An event with everything that is stored about it. */
export interface LoadedEvent {
  event: StoredEvent
  parent: StoredEvent | null
  children: StoredEvent[]
  deliveries: StoredDelivery[]
  /** The requests that contained it. */
  attempts: StoredAttempt[]
  /** What the platform says about them later, if it does. */
  receipts: StoredReceipt[]
  /** Looked up when a page's withdrawal stopped a delivery. */
  pageWithdrawals: PageWithdrawal[]
  /** Deliveries of the same event in the other space. */
  matches: Match[]
  order: Order | null
  /** Of the purchase and the refunds of the order. */
  orderDeliveries: StoredDelivery[]
  /** Of the last request of each of them. */
  orderReceipts: StoredReceipt[]
}

/** Throws a 404 refusal when the tracker has no such event, even if another tracker has one. */
export async function loadEvent(
  database: Database,
  trackerId: string,
  { eventId, space }: Pick<EventLookup, 'eventId' | 'space'>,
): Promise<LoadedEvent> {
  if (eventId.includes('\0')) throw notFound()
  const spaces = space === null ? undefined : [space]
  const [event] = await findEventsById(database, trackerId, [eventId], spaces)
  if (!event) throw notFound()
  const otherSpace = isOfPage(event) ? 'secret' : 'publishable'
  const [deliveries, children, parents, matches] = await Promise.all([
    findDeliveries(database, trackerId, [event]),
    findChildEvents(database, trackerId, event),
    findParentEvents(database, trackerId, [event]),
    findMatches(database, { trackerId, space: otherSpace, events: [event] }),
  ])
  const [attempts, receipts, orders] = await Promise.all([
    findAttempts(database, trackerId, attemptIds(deliveries)),
    findReceipts(database, trackerId, attemptIds(deliveries)),
    findOrders(database, trackerId, { events: [event], parents }),
  ])
  const order = orders.get(event) ?? null
  const ofOrder = [order?.purchase ?? [], order?.refunds ?? []].flat()
  const orderDeliveries =
    ofOrder.length === 0 ? [] : await findDeliveries(database, trackerId, ofOrder)
  const lastAttempts = orderDeliveries.flatMap(({ attemptIds }) => attemptIds.slice(-1))
  const orderReceipts = await findReceipts(database, trackerId, lastAttempts)
  const isWithdrawn = deliveries.some(({ statusReason }) => statusReason === 'withdrawn_by_page')
  const visitorId = (isWithdrawn && event.payload?.visitorId?.trim()) || null
  // None where only identifiers of the event are withdrawn.
  const pageWithdrawals =
    visitorId === null ? [] : await findPageWithdrawals(database, { trackerId, visitorId })
  const parent = parents.get(event) ?? null
  const related = { parent, children, pageWithdrawals, matches, order }
  return { event, deliveries, attempts, receipts, ...related, orderDeliveries, orderReceipts }
}

/** getEvent: an event with its parent, its children and the outcomes of its deliveries. */
export async function readEvent(
  database: Database,
  { trackerId, workspaceId }: TrackerIdentity,
  { platforms, at, ...lookup }: EventLookup,
): Promise<EventRead> {
  const loaded = await loadEvent(database, trackerId, lookup)
  const { event, parent, children, deliveries, attempts, receipts, ...others } = loaded
  const owner = { workspaceId, signalTrackerId: String(workspaceId) }
  const views = deliveries.map(delivery => deliveryView(delivery, owner, attempts))
  const detail = {
    event: eventView(event, owner, views),
    lineage: {
      parent: parent ? lineageView(parent, owner) : null,
      children: children.map(child => lineageView(child, owner)),
    },
    order: orderView(event, {
      order: others.order,
      deliveries: others.orderDeliveries,
      receipts: others.orderReceipts,
      platforms,
    }),
    deliveries: deliveries.map((delivery, index) => ({
      ...(views[index] as Delivery),
      platform: delivery.platform,
      explanation: explainDelivery(delivery, event, {
        at,
        attempts,
        receipts,
        pageWithdrawals: others.pageWithdrawals,
        matches: others.matches,
        order: others.order,
        ...findRestating(delivery, platforms),
        windowEndsAt: findWindowEnd(delivery, event, platforms),
      }),
    })),
  }
  return { detail, space: toEventSpace(event) }
}

/** The query parameter `space`. Throws a 422 refusal for an unknown space. */
export function readSpace(query: unknown): EventSpace | null {
  return spaceValidator.validate(query).space ?? null
}

const spaceValidator = new Validator(EventSpaceQuery, {
  members: { space: { error: 'The space field must be "secret" or "publishable".' } },
})

interface EventRead {
  detail: EventDetail
  /** Null for an event that was stored before there were spaces. */
  space: EventSpace | null
}

/** Null for an event that was stored before there were spaces. */
export function toEventSpace(event: Pick<StoredEvent, 'space'>): EventSpace | null {
  if (event.space === BOTH_SPACES) return null
  return isOfPage(event) ? 'publishable' : 'secret'
}

/** When the platform stops accepting the event; null when this process does not know it. */
export function findWindowEnd(
  { platform }: StoredDelivery,
  event: StoredEvent,
  platforms: PlatformRegistry,
): Date | null {
  const found = platform === null ? null : platforms.find(platform)
  return found && windowEnd(event, found)
}

/** Whether the platform can give a purchase a new value; empty: this process does not know. */
export function findRestating(
  { platform }: StoredDelivery,
  platforms: PlatformRegistry,
): { restatesValues?: boolean } {
  const found = platform === null ? null : platforms.find(platform)
  return found ? { restatesValues: found.restatesValues !== undefined } : {}
}

function attemptIds(deliveries: readonly StoredDelivery[]): string[] {
  return deliveries.flatMap(({ attemptIds }) => attemptIds.slice(-ATTEMPTS_SHOWN_MAX))
}

function notFound(): Refusal {
  return Refusal.notFound('This tracker has no such event.')
}

/** A UTC day, or a time with an offset. */
const TIME_PATTERN = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

export function readTime(
  errors: FieldErrorList,
  field: string,
  text: string | undefined,
): Date | null {
  if (text === undefined) return null
  const time = TIME_PATTERN.test(text) ? new Date(text) : new Date(Number.NaN)
  if (!Number.isNaN(time.getTime())) return time
  errors.add(field, `The ${field} field must be a time such as 2026-11-21T08:00:00Z.`)
  return null
}
