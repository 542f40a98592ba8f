import type { Database } from '../../service/runtime/db/database.ts'
import { findSharesPageIds } from '../../service/signals/access/tracker-store.ts'
import { storeToldValues } from '../../service/signals/delivery/delivery-store.ts'
import {
  findMatches,
  releaseHeld,
  storeIdPrefixes,
} from '../../service/signals/delivery/page-event-store.ts'
import type { EventSpace } from '../../service/signals/events/event-record.ts'
import { findEventsById } from '../../service/signals/events/event-store.ts'
import { findOrders } from '../../service/signals/events/order-store.ts'
import { findSecretNames } from '../../service/signals/events/page-match-store.ts'
import {
  LARGE_DESTINATION as DESTINATION,
  generatedEventIds,
  generatedEventTime,
  LARGE_STORE_DAY,
  numbers,
  LARGE_TRACKER as TRACKER,
} from './large-store.ts'

const AT = new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`)

/** The statements by which events of pages and of the secret find each other. */
export const PAGE_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'find the names that a secret sends': database =>
    findSecretNames(database, {
      trackerId: TRACKER,
      names: ['Purchase', 'Name 10', 'Lead'],
      at: AT,
    }),
  'find events of the secret beside those of pages': database => findMatchesOf(database, 'secret'),
  'find events of pages beside those of the secret': database =>
    findMatchesOf(database, 'publishable'),
  'read whether pages share IDs': database => findSharesPageIds(database, TRACKER),
  'release held deliveries': database =>
    releaseHeld(database, { trackerId: TRACKER, held: deliveryKeys(), at: AT }),
  'find the purchases and refunds of orders': async database => {
    const events = await findEventsById(database, TRACKER, generatedEventIds())
    const refunds = events.flatMap((event, index) => [
      { ...event, eventName: 'Refund', orderId: event.eventId, parentEventId: null },
      { ...event, eventName: 'Refund', orderId: null, parentEventId: `parent-${index}` },
    ])
    return findOrders(database, TRACKER, { events: refunds, parents: new Map() })
  },
  'store the values that refunds tell': database =>
    storeToldValues(database, {
      trackerId: TRACKER,
      leaseEndsAt: AT,
      told: deliveryKeys().map(key => ({ ...key, value: '1.00' })),
    }),
  'store prefixed deliveries': database =>
    storeIdPrefixes(database, {
      trackerId: TRACKER,
      leaseEndsAt: AT,
      prefixed: deliveryKeys(),
    }),
}

function findMatchesOf(database: Database, space: EventSpace) {
  const events = generatedEventIds().map(eventId => ({
    eventId,
    eventName: 'Purchase',
    orderId: eventId,
  }))
  return findMatches(database, { trackerId: TRACKER, destinationId: DESTINATION, space, events })
}

function deliveryKeys() {
  return numbers().map(number => ({ createdAt: generatedEventTime(number), deliveryId: number }))
}
