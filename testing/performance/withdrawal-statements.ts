import type { Database } from '../../service/runtime/db/database.ts'
import { requeueStopped } from '../../service/signals/delivery/lift-store.ts'
import { skipWaitingOfPerson } from '../../service/signals/delivery/skip-store.ts'
import {
  addPageWithdrawalKeys,
  findPageWithdrawals,
  findPageWithdrawalsById,
  liftPageWithdrawals,
  listPageWithdrawals,
  storePageWithdrawal,
} from '../../service/signals/events/page-withdrawal-store.ts'
import {
  addWithdrawalKeys,
  findWithdrawals,
} from '../../service/signals/events/withdrawal-store.ts'
import {
  generatedEventTime,
  LARGE_STORE_DAY,
  numbers,
  LARGE_TRACKER as TRACKER,
} from './large-store.ts'

const STATEMENT_TIME = new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`)
const DIGEST = 'e'.repeat(64)
const WITHDRAWAL_ID = '00000000-0000-7000-8000-000000000001'

/** The statements of withdrawals of consent. */
export const WITHDRAWAL_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'look up withdrawals': database =>
    findWithdrawals(
      database,
      numbers().map(number => ({ trackerId: TRACKER, visitorId: `gone-visitor-${number}` })),
    ),
  'add keys to withdrawals': database =>
    addWithdrawalKeys(
      database,
      numbers().map(number => ({
        trackerId: TRACKER,
        visitorId: `added-visitor-${number}`,
        createdAt: STATEMENT_TIME,
      })),
    ),
  'stop what waits of a visitor': database =>
    skipWaitingOfPerson(database, {
      trackerId: TRACKER,
      visitorId: 'visitor-22',
      digests: [DIGEST],
      freeTextDigests: [DIGEST],
      at: STATEMENT_TIME,
      reason: 'consent_withdrawn',
      isOfPagesOnly: false,
    }),
  "store a page's withdrawal": database =>
    storePageWithdrawal(database, {
      trackerId: TRACKER,
      visitorId: 'page-visitor',
      platform: 'meta',
      id: WITHDRAWAL_ID,
      eventId: 'withdrawal',
      origin: null,
      reachesSecret: true,
      identifiers: 2,
      withdrawnAt: STATEMENT_TIME,
      keys: ['page-visitor', 'external_id:1'],
    }),
  "add keys to a page's withdrawal": database =>
    addPageWithdrawalKeys(database, {
      trackerId: TRACKER,
      id: WITHDRAWAL_ID,
      withdrawnAt: STATEMENT_TIME,
      keys: numbers(20).map(number => `key-${number}`),
    }),
  "find a visitor's withdrawals by pages": database =>
    findPageWithdrawals(database, { trackerId: TRACKER, visitorId: 'page-visitor' }),
  "find pages' withdrawals by id": database =>
    findPageWithdrawalsById(database, TRACKER, [WITHDRAWAL_ID]),
  "list pages' withdrawals": database =>
    listPageWithdrawals(database, { trackerId: TRACKER, isLifted: null, afterId: null, limit: 51 }),
  "lift a page's withdrawal": database =>
    database.query
      .transaction()
      .execute(query =>
        liftPageWithdrawals(
          { query },
          { trackerId: TRACKER, ids: [WITHDRAWAL_ID], reason: 'forged', at: STATEMENT_TIME },
        ),
      ),
  'queue what was stopped': database =>
    database.query.transaction().execute(query =>
      requeueStopped(
        database,
        { query },
        {
          trackerId: TRACKER,
          deliveries: numbers(100).map(id => ({ id, createdAt: generatedEventTime(id) })),
          at: STATEMENT_TIME,
        },
      ),
    ),
}
