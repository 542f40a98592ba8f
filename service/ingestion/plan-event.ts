import type { EventClass, MeasurementClass } from '@signalbox/contract/events.ts'
import type { ConsentGranted } from '../consent/consent-decision.ts'
import { checkWithdrawal } from '../consent/withdrawal.ts'
import type { DestinationRoute } from '../delivery/destination-store.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import { erasedEntry } from '../ledger/erased-entry.ts'
import type { IdentityPayload, LedgerEntry } from '../ledger/ledger-entry.ts'
import { pageAddress } from '../ledger/page-address.ts'
import { visitorKeysOf, withdrawalKeys } from '../ledger/visitor-keys.ts'
import type { ErasureGrounds } from './erasure-watch.ts'
import type { EventDraft } from './event-draft.ts'

export interface PlanGrounds {
  /** The latest withdrawal of the visitor, if any; `unasked` presumes that there is none. */
  withdrawnAt: Date | null | 'unasked'
  /** Whether the person was erased; left out, it is presumed not. */
  erasure?: ErasureGrounds
  routes: readonly DestinationRoute[]
  /** When the platform stops taking this event. */
  windowEndsAt: Date
  nextDeliveryId: () => number
}

/** What happens to the event as a whole: it may leave, it is only kept, or it is a mark. */
type Verdict = { fate: 'deliver' } | { fate: 'withhold'; reason: string } | { fate: 'keep' }

/** Turns a draft into the rows of the ledger and of the deliveries. Pure but for the ids. */
export function planEvent(
  draft: EventDraft,
  grounds: PlanGrounds,
): { entry: LedgerEntry; deliveries: PlannedDelivery[] } {
  const verdict = verdictOf(draft, grounds)
  const entry = ledgerEntry(draft, verdict, presumptionsOf(draft, grounds))
  const erased = erasedDigests(grounds)
  return {
    entry: erased.size === 0 ? entry : erasedEntry(entry, erased),
    deliveries: deliveriesOf(draft, verdict, grounds),
  }
}

function verdictOf({ decision }: EventDraft, grounds: PlanGrounds): Verdict {
  switch (decision.outcome) {
    case 'granted':
      if (erasedDigests(grounds).size > 0) return { fate: 'withhold', reason: 'erased' }
      return isWithdrawn(decision, grounds)
        ? { fate: 'withhold', reason: 'consent_withdrawn' }
        : { fate: 'deliver' }
    case 'withheld':
      return { fate: 'withhold', reason: decision.reason }
    case 'ledger_only':
    case 'denied':
      return { fate: 'keep' }
  }
}

function isWithdrawn(decision: ConsentGranted, { withdrawnAt }: PlanGrounds): boolean {
  return withdrawnAt !== 'unasked' && !checkWithdrawal(decision, withdrawnAt).allowed
}

const NO_DIGESTS: ReadonlySet<string> = new Set()

function erasedDigests({ erasure = 'unasked' }: PlanGrounds): ReadonlySet<string> {
  return erasure === 'unasked' ? NO_DIGESTS : erasure.erased
}

type Presumptions = Required<Pick<LedgerEntry, 'presumedConsenting' | 'presumedUnerased'>>

/** What the statement must find to be so, or it leaves the event out. */
function presumptionsOf(
  draft: EventDraft,
  { withdrawnAt, erasure = 'unasked' }: PlanGrounds,
): Presumptions {
  const isPresumed = withdrawnAt === 'unasked' && draft.decision.outcome === 'granted'
  const presumedConsenting = isPresumed ? visitorKeysOf(draft) : []
  if (erasure === 'unasked') return { presumedConsenting, presumedUnerased: 'everybody' }
  return { presumedConsenting, presumedUnerased: erasure.erased.size > 0 ? [] : erasure.keyed }
}

function ledgerEntry(
  draft: EventDraft,
  verdict: Verdict,
  { presumedConsenting, presumedUnerased }: Presumptions,
): LedgerEntry {
  const { decision, eventTime, receivedAt, order } = draft
  const page = pageAddress(draft.eventSource)
  const isGranted = verdict.fate === 'deliver'
  return {
    trackerId: draft.trackerId,
    eventId: draft.eventId,
    space: draft.space,
    createdAt: receivedAt,
    eventTime,
    eventName: draft.eventName,
    eventClass: classOf(draft),
    actionSource: draft.actionSource,
    consentBasis: draft.consentBasis,
    measurementClass: measurementOf(draft, verdict),
    attributionJoin: isGranted ? 'allowed' : 'none',
    enforcementScope: draft.consentBasis === 'consent' ? 'event' : 'ledger',
    consentNormalizationVersion: decision.rules_version,
    consentCapturedAt: capturedAt(draft),
    eventSource: page,
    parentEventId: draft.parentEventId,
    orderId: order?.orderId ?? null,
    valueAmount: order?.amount ?? null,
    valueCurrency: order?.currency ?? null,
    valueData: order?.json ?? null,
    consent: JSON.stringify(decidedConsent(draft, verdict)),
    notes: draft.notes,
    bodyDigest: bodyDigestOf(draft),
    payload: payloadOf(draft, page),
    session: isGranted ? sessionOf(draft) : null,
    withdrawalOf: draft.eventName === 'consent_withdrawal' ? withdrawalKeys(draft) : [],
    presumedConsenting,
    presumedUnerased,
  }
}

function classOf({ eventName, decision }: EventDraft): EventClass {
  if (decision.outcome !== 'ledger_only') return 'conversion'
  return eventName === 'signal_verification' ? 'verification' : 'lifecycle'
}

function measurementOf(draft: EventDraft, { fate }: Verdict): MeasurementClass {
  if (classOf(draft) === 'verification') return 'modeled'
  return fate === 'deliver' ? 'advertising' : 'ledger_only'
}

/** The caller's word alone says nothing about when; a later withdrawal then always wins. */
function capturedAt({ decision }: EventDraft): Date | null {
  if (decision.reason === 'attested_by_basis' || decision.captured_at === null) return null
  return new Date(decision.captured_at)
}

/** The decision as it was made, but for what only the store knew: a withdrawal or an erasure. */
function decidedConsent(
  { consent, decision }: EventDraft,
  verdict: Verdict,
): Record<string, unknown> {
  if (decision.outcome !== 'granted' || verdict.fate !== 'withhold') return consent
  const overruled = { outcome: 'withheld', reason: verdict.reason }
  return { ...consent, decision: { ...(consent.decision as object), ...overruled } }
}

/** Only an event on consent may keep identity at all. */
function keepsIdentity({ consentBasis }: EventDraft): boolean {
  return consentBasis === 'consent'
}

/**
 * No digest of a body with a visitor that leaves no payload: an erasure would not find the event,
 * and a reader who knows the rest of the body could try visitors against it.
 */
function bodyDigestOf(draft: EventDraft): Buffer {
  return keepsIdentity(draft) || draft.visitorId === null ? draft.bodyDigest : Buffer.alloc(0)
}

function payloadOf(draft: EventDraft, page: string | null): IdentityPayload | null {
  if (!keepsIdentity(draft)) return null
  const { visitorId, digests, plain, clickIds, eventSource } = draft
  const payload: IdentityPayload = { visitorId, digests, plain, clickIds }
  if (eventSource !== null && eventSource !== page) payload.pageUrl = eventSource
  return payload
}

function sessionOf({ visitorId, eventSource, clickIds }: EventDraft) {
  return visitorId === null ? null : { visitorId, landingSource: eventSource, clickIds }
}

function deliveriesOf(
  draft: EventDraft,
  verdict: Verdict,
  grounds: PlanGrounds,
): PlannedDelivery[] {
  if (verdict.fate === 'keep') return []
  const { trackerId, eventId, space, receivedAt } = draft
  const isTooOld = grounds.windowEndsAt <= receivedAt
  const plan = (route: DestinationRoute | null): PlannedDelivery => {
    const { status, statusReason } = deliveryState(verdict, route, isTooOld)
    return {
      trackerId,
      eventId,
      space,
      id: grounds.nextDeliveryId(),
      destinationId: route?.id ?? null,
      isTest: route?.isTest ?? false,
      status,
      statusReason,
    }
  }
  return grounds.routes.length === 0 ? [plan(null)] : grounds.routes.map(plan)
}

function deliveryState(
  verdict: Verdict,
  route: DestinationRoute | null,
  isTooOld: boolean,
): Pick<PlannedDelivery, 'status' | 'statusReason'> {
  if (verdict.fate === 'withhold')
    return { status: 'skipped:consent', statusReason: verdict.reason }
  if (route === null) return { status: 'skipped:no_destination', statusReason: 'no_destination' }
  if (isTooOld) return { status: 'expired', statusReason: 'outside_window' }
  return { status: 'queued', statusReason: 'accepted_for_delivery' }
}
