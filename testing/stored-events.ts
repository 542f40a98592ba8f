import { randomBytes } from 'node:crypto'
import type { Database } from '../service/db/database.ts'
import type { PlannedDelivery } from '../service/delivery/plan-store.ts'
import type { EventRecord } from '../service/events/event-record.ts'
import { insertEvents } from '../service/ingestion/store.ts'

export const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'
export const DESTINATION_ID = '0190bbbb-0000-7000-8000-000000000001'
export const STORED_AT = new Date('2026-11-21T12:00:00.000Z')

/** A granted purchase as the ledger keeps it; members can be replaced. */
export function ledgerEntry(changes: Partial<EventRecord> = {}): EventRecord {
  return {
    trackerId: TRACKER_ID,
    eventId: 'event-1',
    space: 'secret',
    createdAt: STORED_AT,
    eventTime: STORED_AT,
    eventName: 'Purchase',
    eventClass: 'conversion',
    actionSource: 'website',
    consentBasis: 'consent',
    measurementClass: 'advertising',
    attributionJoin: 'allowed',
    enforcementScope: 'event',
    consentNormalizationVersion: '1',
    consentCapturedAt: null,
    eventSource: null,
    parentEventId: null,
    orderId: null,
    valueAmount: '19.90',
    valueCurrency: 'EUR',
    valueData: null,
    consent: null,
    notes: { dropped: [], unknownMembers: [] },
    bodyDigest: randomBytes(32),
    payload: { visitorId: null, digests: { em: ['e'.repeat(64)] }, plain: {}, clickIds: {} },
    session: null,
    withdrawnKeys: [],
    assumedNotWithdrawn: [],
    ...changes,
  }
}

/** A delivery that waits for the sample destination; members can be replaced. */
export function plannedDelivery(changes: Partial<PlannedDelivery> = {}): PlannedDelivery {
  return {
    trackerId: TRACKER_ID,
    eventId: 'event-1',
    space: 'secret',
    id: 1,
    destinationId: DESTINATION_ID,
    status: 'queued',
    statusReason: 'accepted_for_delivery',
    isTest: false,
    ...changes,
  }
}

/** Stores entries in the order of their keys. Returns the ids that were new. */
export async function storeEntries(
  database: Database,
  entries: readonly EventRecord[],
  deliveries: readonly PlannedDelivery[] = [],
): Promise<string[]> {
  const inOrder = entries.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
  const { newKeys: inserted } = await insertEvents(database, inOrder, deliveries)
  return [...inserted].map(key => key.split(' ').slice(2).join(' ')).sort()
}
