import { findPurchasesByCampaign } from '../../service/agents/account/campaign-store.ts'
import { findLastEvents } from '../../service/agents/account/destination-signal-store.ts'
import {
  sumConversions,
  sumPurchasesByDay,
} from '../../service/agents/account/performance-store.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { LARGE_STORE_DAY, LARGE_TRACKER } from './large-store.ts'

/**
 * What get_performance reads of events. A period ends now, so these read the newest events, and the
 * same number in a store of any size.
 */
export const PERFORMANCE_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'sum conversions by name': async database =>
    sumConversions(database, {
      trackerIds: [LARGE_TRACKER],
      since: await findPeriodStart(database),
      until: null,
      namesMax: 100,
    }),
  'sum purchases by day': async database =>
    sumPurchasesByDay(database, [LARGE_TRACKER], await findPeriodStart(database)),
  'find purchases by campaign': async database =>
    findPurchasesByCampaign(database, [LARGE_TRACKER], {
      from: await findPeriodStart(database),
      until: new Date('9999-01-01T00:00:00Z'),
    }),
}

/** The large store has ten events in a second. */
const PERIOD_SECONDS = 100

async function findPeriodStart(database: Database): Promise<Date> {
  const newest = (await findLastEvents(database, [LARGE_TRACKER])).get(LARGE_TRACKER)
  const end = newest ?? new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`)
  return new Date(end.getTime() - PERIOD_SECONDS * 1_000)
}
