import type { EventSummary } from '@signalbox/contract/session/events.ts'
import type { LiveMessage } from '@signalbox/contract/session/live.ts'
import type { EventFilters } from './event-filters.ts'

/** Older rows leave the live list; the list without Live has them. */
const ROWS_MAX = 200

export interface LiveRows {
  /** What the list shows, newest first. */
  shown: readonly EventSummary[]
  /** New events that would move what the person reads, newest first. */
  waiting: readonly EventSummary[]
  /** Keys of the rows that the last message added to the list. */
  added: ReadonlySet<string>
  hasLeftOut: boolean
}

export const NO_ROWS: LiveRows = {
  shown: [],
  waiting: [],
  added: new Set(),
  hasLeftOut: false,
}

interface Arrival {
  message: LiveMessage
  filters: EventFilters
  /** New rows wait. */
  isHeld: boolean
}

/**
 * Takes a message of the stream into the rows. An event that is known already is not added again:
 * after a reconnection the stream repeats some. Changed events replace their rows.
 */
export function applyMessage(rows: LiveRows, { message, filters, isHeld }: Arrival): LiveRows {
  const known = new Set([...rows.shown, ...rows.waiting].map(eventKey))
  const news = message.events.filter(
    event => !known.has(eventKey(event)) && matchesFilters(event, filters),
  )
  const latest = new Map([...message.events, ...message.changed].map(row => [eventKey(row), row]))
  const update = (row: EventSummary) => latest.get(eventKey(row)) ?? row
  const shown = rows.shown.map(update)
  const waiting = rows.waiting.map(update)
  return {
    shown: isHeld ? shown : merge(shown, news),
    waiting: isHeld ? merge(waiting, news) : waiting,
    added: isHeld || rows.shown.length === 0 ? new Set() : new Set(news.map(eventKey)),
    hasLeftOut: rows.hasLeftOut || message.has_left_out,
  }
}

/** Moves the waiting events to the list. */
export function showWaiting({ shown, waiting, hasLeftOut }: LiveRows): LiveRows {
  return {
    shown: merge(shown, waiting),
    waiting: [],
    added: new Set(waiting.map(eventKey)),
    hasLeftOut,
  }
}

/** An ID may be there twice: from the secret and from a page. */
export function eventKey({ space, id }: Pick<EventSummary, 'space' | 'id'>): string {
  return `${space} ${id}`
}

/** An event that was committed late goes to its place, not to the top. */
function merge(
  rows: readonly EventSummary[],
  news: readonly EventSummary[],
): readonly EventSummary[] {
  if (news.length === 0) return rows
  return [...news.toReversed(), ...rows]
    .sort((one, other) => compare(other.created_at, one.created_at))
    .slice(0, ROWS_MAX)
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

/** As the search of the service does, for one event. */
export function matchesFilters(event: EventSummary, filters: EventFilters): boolean {
  const { status, name, order, parent, from, to, space, value, event_from, event_to } = filters
  const { destination, test } = filters
  const receivedAt = Date.parse(event.created_at)
  const happenedAt = Date.parse(event.event_time)
  const isOfDelivery = Boolean(status || destination || test)
  return (
    (!name || event.event_name === name) &&
    (!order || event.order_id === order) &&
    (!parent || event.parent_event_id === parent) &&
    (!from || receivedAt >= Date.parse(from)) &&
    (!to || receivedAt < Date.parse(to)) &&
    (!event_from || happenedAt >= Date.parse(event_from)) &&
    (!event_to || happenedAt < Date.parse(event_to)) &&
    (!space || event.space === null || event.space === space) &&
    (!value || Number(event.value_amount ?? -1) >= Number(value)) &&
    (!isOfDelivery || event.deliveries.some(delivery => matchesDelivery(delivery, filters)))
  )
}

function matchesDelivery(
  { status, destination_id, is_test }: EventSummary['deliveries'][number],
  filters: EventFilters,
): boolean {
  return (
    (!filters.status || matchesStatus(status, filters.status)) &&
    (!filters.destination || destination_id === filters.destination) &&
    (!filters.test || is_test === (filters.test === 'yes'))
  )
}

const GROUPS: Record<string, RegExp> = {
  waiting: /^(queued|sent|retrying)$/,
  failed: /^failed:/,
  held: /^(skipped:.*|expired)$/,
  held_back: /^(skipped:consent|skipped:no_destination|expired)$/,
  skipped: /^skipped:(not_selected|duplicate)$/,
}

function matchesStatus(status: string, filter: string): boolean {
  return GROUPS[filter]?.test(status) ?? status === filter
}
