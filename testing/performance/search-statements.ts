import type { Database } from '../../service/runtime/db/database.ts'
import { countReplayable, readReplayProgress } from '../../service/signals/delivery/replay-store.ts'
import {
  searchChildRefs,
  searchDeliveries,
  searchEventRefs,
} from '../../service/signals/event-reads/search-store.ts'
import { searchOrderRefs } from '../../service/signals/events/page-match-store.ts'
import {
  CHILD_EVERY,
  generatedEventId,
  generatedEventTime,
  LARGE_DESTINATION,
  LARGE_STORE_DAY,
  ROWS_PER_STATEMENT,
  LARGE_TRACKER as TRACKER,
} from './large-store.ts'

const AT = new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`)
const FIRST_PAGE = { trackerId: TRACKER, from: null, to: null, after: null, limit: 51 }
const AFTER = { createdAt: generatedEventTime(5_000), eventId: '', space: 0, deliveryId: 5_000 }
const LATER_PAGE = { ...FIRST_PAGE, after: AFTER }
const ANY = { eventName: null, orderId: null }
const FAILED = ['failed:auth', 'failed:permanent', 'failed:unknown']

/** Searches of the dashboard, and the preview and progress of its replays. */
export const SEARCH_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'search the first page': database => searchEventRefs(database, FIRST_PAGE, ANY),
  'search a later page': database => searchEventRefs(database, LATER_PAGE, ANY),
  'read new events of a live view': database =>
    searchEventRefs(database, { ...FIRST_PAGE, from: generatedEventTime(4_000), limit: 500 }, ANY),
  'search by name': database =>
    searchEventRefs(database, FIRST_PAGE, { ...ANY, eventName: 'Purchase' }),
  'search an order that no event has': database =>
    searchEventRefs(database, FIRST_PAGE, { ...ANY, orderId: 'none' }),
  'search children': database =>
    searchChildRefs(database, FIRST_PAGE, {
      ...ANY,
      parentEventId: generatedEventId(CHILD_EVERY * 2 + 2),
      statuses: ['accepted'],
    }),
  'search what waits': database =>
    searchDeliveries(database, FIRST_PAGE, { ...ANY, statuses: ['queued'] }),
  'search failures': database =>
    searchDeliveries(database, LATER_PAGE, { ...ANY, statuses: FAILED }),
  'search failures by name': database =>
    searchDeliveries(database, FIRST_PAGE, { ...ANY, eventName: 'Purchase', statuses: FAILED }),
  'search what was accepted': database =>
    searchDeliveries(database, FIRST_PAGE, { ...ANY, statuses: ['accepted'] }),
  'search a status that none has': database =>
    searchDeliveries(database, FIRST_PAGE, { ...ANY, statuses: ['skipped:consent'] }),
  'search what went to a destination': database =>
    searchDeliveries(database, LATER_PAGE, {
      ...ANY,
      statuses: null,
      destinationId: LARGE_DESTINATION,
      isTest: false,
      happenedFrom: new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`),
    }),
  'search a trace that none has': database =>
    searchDeliveries(database, FIRST_PAGE, { ...ANY, statuses: null, traceId: 'none' }),
  'search an order by its keys': database =>
    searchOrderRefs(database, { trackerId: TRACKER, orderId: 'none', limit: 50 }),
  'preview a replay': database =>
    countReplayable(database, {
      trackerId: TRACKER,
      deliveryIds: null,
      eventName: null,
      limit: ROWS_PER_STATEMENT,
      at: AT,
      windowEndsAfter: AT,
    }),
  'read the progress of a replay': database => readReplayProgress(database, TRACKER, AT),
}
