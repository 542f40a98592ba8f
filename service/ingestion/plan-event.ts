import type { EventClass, MeasurementClass } from '@signalbox/contract/events.ts'
import { checkWithdrawal } from '../consent/withdrawal.ts'
import type { DestinationRoute } from '../delivery/destination-store.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'
import { visitorKeysOf, withdrawalKeys } from '../ledger/visitor-keys.ts'
import type { EventDraft } from './event-draft.ts'

export interface PlanGrounds {
  /** The latest withdrawal of the visitor, if any; `unasked` presumes that there is none. */
  withdrawnAt: Date | null | 'unasked'
  routes: readonly DestinationRoute[]
  /** When the platform stops taking this event. */
  windowEndsAt: Date
  nextDeliveryId: () => number
}

/** What happens to the event as a whole: it may leave, it is only kept, or it is a mark. */
type Fate = 'deliver' | 'withhold' | 'keep'

/** Turns a draft into the rows of the ledger and of the deliveries. Pure but for the ids. */
export function planEvent(
  draft: EventDraft,
  grounds: PlanGrounds,
): { entry: LedgerEntry; deliveries: PlannedDelivery[] } {
  const isPresumed = grounds.withdrawnAt === 'unasked'
  const fate = fateOf(draft, grounds.withdrawnAt === 'unasked' ? null : grounds.withdrawnAt)
  const presumedConsenting =
    isPresumed && draft.decision.outcome === 'granted' ? visitorKeysOf(draft) : []
  return {
    entry: { ...ledgerEntry(draft, fate), presumedConsenting },
    deliveries: deliveriesOf(draft, fate, grounds),
  }
}

function fateOf({ decision }: EventDraft, withdrawnAt: Date | null): Fate {
  switch (decision.outcome) {
    case 'granted':
      return checkWithdrawal(decision, withdrawnAt).allowed ? 'deliver' : 'withhold'
    case 'withheld':
      return 'withhold'
    case 'ledger_only':
    case 'denied':
      return 'keep'
  }
}

type Entry = Omit<LedgerEntry, 'presumedConsenting'>

function ledgerEntry(draft: EventDraft, fate: Fate): Entry {
  const { body, decision, eventTime, receivedAt } = draft
  const value = body.value_data
  const isGranted = fate === 'deliver'
  return {
    trackerId: draft.trackerId,
    eventId: draft.eventId,
    createdAt: receivedAt,
    eventTime,
    eventName: body.event_name,
    eventClass: classOf(draft),
    actionSource: body.action_source || 'website',
    consentBasis: body.consent_basis,
    measurementClass: measurementOf(draft, fate),
    attributionJoin: isGranted ? 'allowed' : 'none',
    enforcementScope: body.consent_basis === 'consent' ? 'event' : 'ledger',
    consentNormalizationVersion: decision.rules_version,
    consentCapturedAt: capturedAt(draft),
    eventSource: draft.eventSource,
    parentEventId: body.parent_event_id || null,
    orderId: value?.order_id ?? null,
    valueAmount: value?.value ?? null,
    valueCurrency: value?.currency?.toUpperCase() ?? null,
    valueData: value ? JSON.stringify(keptValueData(value)) : null,
    consent: JSON.stringify(decidedConsent(draft, fate)),
    notes: draft.notes,
    bodyDigest: draft.bodyDigest,
    payload: payloadOf(draft),
    session: isGranted ? sessionOf(draft) : null,
    withdrawalOf: body.event_name === 'consent_withdrawal' ? withdrawalKeys(draft) : [],
  }
}

function classOf({ body, decision }: EventDraft): EventClass {
  if (decision.outcome !== 'ledger_only') return 'conversion'
  return body.event_name === 'signal_verification' ? 'verification' : 'lifecycle'
}

function measurementOf(draft: EventDraft, fate: Fate): MeasurementClass {
  if (classOf(draft) === 'verification') return 'modeled'
  return fate === 'deliver' ? 'advertising' : 'ledger_only'
}

/** The caller's word alone says nothing about when; a later withdrawal then always wins. */
function capturedAt({ decision }: EventDraft): Date | null {
  if (decision.reason === 'attested_by_basis' || decision.captured_at === null) return null
  return new Date(decision.captured_at)
}

function keptValueData(value: NonNullable<EventDraft['body']['value_data']>) {
  const { value: amount, currency, order_id, contents, num_items } = value
  return { value: amount, currency: currency?.toUpperCase(), order_id, contents, num_items }
}

/** The decision as it was made, but for a withdrawal, which only the store knew of. */
function decidedConsent({ consent, decision }: EventDraft, fate: Fate): Record<string, unknown> {
  if (decision.outcome !== 'granted' || fate === 'deliver') return consent
  const overruled = { outcome: 'withheld', reason: 'consent_withdrawn' }
  return { ...consent, decision: { ...(consent.decision as object), ...overruled } }
}

/** Only an event on consent may keep identity at all. */
function payloadOf({ body, visitorId, digests, plain, clickIds }: EventDraft) {
  if (body.consent_basis === 'legitimate_interest') return null
  return { visitorId, digests, plain, clickIds }
}

function sessionOf({ visitorId, eventSource, clickIds }: EventDraft) {
  return visitorId === null ? null : { visitorId, landingSource: eventSource, clickIds }
}

function deliveriesOf(draft: EventDraft, fate: Fate, grounds: PlanGrounds): PlannedDelivery[] {
  if (fate === 'keep') return []
  const { trackerId, eventId, receivedAt, decision } = draft
  const base = { trackerId, eventId, createdAt: receivedAt }
  const isTooOld = grounds.windowEndsAt <= receivedAt
  const skipReason = decision.outcome === 'granted' ? 'consent_withdrawn' : decision.reason
  const plan = (route: DestinationRoute | null): PlannedDelivery => ({
    ...base,
    id: grounds.nextDeliveryId(),
    destinationId: route?.id ?? null,
    isTest: route?.isTest ?? false,
    ...(fate === 'withhold'
      ? { status: 'skipped:consent' as const, statusReason: skipReason }
      : route === null
        ? { status: 'skipped:no_destination' as const, statusReason: 'no_destination' }
        : isTooOld
          ? { status: 'expired' as const, statusReason: 'outside_window' }
          : { status: 'queued' as const, statusReason: 'accepted_for_delivery' }),
  })
  return grounds.routes.length === 0 ? [plan(null)] : grounds.routes.map(plan)
}
