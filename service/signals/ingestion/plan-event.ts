import type { EventClass, MeasurementClass } from '@signalbox/contract/events.ts'
import type { DeliveryOutcome, ReasonOf } from '@signalbox/contract/reasons.ts'
import { findWithdrawalReason } from '../consent/consent-decision.ts'
import type { StoredConsentOutcome } from '../consent/consent-record.ts'
import type { InitialStatus } from '../delivery/delivery-status.ts'
import type { DestinationRoute, PlannedDelivery } from '../delivery/plan-store.ts'
import { findDraftReason, findPlatformNames } from '../delivery/routing.ts'
import { type EventRecord, type IdentityPayload, stripIdentity } from '../events/event-record.ts'
import { type Withdrawals, withdrawalsOf } from '../events/withdrawal-store.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import { storesIdentity } from './draft-order.ts'
import type { EventDraft } from './event-draft.ts'

export interface PlanInput {
  /** The latest withdrawals of the person. `unchecked` assumes that there is none. */
  withdrawals: Withdrawals | 'unchecked'
  /** The keys that the insert checks while `withdrawals` is unchecked; all: of its tracker. */
  withdrawalKeys?: 'all' | readonly string[]
  /** Whether the person was erased. Default: `unchecked`, which assumes not. */
  erasure?: ErasureState
  routes: readonly DestinationRoute[]
  /** When the named platform stops accepting this event. Null for a platform unknown here. */
  windowEndsAt: (platform: string) => Date | null
  /** Whether the named platform needs an entry of the destination's map. Default: no. */
  needsPlatformName?: (platform: string) => boolean
  /** Whether the event gives an earlier one a new value at the named platform. Default: no. */
  restatesValue?: (platform: string) => boolean
  /** The click IDs that the named platform leaves at visitors. Default: none. */
  clickIdNames?: (platform: string) => readonly string[]
  nextDeliveryId: () => number
}

export type ErasureState =
  | 'unchecked'
  | {
      /** The digests of this person that were erased. */
      erased: ReadonlySet<string>
      /** Every digest of this person, keyed. The insert fails if one of them was erased since. */
      keyed: readonly string[]
    }

/** Whether the event is delivered, stored with skipped deliveries, or only stored. */
type EventDisposition =
  | { kind: 'deliver' }
  | { kind: 'withhold'; reason: Exclude<ReasonOf<'skipped:consent'>, PlatformReason> }
  | { kind: 'store' }

/** Reasons of one delivery, which say nothing about the event. */
type PlatformReason =
  | 'consent_refused_for_platform'
  | 'consent_not_decided'
  | 'purchase_withdrawn'
  | 'purchase_erased'

/** Turns a draft into an event record and its planned deliveries. Pure except for delivery IDs. */
export function planEvent(
  draft: EventDraft,
  input: PlanInput,
): { record: EventRecord; deliveries: PlannedDelivery[] } {
  const disposition = decideDisposition(draft, input)
  const assumptions = buildAssumptions(draft, input)
  const record = buildEventRecord(draft, disposition, { ...assumptions, input })
  const erased = findErasedDigests(input)
  return {
    record: erased.size === 0 ? record : stripIdentity(record, erased),
    deliveries: planDeliveries(draft, disposition, input),
  }
}

function decideDisposition(draft: EventDraft, input: PlanInput): EventDisposition {
  const { decision, receivedAt } = draft
  const { withdrawals } = input
  switch (decision.outcome) {
    case 'granted': {
      if (findErasedDigests(input).size > 0) return { kind: 'withhold', reason: 'erased' }
      if (withdrawals === 'unchecked') return { kind: 'deliver' }
      const reason = findWithdrawalReason(decision, { ...withdrawals, receivedAt })
      return reason ? { kind: 'withhold', reason } : { kind: 'deliver' }
    }
    case 'withheld':
      return { kind: 'withhold', reason: decision.reason }
    case 'ledger_only':
      return { kind: 'store' }
  }
}

const NO_DIGESTS: ReadonlySet<string> = new Set()

function findErasedDigests({ erasure = 'unchecked' }: PlanInput): ReadonlySet<string> {
  return erasure === 'unchecked' ? NO_DIGESTS : erasure.erased
}

type Assumptions = Required<Pick<EventRecord, 'assumedNotWithdrawn' | 'assumedNotErased'>>

/** What the insert verifies. If an assumption is wrong, the insert leaves the event out. */
function buildAssumptions(
  draft: EventDraft,
  { withdrawals, withdrawalKeys = [], erasure = 'unchecked' }: PlanInput,
): Assumptions {
  const isAssumed = withdrawals === 'unchecked' && draft.decision.outcome === 'granted'
  const assumedNotWithdrawn = isAssumed ? withdrawalKeys : []
  if (erasure === 'unchecked') return { assumedNotWithdrawn, assumedNotErased: 'all' }
  return { assumedNotWithdrawn, assumedNotErased: erasure.erased.size > 0 ? [] : erasure.keyed }
}

function buildEventRecord(
  draft: EventDraft,
  disposition: EventDisposition,
  { assumedNotWithdrawn, assumedNotErased, input }: Assumptions & { input: PlanInput },
): EventRecord {
  const { decision, eventTime, receivedAt, order } = draft
  const page = stripQueryAndFragment(draft.eventSource)
  const isGranted = disposition.kind === 'deliver'
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
    measurementClass: classifyMeasurement(draft, disposition),
    attributionJoin: isGranted ? 'allowed' : 'none',
    enforcementScope: draft.consentBasis === 'consent' ? 'event' : 'ledger',
    consentNormalizationVersion: decision.rules_version,
    consentCapturedAt: readConsentCapturedAt(draft),
    eventSource: page,
    parentEventId: draft.parentEventId,
    orderId: order?.orderId ?? null,
    orderKey: draft.orderKey,
    refundKey: draft.refundKey,
    valueAmount: order?.amount ?? null,
    valueCurrency: order?.currency ?? null,
    valueData: order?.json ?? null,
    consent: JSON.stringify(overrideStoredConsent(draft, disposition)),
    notes: draft.notes,
    bodyDigest: selectBodyDigest(draft),
    payload: buildPayload(draft, page, input.routes),
    session: isGranted ? buildSession(draft, input) : null,
    withdrawnKeys: draft.withdrawnKeys,
    assumedNotWithdrawn,
    assumedNotErased,
  }
}

function classifyEvent({ eventName, decision }: EventDraft): EventClass {
  if (decision.outcome !== 'ledger_only') return 'conversion'
  return eventName === 'signal_verification' ? 'verification' : 'lifecycle'
}

function classifyMeasurement(draft: EventDraft, { kind }: EventDisposition): MeasurementClass {
  if (classifyEvent(draft) === 'verification') return 'modeled'
  return kind === 'deliver' ? 'advertising' : 'ledger_only'
}

/** A mere attestation has no capture time, so a later withdrawal always overrides it. */
function readConsentCapturedAt({ decision }: EventDraft): Date | null {
  if (decision.reason === 'attested_by_basis' || decision.captured_at === null) return null
  return new Date(decision.captured_at)
}

/** The consent decision, overridden if a stored withdrawal or erasure withholds the event. */
function overrideStoredConsent(
  { consent, decision }: EventDraft,
  disposition: EventDisposition,
): Record<string, unknown> {
  if (decision.outcome !== 'granted' || disposition.kind !== 'withhold') return consent
  const override: StoredConsentOutcome = { outcome: 'withheld', reason: disposition.reason }
  return { ...consent, decision: { ...(consent.decision as object), ...override } }
}

/**
 * Only events with the basis `consent` may store identity. A withdrawal keeps its identifiers as
 * keyed digests, which are not deleted with the payload.
 */
function mayStoreIdentity({ consentBasis, eventName }: EventDraft): boolean {
  return storesIdentity({ consent_basis: consentBasis, event_name: eventName })
}

/**
 * Omits the digest of a body that names a person if the event stores no payload. An erasure would
 * not find such an event, and a digest lets a reader who knows the rest of the body guess them.
 */
function selectBodyDigest(draft: EventDraft): Buffer {
  const namesPerson =
    draft.visitorId !== null || Object.keys({ ...draft.digests, ...draft.lookup }).length > 0
  return mayStoreIdentity(draft) || !namesPerson ? draft.bodyDigest : Buffer.alloc(0)
}

function buildPayload(
  draft: EventDraft,
  page: string | null,
  routes: readonly DestinationRoute[],
): IdentityPayload | null {
  if (!mayStoreIdentity(draft)) return null
  const { visitorId, identityMark, digests, lookup, plain, clickIds, details, eventSource } = draft
  const payload: IdentityPayload = { visitorId, identityMark, digests, lookup, plain, clickIds }
  const others = routes.filter(({ platform }) => Object.hasOwn(draft.platforms, platform))
  if (others.length > 0) {
    payload.platforms = Object.fromEntries(
      others.map(({ platform }) => [platform, draft.platforms[platform] as PlatformIdentity]),
    )
  }
  const names = findPlatformNames(draft.eventName, routes)
  if (names !== null) payload.platformNames = names
  if (eventSource !== null && eventSource !== page) payload.pageUrl = eventSource
  if (details !== null) payload.details = details
  return payload
}

/** Without the click IDs of platforms for which the person withdrew consent. */
function buildSession(
  { visitorId, eventSource, clickIds, decision, receivedAt }: EventDraft,
  { withdrawals, clickIdNames }: PlanInput,
) {
  if (visitorId === null || decision.outcome !== 'granted') return null
  const kept = { ...clickIds }
  const isDue = withdrawals !== 'unchecked'
  for (const [platform, own] of (isDue && withdrawals.byPlatform) || []) {
    if (findWithdrawalReason(decision, { ...own, receivedAt }) === null) continue
    for (const name of clickIdNames?.(platform) ?? []) delete kept[name]
  }
  return { visitorId, landingSource: eventSource, clickIds: kept, isDue }
}

function planDeliveries(
  draft: EventDraft,
  disposition: EventDisposition,
  input: PlanInput,
): PlannedDelivery[] {
  if (disposition.kind === 'store') return []
  const { trackerId, eventId, space } = draft
  const isOutsideWindow = ({ platform }: DestinationRoute) => {
    const windowEndsAt = input.windowEndsAt(platform)
    return windowEndsAt !== null && windowEndsAt <= draft.receivedAt
  }
  const plan = (route: DestinationRoute | null): PlannedDelivery => {
    const { withdrawals, needsPlatformName: needsName, restatesValue } = input
    const toPlan = { route, isOutsideWindow, withdrawals, needsName, restatesValue }
    const { status, reason } = decideDeliveryStatus(draft, disposition, toPlan)
    return {
      trackerId,
      eventId,
      space,
      id: input.nextDeliveryId(),
      destinationId: route?.id ?? null,
      isTest: route?.isTest ?? false,
      status,
      statusReason: reason,
    }
  }
  return input.routes.length === 0 ? [plan(null)] : input.routes.map(plan)
}

interface RouteToPlan {
  /** Null for an event of a tracker without destinations. */
  route: DestinationRoute | null
  isOutsideWindow: (route: DestinationRoute) => boolean
  withdrawals: PlanInput['withdrawals']
  needsName: PlanInput['needsPlatformName']
  restatesValue: PlanInput['restatesValue']
}

function decideDeliveryStatus(
  draft: EventDraft,
  disposition: EventDisposition,
  { route, isOutsideWindow, withdrawals, needsName, restatesValue }: RouteToPlan,
): DeliveryOutcome<InitialStatus> {
  const { decision, platformDecisions, receivedAt } = draft
  const skip = (reason: ReasonOf<'skipped:consent'>) =>
    ({ status: 'skipped:consent', reason }) as const
  // A withdrawal or an erasure is about the person, whatever the platform.
  const isOfPerson = disposition.kind === 'withhold' && decision.outcome === 'granted'
  if (isOfPerson) return skip(disposition.reason)
  if (route === null) {
    if (disposition.kind === 'withhold') return skip(disposition.reason)
    return { status: 'skipped:no_destination', reason: 'no_destination' }
  }
  const own = platformDecisions.get(route.platform)
  if (own === undefined) return skip('consent_not_decided')
  if (own.outcome === 'denied') return skip('consent_refused_for_platform')
  if (own.outcome === 'withheld') return skip(own.reason)
  if (own.outcome === 'granted' && withdrawals !== 'unchecked') {
    const latest = withdrawalsOf(withdrawals, route.platform)
    const withdrawn = findWithdrawalReason(own, { ...latest, receivedAt })
    if (withdrawn !== null) return skip(withdrawn)
  }
  if (isOutsideWindow(route)) return { status: 'expired', reason: 'outside_window' }
  const routed = { ...route, restatesValue: restatesValue?.(route.platform) ?? false }
  const unselected = findDraftReason(draft, routed, needsName?.(route.platform))
  if (unselected) return { status: 'skipped:not_selected', reason: unselected }
  return { status: 'queued', reason: 'accepted_for_delivery' }
}

/** A page URL without its query and fragment, which hold click IDs and details of the visitor. */
function stripQueryAndFragment(eventSource: string | null): string | null {
  return eventSource?.split(/[?#]/, 1)[0] ?? null
}
