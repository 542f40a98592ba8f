import { hash, randomUUID } from 'node:crypto'
import type { Database } from '../../service/runtime/db/database.ts'
import { countWaitingOfDay } from '../../service/signals/delivery/backlog-store.ts'
import { hasAcceptedDelivery } from '../../service/signals/delivery/delivery-store.ts'
import {
  findLastAttempts,
  readQueueDepths,
} from '../../service/signals/delivery/destination-health-store.ts'
import { findAcceptedDeliveries } from '../../service/signals/delivery/failed-receipt-store.ts'
import { claimDueReceipts, findReceipts } from '../../service/signals/delivery/receipt-store.ts'
import { hasAcceptedTestPurchase } from '../../service/signals/delivery/sent-counts-store.ts'
import { findLastReceipt, listLastEvents } from '../../service/signals/events/list-store.ts'
import { listOpenAlerts } from '../../service/signals/reports/alert-store.ts'
import {
  LARGE_DESTINATION as DESTINATION,
  LARGE_STORE_DAY,
  LARGE_TRACKER as TRACKER,
} from './large-store.ts'

const AFTERWARDS = new Date(`${LARGE_STORE_DAY}T23:59:59.999Z`)
const FIRST_RECEIPT = { trackerId: TRACKER, id: hash('md5', '1') }

const DESTINATIONS = { trackerId: TRACKER, destinationIds: [DESTINATION] }

/** What pages of the dashboard and reports read of destinations. */
export const DESTINATION_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'read the depth of queues': database => readQueueDepths(database, DESTINATIONS),
  'find the last attempts': database => findLastAttempts(database, DESTINATIONS),
  'claim due receipts': database =>
    claimDueReceipts(database, { at: AFTERWARDS, until: AFTERWARDS, limit: 20 }),
  'read receipts of requests': database =>
    findReceipts(
      database,
      TRACKER,
      Array.from({ length: 20 }, () => randomUUID()),
    ),
  'find deliveries of a receipt': async database => {
    for await (const chunk of findAcceptedDeliveries(database, FIRST_RECEIPT)) {
      if (chunk.length > 1) throw new Error('a generated receipt has one delivery')
    }
  },
  'list open alerts': database => listOpenAlerts(database, TRACKER),
  'find the last receipt': database => findLastReceipt(database, TRACKER),
  'list the last events': database =>
    listLastEvents(database, {
      trackerId: TRACKER,
      from: new Date(Date.parse(LARGE_STORE_DAY) - 90 * 86_400_000),
      until: new Date(`${LARGE_STORE_DAY}T23:59:59.999Z`),
      limit: 1_000,
    }),
  'find an accepted delivery': database => hasAcceptedDelivery(database, TRACKER),
  'find an accepted test purchase': database =>
    hasAcceptedTestPurchase(database, { ...DESTINATIONS, today: LARGE_STORE_DAY }),
  'count what waits of a day': database =>
    countWaitingOfDay(database, {
      trackerId: TRACKER,
      destinationId: DESTINATION,
      from: new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`),
      until: new Date(`${LARGE_STORE_DAY}T23:59:59.999Z`),
    }),
}
