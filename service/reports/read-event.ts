import type { Delivery } from '@signalbox/contract/deliveries.ts'
import type { EventDetail } from '@signalbox/contract/events.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { findAttempts } from '../delivery/attempt-store.ts'
import { findDeliveries, type StoredDelivery } from '../delivery/read-store.ts'
import { Refusal } from '../http/refusal.ts'
import { findChildren, findEvents } from '../ledger/store.ts'
import { explainDelivery } from './delivery-explanation.ts'
import { ATTEMPTS_SHOWN_MAX, deliveryView } from './delivery-view.ts'
import { eventView, lineageView } from './event-view.ts'

/**
 * getEvent: one event with its parent, its children and what became of its deliveries. Throws a
 * 404 refusal when the tracker has no such event, whoever else may have it.
 */
export async function readEvent(
  database: Database,
  { trackerId, workspaceId }: TrackerIdentity,
  eventId: string,
): Promise<EventDetail> {
  if (eventId.includes('\0')) throw notFound()
  const [[event], deliveries, children] = await Promise.all([
    findEvents(database, trackerId, [eventId]),
    findDeliveries(database, trackerId, [eventId]),
    findChildren(database, trackerId, eventId),
  ])
  if (!event) throw notFound()
  const parentId = event.parentEventId
  const [parent] = parentId === null ? [] : await findEvents(database, trackerId, [parentId])

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

function attemptIds(deliveries: readonly StoredDelivery[]): string[] {
  return deliveries.flatMap(({ attemptIds }) => attemptIds.slice(-ATTEMPTS_SHOWN_MAX))
}

function notFound(): Refusal {
  return Refusal.notFound('This tracker has no such event.')
}
