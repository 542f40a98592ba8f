import type { Database } from '../db/database.ts'
import { eventRefKey } from '../events/event-columns.ts'
import { type EventSpace, SPACE_NUMBERS } from '../events/event-record.ts'
import { findEventsById, type StoredEvent } from '../events/store.ts'
import type { OriginalEvent } from '../platforms/platform.ts'
import { clampEventTime } from './outbound-event.ts'

type OriginalEventLookup = (event: StoredEvent) => OriginalEvent | null

/**
 * Finds the events that these events name as their parents, so that a platform can join a delayed
 * event to the first one. A parent is looked up in the event's own space first, as reads do. One
 * whose consent did not allow its delivery, or whose person was erased, is not disclosed by its
 * child.
 */
export async function findOriginalEvents(
  database: Database,
  trackerId: string,
  events: readonly StoredEvent[],
): Promise<OriginalEventLookup> {
  const children = events.filter(({ parentEventId }) => parentEventId !== null)
  if (children.length === 0) return () => null
  const originals = new Map<string, OriginalEvent | null>()
  for (const spaces of SEARCH_ORDERS) {
    const own = children.filter(({ space }) => searchOrder(space) === spaces)
    const ids = [...new Set(own.map(({ parentEventId }) => parentEventId as string))]
    if (ids.length === 0) continue
    const parents = await findEventsById(database, trackerId, ids, spaces)
    const byId = new Map(parents.map(parent => [parent.eventId, parent]))
    for (const child of own) {
      const parent = byId.get(child.parentEventId as string)
      originals.set(eventRefKey(child), parent ? toOriginalEvent(parent) : null)
    }
  }
  return event => originals.get(eventRefKey(event)) ?? null
}

const SECRET_FIRST: readonly EventSpace[] = ['secret', 'publishable']
const PUBLISHABLE_FIRST: readonly EventSpace[] = ['publishable', 'secret']
const SEARCH_ORDERS = [SECRET_FIRST, PUBLISHABLE_FIRST]

function searchOrder(space: number): readonly EventSpace[] {
  return space === SPACE_NUMBERS.publishable ? PUBLISHABLE_FIRST : SECRET_FIRST
}

function toOriginalEvent(parent: StoredEvent): OriginalEvent | null {
  if (parent.measurementClass !== 'advertising' || parent.isErased) return null
  const { eventId, eventName, orderId } = parent
  return { eventId, eventName, orderId, eventTime: clampEventTime(parent) }
}
