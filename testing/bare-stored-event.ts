import type { StoredEvent } from '../service/events/store.ts'

/** An event as it lies in the store, with nothing in it but what the test adds. */
export function bareStoredEvent(at: Date, changes: Partial<StoredEvent> = {}): StoredEvent {
  return {
    eventId: 'event-1',
    space: 0,
    createdAt: at,
    eventTime: at,
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
    valueAmount: null,
    valueCurrency: null,
    valueData: null,
    consent: null,
    notes: null,
    differingSubmissions: 0,
    lastDifferingAt: null,
    payload: null,
    session: null,
    ...changes,
  }
}
