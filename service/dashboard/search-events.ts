import { storedText } from '@signalbox/contract/closed-set.ts'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import {
  EventSearch,
  type EventSearchPage,
  type EventSummary,
  STATUS_GROUPS,
  type StatusGroup,
} from '@signalbox/contract/session/events.ts'
import type { Database } from '../runtime/db/database.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { addTextError, FieldErrorList, Validator } from '../runtime/http/validator.ts'
import { findDeliveries, type StoredDelivery } from '../signals/delivery/delivery-store.ts'
import { readTime, toEventSpace } from '../signals/event-reads/read-events.ts'
import {
  type FoundEvent,
  type SearchPosition,
  type SearchRange,
  searchChildRefs,
  searchDeliveries,
  searchEventRefs,
} from '../signals/event-reads/search-store.ts'
import { type EventRef, eventRefKey } from '../signals/events/event-columns.ts'
import { type EventSpace, SPACE_NUMBERS } from '../signals/events/event-record.ts'
import {
  ALL_SPACES,
  findEventsById,
  findEventsByRef,
  type StoredEvent,
} from '../signals/events/event-store.ts'
import { searchOrderRefs } from '../signals/events/page-match-store.ts'
import type { ErasureKeyProvider } from '../signals/events/person-identifiers.ts'
import { toStoredOrderId } from '../signals/ingestion/accept-event.ts'

const EVENTS_PER_PAGE = 50

const searchValidator = new Validator(EventSearch, {
  textMembers: ['event_id', 'event_name', 'order_id', 'parent_event_id', 'search', 'reason'],
})

interface SearchContext {
  database: Database
  /** Called for an order ID that holds an identifier. */
  erasureKey: ErasureKeyProvider
}

/**
 * One page of a tracker's events that match the query parameters. Throws a 422 refusal that names
 * every invalid parameter.
 */
export async function searchEvents(
  { database, erasureKey }: SearchContext,
  trackerId: string,
  query: unknown,
): Promise<EventSearchPage> {
  const search = searchValidator.validate(query)
  const range = { trackerId, ...readRange(search), limit: EVENTS_PER_PAGE + 1 }
  if (search.event_id !== undefined) {
    const events = await findInBothSpaces(database, trackerId, search.event_id)
    return { events: await summarize(database, trackerId, events), ...LAST_PAGE }
  }
  if (search.search !== undefined) {
    return findByAnyId({ database, erasureKey }, trackerId, search.search)
  }
  if (search.order_id !== undefined) {
    const given = { trackerId, orderId: search.order_id }
    search.order_id = await toStoredOrderId(erasureKey, given)
  }
  const found = await findMatches(database, range, search)
  const { refs, last, searchedUntil } = cutPage(found, range.after)
  const summaries = await readEventSummaries(database, trackerId, refs)
  return {
    events: refs.flatMap(ref => summaries.get(eventRefKey(ref)) ?? []),
    next_cursor: last && formatCursor(last),
    searched_until: searchedUntil?.toISOString() ?? null,
  }
}

const LAST_PAGE = { next_cursor: null, searched_until: null }

async function findInBothSpaces(
  database: Database,
  trackerId: string,
  eventId: string,
): Promise<StoredEvent[]> {
  const found = await Promise.all(
    ALL_SPACES.map((space: EventSpace) => findEventsById(database, trackerId, [eventId], [space])),
  )
  // An event from before there were spaces is found in each.
  return [...new Map(found.flat().map(event => [eventRefKey(event), event])).values()]
}

/**
 * The events that a text names: by their ID, parent and order by indexes, at any age; by the order
 * of other events than purchases and by a trace ID among the newest ten thousand.
 */
async function findByAnyId(
  { database, erasureKey }: SearchContext,
  trackerId: string,
  text: string,
): Promise<EventSearchPage> {
  const range = { trackerId, from: null, to: null, after: null, limit: EVENTS_PER_PAGE }
  const orderId = await toStoredOrderId(erasureKey, { trackerId, orderId: text })
  const any = { eventName: null, orderId: null }
  const [own, ofOrder, ...others] = await Promise.all([
    findInBothSpaces(database, trackerId, text),
    searchOrderRefs(database, { trackerId, orderId, limit: EVENTS_PER_PAGE }),
    searchChildRefs(database, range, { ...any, parentEventId: text, statuses: null }),
    searchEventRefs(database, range, { ...any, orderId }),
    searchDeliveries(database, range, { ...any, statuses: null, traceId: text }),
  ])
  const found = others.flat()
  const matches: EventRef[] = [...ofOrder, ...found.filter(row => row.isMatch)]
  const refs = new Map(matches.map(ref => [eventRefKey(ref), ref]))
  for (const event of own) refs.delete(eventRefKey(event))
  const newest = [...refs.values()].toSorted(
    (a, b) => b.createdAt.getTime() - a.createdAt.getTime(),
  )
  const shown = newest.slice(0, EVENTS_PER_PAGE)
  const summaries = await readEventSummaries(database, trackerId, shown)
  const stops = found.filter(row => !row.isMatch).map(row => row.createdAt.getTime())
  return {
    events: [
      ...(await summarize(database, trackerId, own)),
      ...shown.flatMap(ref => summaries.get(eventRefKey(ref)) ?? []),
    ],
    next_cursor: null,
    searched_until: stops.length > 0 ? new Date(Math.max(...stops)).toISOString() : null,
  }
}

/** By the narrowest index: the parent, then the delivery, then the time of receipt. */
function findMatches(
  database: Database,
  range: SearchRange,
  search: EventSearch,
): Promise<FoundEvent[]> {
  const { event_name, order_id, parent_event_id, status, value_min, space } = search
  const filter = {
    eventName: event_name ?? null,
    orderId: order_id ?? null,
    valueMin: value_min ?? null,
    space: space === undefined ? null : SPACE_NUMBERS[space],
    happenedFrom: toTime(search.happened_from),
    happenedTo: toTime(search.happened_to),
    destinationId: search.destination_id ?? null,
    reason: search.reason ?? null,
    isTest: search.test === undefined ? null : search.test === 'yes',
    statuses: status === undefined ? null : statusesOf(status),
  }
  const { statuses, destinationId, reason, isTest } = filter
  if (parent_event_id !== undefined) {
    return searchChildRefs(database, range, { ...filter, parentEventId: parent_event_id })
  }
  const isOfDelivery = [statuses, destinationId, reason, isTest].some(value => value !== null)
  if (!isOfDelivery) return searchEventRefs(database, range, filter)
  return searchDeliveries(database, range, filter)
}

function toTime(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text)
}

function statusesOf(status: NonNullable<EventSearch['status']>): readonly DeliveryStatus[] {
  return isStatusGroup(status) ? STATUS_GROUPS[status] : [status]
}

function isStatusGroup(status: NonNullable<EventSearch['status']>): status is StatusGroup {
  return Object.hasOwn(STATUS_GROUPS, status)
}

interface CutPage {
  refs: EventRef[]
  /** Where the next page begins; null after the last event. */
  last: SearchPosition | null
  searchedUntil: Date | null
}

/**
 * One row more than a page was read, or fewer rows and the one at which the search stopped. An
 * event with two matching deliveries is shown once, on the page of the first.
 */
function cutPage(found: readonly FoundEvent[], after: SearchPosition | null): CutPage {
  const rows = found.slice(0, EVENTS_PER_PAGE)
  const matches = rows.filter(({ isMatch }) => isMatch)
  const refs = new Map(matches.map(row => [eventRefKey(row), row]))
  if (after) refs.delete(eventRefKey(after))
  const hasStopped = rows.at(-1)?.isMatch === false
  const hasMore = hasStopped || found.length > rows.length
  const last = hasMore ? (rows.at(-1) as FoundEvent) : null
  return {
    refs: [...refs.values()],
    last,
    searchedUntil: hasStopped ? (last as FoundEvent).createdAt : null,
  }
}

/** By the keys of the events. An event that was deleted meanwhile is missing. */
export async function readEventSummaries(
  database: Database,
  trackerId: string,
  refs: readonly EventRef[],
): Promise<Map<string, EventSummary>> {
  const events = await findEventsByRef(database, trackerId, refs)
  const summaries = await summarize(database, trackerId, events)
  return new Map(
    summaries.map((summary, index) => [eventRefKey(events[index] as StoredEvent), summary]),
  )
}

async function summarize(
  database: Database,
  trackerId: string,
  events: readonly StoredEvent[],
): Promise<EventSummary[]> {
  const deliveries = await findDeliveries(database, trackerId, events)
  const byEvent = Map.groupBy(deliveries, eventRefKey)
  return events.map(event => ({
    ...eventSummary(event),
    deliveries: (byEvent.get(eventRefKey(event)) ?? []).map(toEventOutcome),
  }))
}

/** The members of an event that every view of it has. None identifies a person. */
export function eventSummary(event: StoredEvent) {
  return {
    id: event.eventId,
    space: toEventSpace(event),
    event_name: event.eventName,
    event_time: event.eventTime.toISOString(),
    created_at: event.createdAt.toISOString(),
    event_class: storedText(event.eventClass),
    action_source: event.actionSource,
    order_id: event.orderId,
    parent_event_id: event.parentEventId,
    value_amount: event.valueAmount,
    value_currency: event.valueCurrency,
  }
}

export function toEventOutcome(delivery: StoredDelivery) {
  return {
    delivery_id: delivery.id,
    destination_id: delivery.destinationId,
    status: storedText(delivery.status),
    is_test: delivery.isTest,
    attempt_count: delivery.attemptCount,
  }
}

/** A clock may be so much ahead: nothing happened later after its receipt. */
const AHEAD_MILLISECONDS = 300_000

function readRange({
  from,
  to,
  happened_from,
  happened_to,
  cursor,
}: EventSearch): Omit<SearchRange, 'trackerId' | 'limit'> {
  const errors = new FieldErrorList()
  const happened = readTime(errors, 'happened_from', happened_from)
  readTime(errors, 'happened_to', happened_to)
  const first = readTime(errors, 'from', from)
  const earliest = happened && new Date(happened.getTime() - AHEAD_MILLISECONDS)
  const range = {
    from: first && earliest && earliest > first ? earliest : (first ?? earliest),
    to: readTime(errors, 'to', to),
    after: cursor === undefined ? null : parseCursor(cursor),
  }
  if (cursor !== undefined && range.after === null) {
    errors.add('cursor', 'The cursor field must be the next_cursor of a page before.')
  }
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return range
}

function formatCursor({ createdAt, eventId, space, deliveryId }: SearchPosition): string {
  const text = JSON.stringify([createdAt.toISOString(), eventId, space, deliveryId])
  return Buffer.from(text).toString('base64url')
}

function parseCursor(cursor: string): SearchPosition | null {
  try {
    const [time, eventId, space, deliveryId] = JSON.parse(
      Buffer.from(cursor, 'base64url').toString(),
    )
    const errors = new FieldErrorList()
    const createdAt = readTime(errors, 'cursor', String(time))
    addTextError(errors, 'cursor', eventId)
    const isComplete =
      typeof eventId === 'string' && [0, 1, 2].includes(space) && Number.isSafeInteger(deliveryId)
    return createdAt && isComplete && errors.isEmpty
      ? { createdAt, eventId, space, deliveryId }
      : null
  } catch {
    return null
  }
}
