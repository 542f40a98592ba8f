import type { TestPurchaseSubmission } from '@signalbox/contract/destinations.ts'
import { CONSENT_RULES_VERSION } from '../consent/consent-decision.ts'
import { identifierDigest } from '../identity/identifier-digest.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'
import { bodyDigest } from './body-digest.ts'

const VALUE_DEFAULT = '1.00'
const CURRENCY_DEFAULT = 'USD'

export interface TestPurchaseGrounds {
  trackerId: string
  eventId: string
  at: Date
}

/**
 * A test purchase as the ledger keeps it. It names no person: its one identifier is the digest of
 * the event's own id, because the platform refuses an event without any. No consent is asked,
 * because no person is in it.
 */
export function testPurchaseEntry(
  { value = VALUE_DEFAULT, currency = CURRENCY_DEFAULT, order_id }: TestPurchaseSubmission,
  { trackerId, eventId, at }: TestPurchaseGrounds,
): LedgerEntry {
  const orderId = order_id ?? `signalbox-${eventId}`
  const valueCurrency = currency.toUpperCase()
  const body = { event_name: 'Purchase', value, currency: valueCurrency, order_id: orderId }
  return {
    trackerId,
    eventId,
    space: 'secret',
    createdAt: at,
    eventTime: at,
    eventName: 'Purchase',
    eventClass: 'test',
    actionSource: 'system_generated',
    consentBasis: 'consent',
    measurementClass: 'ledger_only',
    attributionJoin: 'none',
    enforcementScope: 'event',
    consentNormalizationVersion: CONSENT_RULES_VERSION,
    consentCapturedAt: null,
    eventSource: null,
    parentEventId: null,
    orderId,
    valueAmount: value,
    valueCurrency,
    valueData: JSON.stringify({ value, currency: valueCurrency, order_id: orderId }),
    consent: JSON.stringify({ decision: { outcome: 'granted', reason: 'names_no_person' } }),
    notes: { dropped: [], unknownMembers: [] },
    bodyDigest: bodyDigest(body, { trackerId, eventId }),
    payload: {
      visitorId: null,
      digests: { external_id: [identifierDigest(eventId)] },
      plain: {},
      clickIds: {},
    },
    session: null,
    withdrawalOf: [],
    presumedConsenting: [],
  }
}
