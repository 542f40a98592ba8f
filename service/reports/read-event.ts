import type { Delivery } from '@signalbox/contract/deliveries.ts'
import type { EventDetail } from '@signalbox/contract/events.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { findAttempts } from '../delivery/attempt-store.ts'
import { findDeliveries, type StoredDelivery } from '../delivery/read-store.ts'
import { Refusal } from '../http/refusal.ts'
import { type EventSpace, SPACE_NUMBERS } from '../ledger/event-space.ts'
import { findChildren, findEvents, type StoredEvent } from '../ledger/store.ts'
import { explainDelivery } from './delivery-explanation.ts'
import { ATTEMPTS_SHOWN_MAX, deliveryView } from './delivery-view.ts'
import { eventView, lineageView } from './event-view.ts'

/** `space` null: the secret's event, and where there is none the page's. */
export interface AskedEvent {
  eventId: string
  space: EventSpace | null
}

/**
 * getEvent: one event with its parent, its children and the outcomes of its deliveries. Throws a
 * 404 refusal when the tracker has no such event, even if another tracker has it.
 */
export async function readEvent(
  database: Database,
  { trackerId, workspaceId }: TrackerIdentity,
  { eventId, space }: AskedEvent,
): Promise<EventDetail> {
  if (eventId.includes('\0')) throw notFound()
  const spaces = space === null ? undefined : [space]
  const [event] = await findEvents(database, trackerId, [eventId], spaces)
  if (!event) throw notFound()
  const [deliveries, children, parent] = await Promise.all([
    findDeliveries(database, trackerId, [event]),
    findChildren(database, trackerId, event),
    findParent(database, trackerId, event),
  ])

  const owner = { workspaceId, signalTrackerId: String(workspaceId) }
  const attempts = await findAttempts(database, trackerId, attemptIds(deliveries))
  const views = deliveries.map(delivery => deliveryView(delivery, owner, attempts))
  return {
    event: eventView(event, owner, views),
    lineage: {
      parent: parent ? lineageView(parent, owner) : null,
      children: children.map(child => lineageView(child, owner)),
    },
    deliveries: deliveries.map((delivery, index) => ({
      ...(views[index] as Delivery),
      explanation: explainDelivery(delivery, event),
    })),
  }
}

/** An event may name a parent of its own space, and one of the other where that has none. */
async function findParent(
  database: Database,
  trackerId: string,
  { parentEventId, space }: StoredEvent,
): Promise<StoredEvent | null> {
  if (parentEventId === null) return null
  const spaces: EventSpace[] = ['secret', 'publishable']
  if (space === SPACE_NUMBERS.publishable) spaces.reverse()
  const [parent] = await findEvents(database, trackerId, [parentEventId], spaces)
  return parent ?? null
}

function attemptIds(deliveries: readonly StoredDelivery[]): string[] {
  return deliveries.flatMap(({ attemptIds }) => attemptIds.slice(-ATTEMPTS_SHOWN_MAX))
}

function notFound(): Refusal {
  return Refusal.notFound('This tracker has no such event.')
}
