import type { EventClass, MeasurementClass } from '@signalbox/contract/events.ts'
import type { ConsentGranted } from '../consent/consent-decision.ts'
import { checkWithdrawal } from '../consent/withdrawal.ts'
import type { DestinationRoute } from '../delivery/destination-route-store.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import { type EventRecord, type IdentityPayload, stripIdentity } from '../events/event-record.ts'
import { listVisitorKeys, listWithdrawalKeys } from '../events/person-identifiers.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { ErasureState } from './erasure-check.ts'
import type { EventDraft } from './event-draft.ts'

export interface PlanInput {
  /** The latest withdrawal of the visitor, if any; `unasked` presumes that there is none. */
  withdrawnAt: Date | null | 'unasked'
  /** Whether the person was erased; left out, it is presumed not. */
  erasure?: ErasureState
  routes: readonly DestinationRoute[]
  /** When the platform of this name stops taking this event; null when that is not known here. */
  windowEndsAt: (platform: string) => Date | null
  nextDeliveryId: () => number
}

/** What happens to the event as a whole: it may leave, it is only kept, or it is a mark. */
type EventDisposition =
  | { fate: 'deliver' }
  | { fate: 'withhold'; reason: string }
  | { fate: 'keep' }

/** Turns a draft into the rows of the ledger and of the deliveries. Pure but for the ids. */
export function planEvent(
  draft: EventDraft,
  grounds: PlanInput,
): { entry: EventRecord; deliveries: PlannedDelivery[] } {
  const verdict = decideDisposition(draft, grounds)
  const entry = buildEventRecord(draft, verdict, {
    ...buildAssumptions(draft, grounds),
    routes: grounds.routes,
  })
  const erased = findErasedDigests(grounds)
  return {
    entry: erased.size === 0 ? entry : stripIdentity(entry, erased),
    deliveries: planDeliveries(draft, verdict, grounds),
  }
}

function decideDisposition({ decision }: EventDraft, grounds: PlanInput): EventDisposition {
  switch (decision.outcome) {
    case 'granted':
      if (findErasedDigests(grounds).size > 0) return { fate: 'withhold', reason: 'erased' }
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

function isWithdrawn(decision: ConsentGranted, { withdrawnAt }: PlanInput): boolean {
  return withdrawnAt !== 'unasked' && !checkWithdrawal(decision, withdrawnAt).allowed
}

const NO_DIGESTS: ReadonlySet<string> = new Set()

function findErasedDigests({ erasure = 'unasked' }: PlanInput): ReadonlySet<string> {
  return erasure === 'unasked' ? NO_DIGESTS : erasure.erased
}

type Assumptions = Required<Pick<EventRecord, 'assumedNotWithdrawn' | 'assumedNotErased'>>

/** What the statement must find to be so, or it leaves the event out. */
function buildAssumptions(
  draft: EventDraft,
  { withdrawnAt, erasure = 'unasked' }: PlanInput,
): Assumptions {
  const isPresumed = withdrawnAt === 'unasked' && draft.decision.outcome === 'granted'
  const assumedNotWithdrawn = isPresumed ? listVisitorKeys(draft) : []
  if (erasure === 'unasked') return { assumedNotWithdrawn, assumedNotErased: 'all' }
  return { assumedNotWithdrawn, assumedNotErased: erasure.erased.size > 0 ? [] : erasure.keyed }
}

function buildEventRecord(
  draft: EventDraft,
  verdict: EventDisposition,
  { assumedNotWithdrawn, assumedNotErased, routes }: Assumptions & Pick<PlanInput, 'routes'>,
): EventRecord {
  const { decision, eventTime, receivedAt, order } = draft
  const page = stripQueryAndFragment(draft.eventSource)
  const isGranted = verdict.fate === 'deliver'
  return {
    trackerId: draft.trackerId,
    eventId: draft.eventId,
    space: draft.space,
    createdAt: receivedAt,
    eventTime,
    eventName: draft.eventName,
    eventClass: classifyEvent(draft),
    actionSource: draft.actionSource,
    consentBasis: draft.consentBasis,
    measurementClass: classifyMeasurement(draft, verdict),
    attributionJoin: isGranted ? 'allowed' : 'none',
    enforcementScope: draft.consentBasis === 'consent' ? 'event' : 'ledger',
    consentNormalizationVersion: decision.rules_version,
    consentCapturedAt: readConsentCapturedAt(draft),
    eventSource: page,
    parentEventId: draft.parentEventId,
    orderId: order?.orderId ?? null,
    valueAmount: order?.amount ?? null,
    valueCurrency: order?.currency ?? null,
    valueData: order?.json ?? null,
    consent: JSON.stringify(overrideStoredConsent(draft, verdict)),
    notes: draft.notes,
    bodyDigest: selectBodyDigest(draft),
    payload: buildPayload(draft, page, routes),
    session: isGranted ? buildSession(draft) : null,
    withdrawnKeys: draft.eventName === 'consent_withdrawal' ? listWithdrawalKeys(draft) : [],
    assumedNotWithdrawn,
    assumedNotErased,
  }
}

function classifyEvent({ eventName, decision }: EventDraft): EventClass {
  if (decision.outcome !== 'ledger_only') return 'conversion'
  return eventName === 'signal_verification' ? 'verification' : 'lifecycle'
}

function classifyMeasurement(draft: EventDraft, { fate }: EventDisposition): MeasurementClass {
  if (classifyEvent(draft) === 'verification') return 'modeled'
  return fate === 'deliver' ? 'advertising' : 'ledger_only'
}

/** The caller's word alone says nothing about when; a later withdrawal then always wins. */
function readConsentCapturedAt({ decision }: EventDraft): Date | null {
  if (decision.reason === 'attested_by_basis' || decision.captured_at === null) return null
  return new Date(decision.captured_at)
}

/** The decision as it was made, but for what only the store knew: a withdrawal or an erasure. */
function overrideStoredConsent(
  { consent, decision }: EventDraft,
  verdict: EventDisposition,
): Record<string, unknown> {
  if (decision.outcome !== 'granted' || verdict.fate !== 'withhold') return consent
  const overruled = { outcome: 'withheld', reason: verdict.reason }
  return { ...consent, decision: { ...(consent.decision as object), ...overruled } }
}

/** Only an event on consent may keep identity at all. */
function mayStoreIdentity({ consentBasis }: EventDraft): boolean {
  return consentBasis === 'consent'
}

/**
 * No digest of a body with a visitor that leaves no payload: an erasure would not find the event,
 * and a reader who knows the rest of the body could try visitors against it.
 */
function selectBodyDigest(draft: EventDraft): Buffer {
  return mayStoreIdentity(draft) || draft.visitorId === null ? draft.bodyDigest : Buffer.alloc(0)
}

function buildPayload(
  draft: EventDraft,
  page: string | null,
  routes: readonly DestinationRoute[],
): IdentityPayload | null {
  if (!mayStoreIdentity(draft)) return null
  const { visitorId, digests, plain, clickIds, eventSource } = draft
  const payload: IdentityPayload = { visitorId, digests, plain, clickIds }
  const others = routes.filter(({ platform }) => Object.hasOwn(draft.platforms, platform))
  if (others.length > 0) {
    payload.platforms = Object.fromEntries(
      others.map(({ platform }) => [platform, draft.platforms[platform] as PlatformIdentity]),
    )
  }
  if (eventSource !== null && eventSource !== page) payload.pageUrl = eventSource
  return payload
}

function buildSession({ visitorId, eventSource, clickIds }: EventDraft) {
  return visitorId === null ? null : { visitorId, landingSource: eventSource, clickIds }
}

function planDeliveries(
  draft: EventDraft,
  verdict: EventDisposition,
  grounds: PlanInput,
): PlannedDelivery[] {
  if (verdict.fate === 'keep') return []
  const { trackerId, eventId, space } = draft
  const isOutsideWindow = ({ platform }: DestinationRoute) => {
    const windowEndsAt = grounds.windowEndsAt(platform)
    return windowEndsAt !== null && windowEndsAt <= draft.receivedAt
  }
  const plan = (route: DestinationRoute | null): PlannedDelivery => {
    const { status, statusReason } = decideDeliveryStatus(verdict, route, isOutsideWindow)
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

function decideDeliveryStatus(
  verdict: EventDisposition,
  route: DestinationRoute | null,
  isOutsideWindow: (route: DestinationRoute) => boolean,
): Pick<PlannedDelivery, 'status' | 'statusReason'> {
  if (verdict.fate === 'withhold')
    return { status: 'skipped:consent', statusReason: verdict.reason }
  if (route === null) return { status: 'skipped:no_destination', statusReason: 'no_destination' }
  if (isOutsideWindow(route)) return { status: 'expired', statusReason: 'outside_window' }
  return { status: 'queued', statusReason: 'accepted_for_delivery' }
}

/** A page URL without its query and fragment, which hold click IDs and details of the visitor. */
function stripQueryAndFragment(eventSource: string | null): string | null {
  return eventSource && (/^[^?#]*/.exec(eventSource)?.[0] ?? null)
}
