import type { Database } from '../../service/runtime/db/database.ts'
import { findLastForwarding } from '../../service/signals/access/forwarded-signature-store.ts'
import { sumRequestsOfDay } from '../../service/signals/delivery/receipt-store.ts'
import { readOutcomes, sumSentValues } from '../../service/signals/delivery/sent-counts-store.ts'
import { listReceipts } from '../../service/signals/erasure/erasure-store.ts'
import { listEventRefsFrom, listEventsFrom } from '../../service/signals/events/list-store.ts'
import { findWorkspacesToUpdate } from '../../service/signals/reports/alert-announcement-store.ts'
import { findScores } from '../../service/signals/reports/match-quality-store.ts'
import { findReportsOfRange } from '../../service/signals/reports/reconciliation-store.ts'
import { findSnapshotPage } from '../../service/signals/reports/snapshot-store.ts'
import {
  countPageOnlyWithdrawals,
  listWithdrawalHours,
} from '../../service/signals/reports/withdrawal-count-store.ts'
import { listOpenWorkspaceAlerts } from '../../service/workspaces/notifications/audit-alert-store.ts'
import {
  generatedEventTime,
  LARGE_DESTINATION,
  LARGE_STORE_DAY,
  LARGE_TRACKER,
} from './large-store.ts'

const RANGE = { from: '2026-10-01', to: LARGE_STORE_DAY }
const PAGE_ROWS = 51
const OF_DAY = {
  trackerId: LARGE_TRACKER,
  destinationId: LARGE_DESTINATION,
  day: LARGE_STORE_DAY,
}

/** What the pages Reports, Privacy and Keys of the dashboard read, and the job of the alerts. */
export const REPORT_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'find scores': database => findScores(database, LARGE_TRACKER, RANGE),
  'find reports of a range': database =>
    findReportsOfRange(database, {
      trackerId: LARGE_TRACKER,
      ...RANGE,
      after: { reportDate: LARGE_STORE_DAY, destinationId: LARGE_DESTINATION },
      limit: PAGE_ROWS,
    }),
  'sum values of a day': database => sumSentValues(database, OF_DAY),
  'read outcomes of a day': database => readOutcomes(database, OF_DAY),
  'sum requests of a day': database =>
    sumRequestsOfDay(database, {
      ...OF_DAY,
      from: new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`),
      until: new Date(`${LARGE_STORE_DAY}T00:01:00.000Z`),
    }),
  'find alerts to announce': database =>
    findWorkspacesToUpdate(database, {
      at: new Date(`${LARGE_STORE_DAY}T20:15:00.000Z`),
      limit: 200,
    }),
  'list open alerts of a workspace': database => listOpenWorkspaceAlerts(database, 1),
  'find hours with many withdrawals': database =>
    listWithdrawalHours(database, {
      from: new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`),
      withdrawalsMin: 1_000,
    }),
  'count withdrawals of guessable visitors': database =>
    countPageOnlyWithdrawals(database, {
      trackerId: LARGE_TRACKER,
      from: new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`),
    }),
  'list events for an export': database =>
    listEventRefsFrom(database, {
      trackerId: LARGE_TRACKER,
      from: { createdAt: generatedEventTime(2_000), eventId: '', space: 0 },
      before: new Date(`${LARGE_STORE_DAY}T23:00:00.000Z`),
      limit: 1_001,
    }),
  'read events for an export': database =>
    listEventsFrom(database, {
      trackerId: LARGE_TRACKER,
      from: { createdAt: generatedEventTime(2_000), eventId: '', space: 0 },
      before: new Date(`${LARGE_STORE_DAY}T23:00:00.000Z`),
      limit: 1_001,
    }),
  'find snapshots for an export': database =>
    findSnapshotPage(database, {
      trackerId: LARGE_TRACKER,
      before: new Date(`${LARGE_STORE_DAY}T23:00:00.000Z`),
      after: { measuredOn: LARGE_STORE_DAY, destinationId: LARGE_DESTINATION },
      limit: 50,
    }),
  'find the last forwarding': database => findLastForwarding(database, LARGE_TRACKER),
  'list erasure receipts': database =>
    listReceipts(database, { trackerId: LARGE_TRACKER, after: 'del_0', limit: PAGE_ROWS }),
}
