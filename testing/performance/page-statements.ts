import type { Database } from '../../service/runtime/db/database.ts'
import {
  findMatches,
  readSharesPageIds,
  releaseHeld,
  storeIdPrefixes,
} from '../../service/signals/delivery/page-event-store.ts'
import type { EventSpace } from '../../service/signals/events/event-record.ts'
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
  'read whether pages share IDs': database => readSharesPageIds(database, TRACKER),
  'release held deliveries': database =>
    releaseHeld(database, { trackerId: TRACKER, held: deliveryKeys(), at: AT }),
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
