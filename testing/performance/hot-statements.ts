import { createHash, randomUUID } from 'node:crypto'
import { type Database, isCitusCluster } from '../../service/runtime/db/database.ts'
import { findLiveKeys } from '../../service/signals/access/key-store.ts'
import { clearAnswers, findAttempts } from '../../service/signals/delivery/attempt-store.ts'
import { readBacklog } from '../../service/signals/delivery/backlog-store.ts'
import { claimDelivery } from '../../service/signals/delivery/claim-store.ts'
import { countAcceptance, findDeliveries } from '../../service/signals/delivery/delivery-store.ts'
import {
  bringForwardRetries,
  findDueQueues,
} from '../../service/signals/delivery/destination-queue-store.ts'
import {
  deleteExpiredAttempts,
  deleteSentCounts,
  findTrackersWithExpiredAttempts,
} from '../../service/signals/delivery/expire-store.ts'
import {
  findRoutesOfTrackers,
  reserveIdsOfTrackers,
} from '../../service/signals/delivery/plan-store.ts'
import { replayFailed } from '../../service/signals/delivery/replay-store.ts'
import { tryStopErased } from '../../service/signals/delivery/skip-store.ts'
import {
  eraseEvents,
  eraseSessionsAndWithdrawals,
  findEventsWithoutPayload,
} from '../../service/signals/events/erase-store.ts'
import { findExpiringTrackers } from '../../service/signals/events/event-expiry-store.ts'
import { toOrderKey } from '../../service/signals/events/event-record.ts'
import {
  findEventsById,
  findEventsByRef,
  recordDifferingSubmissions,
} from '../../service/signals/events/event-store.ts'
import { findChildEvents } from '../../service/signals/events/lineage-store.ts'
import {
  deletePositions,
  indexPositions,
} from '../../service/signals/events/list-position-store.ts'
import { listEventRefs } from '../../service/signals/events/list-store.ts'
import { deleteDefaultPartitionPayloads } from '../../service/signals/events/payload-expiry-store.ts'
import {
  findPayloadRefs,
  findPayloadsByDigest,
  findPayloadsByVisitor,
  readPayloads,
} from '../../service/signals/events/payload-search-store.ts'
import {
  findSuppressedDigests,
  findTrackersWithErasures,
  findTrackersWithWithdrawals,
  waitForPayloadWriters,
} from '../../service/signals/events/suppression-store.ts'
import { insertEvents } from '../../service/signals/ingestion/commit-store.ts'
import { findActiveDestinations } from '../../service/signals/reports/reconciliation-store.ts'
import { findDueSnapshots } from '../../service/signals/reports/snapshot-store.ts'
import { deleteEventBatch } from '../../service/signals/retention/retention-store.ts'
import { deliverAccepted } from '../fixtures/deliveries.ts'
import { ledgerEntry, plannedDelivery } from '../fixtures/stored-events.ts'
import { DASHBOARD_STATEMENTS } from './dashboard-statements.ts'
import { DESTINATION_STATEMENTS } from './destination-statements.ts'
import {
  CHILD_EVERY,
  LARGE_DESTINATION as DESTINATION,
  generatedEventId,
  generatedEventIds,
  generatedEventKeys,
  generatedEventTime,
  LARGE_STORE_DAY,
  numbers,
  ROWS_PER_STATEMENT,
  LARGE_TRACKER as TRACKER,
} from './large-store.ts'
import { PAGE_STATEMENTS } from './page-statements.ts'
import { PERFORMANCE_STATEMENTS } from './performance-statements.ts'
import { REPORT_STATEMENTS } from './report-statements.ts'
import { SEARCH_STATEMENTS } from './search-statements.ts'
import { WITHDRAWAL_STATEMENTS } from './withdrawal-statements.ts'

const STATEMENT_TIME = new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`)
const TOMORROW = new Date(STATEMENT_TIME.getTime() + 86_400_000)
/** IDs of deliveries that `generateEvents` does not use. */
let deliveryId = 100_000_000

/**
 * Every statement of acceptance, delivery, reports, erasure, retention and get_performance.
 * Statements that accept several rows get a thousand.
 */
export const HOT_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'accept a thousand events': database => accept(database, newIds()),
  'accept a thousand known events': database => accept(database, generatedEventIds()),
  'note differing submissions': database =>
    recordDifferingSubmissions(
      database,
      generatedEventIds().map(eventId => ({
        trackerId: TRACKER,
        space: 'secret' as const,
        eventId,
        bodyDigest: Buffer.from('ff', 'hex'),
        at: STATEMENT_TIME,
      })),
    ),
  'look up keys': database => findLiveKeys(database, 'tracker_secret', unknownDigests()),
  'look up destinations': database =>
    findRoutesOfTrackers(database, [TRACKER, ...newIds()], STATEMENT_TIME),
  'reserve delivery ids': database => reserveIdsOfTrackers(database, new Map([[TRACKER, 1]])),
  'look up erased digests': database => findSuppressedDigests(database, numbers().map(keyedDigest)),
  'look up erasing trackers': database => findTrackersWithErasures(database, [TRACKER]),
  'look up withdrawing trackers': database => findTrackersWithWithdrawals(database, [TRACKER]),
  'find due queues': database =>
    findDueQueues(database, { now: STATEMENT_TIME, queuesMax: 8, excludedDestinationIds: [] }),
  'claim, read and settle': claimAndSettle,
  'claim one': database =>
    claimDelivery(database, {
      trackerId: TRACKER,
      createdAt: generatedEventTime(12),
      id: 12,
      claimedAt: STATEMENT_TIME,
      leaseSeconds: 60,
    }),
  ...PAGE_STATEMENTS,
  'bring forward': database =>
    bringForwardRetries(database, { trackerId: TRACKER, destinationId: DESTINATION, at: TOMORROW }),
  'read the backlog': database => readBacklog(database, STATEMENT_TIME),
  'stop erased events': database =>
    tryStopErased(database, {
      trackerId: TRACKER,
      events: generatedEventKeys(),
      at: STATEMENT_TIME,
    }),
  'replay failures': database => replay(database, { eventName: null, deliveryIds: null }),
  'replay failures by name': database =>
    replay(database, { eventName: 'Purchase', deliveryIds: null }),
  'replay failures by id': database => replay(database, { eventName: null, deliveryIds: [15, 25] }),
  ...SEARCH_STATEMENTS,
  ...WITHDRAWAL_STATEMENTS,
  'list the first page': database => listEventRefs(database, { ...PAGE, offset: 0 }),
  'list page five': database => listEventRefs(database, { ...PAGE, offset: 400 }),
  'read deliveries of a page': database =>
    findDeliveries(database, TRACKER, generatedEventKeys(100)),
  'read events by id': database => findEventsById(database, TRACKER, generatedEventIds(100)),
  'read children': database =>
    findChildEvents(database, TRACKER, {
      eventId: generatedEventId(CHILD_EVERY * 2 + 2),
      space: 0,
    }),
  'read attempts': database => findAttempts(database, TRACKER, attemptIds()),
  'forget answers': database => clearAnswers(database, TRACKER, attemptIds()),
  'find payloads by digest': database =>
    findPayloadsByDigest(database, { trackerId: TRACKER, digest: DIGEST, limit: 100 }),
  'find where payloads are': database =>
    findPayloadRefs(database, { trackerId: TRACKER, digest: DIGEST, limit: 100 }),
  'read payloads': database =>
    readPayloads(
      database,
      TRACKER,
      generatedEventKeys().map(key => ({ ...key, receivedOn: LARGE_STORE_DAY })),
    ),
  'find payloads of a visitor': database =>
    findPayloadsByVisitor(database, { trackerId: TRACKER, visitorId: 'visitor-7', limit: 100 }),
  'find events without payload': database =>
    findEventsWithoutPayload(database, TRACKER, generatedEventKeys()),
  'erase a hundred events': database =>
    eraseEvents(
      database,
      TRACKER,
      generatedEventKeys(100).map(place => ({
        ...place,
        receivedOn: LARGE_STORE_DAY,
        visitorId: null,
        digests: {},
        isUnindexed: false,
      })),
    ),
  'erase withdrawals': database =>
    eraseSessionsAndWithdrawals(database, {
      trackerId: TRACKER,
      digest: DIGEST,
      visitorIds: ['visitor-9'],
    }),
  'wait for writers': database => waitForPayloadWriters(database),
  'find expiring trackers': database =>
    findExpiringTrackers(database, 'events_default', '2026-01-01'),
  'expire a thousand events': database =>
    deleteEventBatch(database, 'events_default', {
      trackerId: TRACKER,
      cutoffDay: '2026-11-22',
      after: null,
    }),
  'find trackers of old attempts': database =>
    findTrackersWithExpiredAttempts(database, LARGE_STORE_DAY),
  'delete a thousand attempts': database =>
    deleteExpiredAttempts(database, {
      trackerId: TRACKER,
      cutoffDay: LARGE_STORE_DAY,
      after: null,
    }),
  'delete sent counts': database => deleteSentCounts(database, '2026-01-01'),
  'delete stray payloads': database => deleteDefaultPartitionPayloads(database, '2026-01-01'),
  ...DESTINATION_STATEMENTS,
  'count accepted deliveries': database => countAcceptance(database, TRACKER, LARGE_STORE_DAY),
  'find senders': database =>
    findActiveDestinations(database, { sentSince: LARGE_STORE_DAY, after: null, limit: 100 }),
  'find due snapshots': database =>
    findDueSnapshots(database, {
      from: LARGE_STORE_DAY,
      until: LARGE_STORE_DAY,
      now: STATEMENT_TIME,
      rowsMax: 100,
    }),
  ...REPORT_STATEMENTS,
  'write list positions': database => indexPositions(database, INDEXED_DAY),
  'list a page from a position': async database => {
    await indexPositions(database, INDEXED_DAY)
    const { total } = await listEventRefs(database, { ...PAGE, offset: 0 })
    await listEventRefs(database, { ...PAGE, offset: total - 2_600 })
  },
  'delete list positions': database => deletePositions(database, TRACKER, LARGE_STORE_DAY),
  ...PERFORMANCE_STATEMENTS,
  ...DASHBOARD_STATEMENTS,
}

const INDEXED_DAY = { trackerId: TRACKER, day: LARGE_STORE_DAY }
const PAGE = { trackerId: TRACKER, limit: 100 }
const DIGEST = 'f'.repeat(64)

function attemptIds(): string[] {
  return numbers(100).map(number => generatedEventId(number % 100))
}

function keyedDigest(number: number): { trackerId: string; keyed: string } {
  const keyed = createHash('sha256').update(generatedEventId(number)).digest('hex')
  return { trackerId: TRACKER, keyed }
}

function unknownDigests(): Buffer[] {
  return numbers().map(number => createHash('sha256').update(String(number)).digest())
}

function newIds(): string[] {
  return numbers().map(() => randomUUID())
}

function accept(database: Database, ids: readonly string[]) {
  const entries = ids.toSorted().map((eventId, index) =>
    ledgerEntry({
      trackerId: TRACKER,
      eventId,
      createdAt: STATEMENT_TIME,
      eventTime: STATEMENT_TIME,
      orderKey: toOrderKey('Purchase', eventId),
      session: { visitorId: `visitor-${eventId}`, landingSource: null, clickIds: {} },
      assumedNotWithdrawn: [`visitor-${eventId}`],
      assumedNotErased: [keyedDigest(index).keyed.replace(/^../, '00')],
    }),
  )
  const deliveries = entries.map(({ eventId }) => {
    deliveryId += 1
    return plannedDelivery({
      trackerId: TRACKER,
      eventId,
      id: deliveryId,
      destinationId: DESTINATION,
    })
  })
  return insertEvents(database, entries, deliveries)
}

function claimAndSettle(database: Database) {
  return deliverAccepted(database, {
    trackerId: TRACKER,
    destinationId: DESTINATION,
    limit: ROWS_PER_STATEMENT,
    at: STATEMENT_TIME,
    traceId: null,
    matchKeys: ['em', 'ph'],
    readEvents: deliveries => findEventsByRef(database, TRACKER, deliveries),
  })
}

async function replay(
  database: Database,
  filters: { eventName: string | null; deliveryIds: readonly number[] | null },
) {
  const window = { at: STATEMENT_TIME, windowEndsAfter: STATEMENT_TIME }
  const wanted = { trackerId: TRACKER, ...filters, limit: ROWS_PER_STATEMENT, ...window }
  return replayFailed(database, wanted, { isCluster: await isCitusCluster(database) })
}
