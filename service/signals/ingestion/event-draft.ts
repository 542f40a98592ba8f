import { type EventSubmission, SUBMISSION_MEMBERS } from '@signalbox/contract/submissions.ts'
import type { EdgeClient } from '../access/authenticate-publishable-key.ts'
import {
  type AcceptedDecision,
  buildConsentRecord,
  type ConsentRecord,
} from '../consent/consent-record.ts'
import { type PlatformDecisions, toStoredDecision } from '../consent/platform-decisions.ts'
import { isPrivacyMember } from '../consent/read-consent.ts'
import {
  type EventDetails,
  type EventNotes,
  type EventSpace,
  RESTRICTIONS_MEMBER,
  type UseRestrictions,
} from '../events/event-record.ts'
import { computePersonLookup, resolveVisitorId } from '../events/person-identifiers.ts'
import { collectClickIds } from '../identity/click-ids.ts'
import { DROP_REASONS, type DroppedField } from '../identity/dropped-fields.ts'
import type { LookupDigests } from '../identity/lookup-digests.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import { scrubUrl } from '../identity/scrub-url.ts'
import { withSharedReadings } from '../identity/shared-readings.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'
import { acceptIdentity, selectGranted, toDroppedFields } from './accept-identity.ts'
import {
  draftActionSource,
  draftDetails,
  draftOrder,
  draftRestrictions,
  findOrderKey,
  findRefundKey,
  listUnstoredIdentity,
  type OrderDraft,
} from './draft-order.ts'
import { digestBody } from './idempotency.ts'

/**
 * A valid submission with hashed identifiers, before withdrawals and erasures are checked. It keeps
 * no reference to the submission: hundreds of drafts wait for their commit, and they must be small
 * and free of raw identifiers.
 */
export interface EventDraft {
  trackerId: string
  eventId: string
  space: EventSpace
  receivedAt: Date
  eventTime: Date
  eventName: string
  actionSource: string
  consentBasis: EventSubmission['consent_basis']
  parentEventId: string | null
  order: OrderDraft | null
  /** Null for an event that is never looked up by its order. */
  orderKey: string | null
  /** Null for all events but refunds that name their parent. */
  refundKey: string | null
  decision: AcceptedDecision
  /** That about each platform of the tracker, by name. */
  platformDecisions: PlatformDecisions
  visitorId: string | null
  identityMark: string
  digests: Record<string, string[]>
  /** Computed for every event, whatever its platforms. */
  lookup: LookupDigests
  plain: Record<string, string>
  /** Identity for each platform except the default one, by platform name. */
  platforms: Record<string, PlatformIdentity>
  clickIds: Record<string, string>
  /** Null when there are none. */
  details: EventDetails | null
  eventSource: string | null
  consent: Record<string, unknown>
  /** The platforms that a `consent_withdrawal` names; empty: every one. */
  withdrawnPlatforms: readonly string[]
  /** The keys under which a `consent_withdrawal` is stored; see withdraw-consent.ts. */
  withdrawnKeys: readonly string[]
  notes: EventNotes
  bodyDigest: Buffer
  /** The digest that earlier versions took, where it differs; see `FreeTextRedaction`. */
  earlierBodyDigest: Buffer | null
}

/** What was replaced in the text of an event. */
export interface FreeTextRedaction extends Pick<EventDraft, 'bodyDigest' | 'earlierBodyDigest'> {
  /** Members in which tokens have replaced identifiers. */
  redacted: string[]
  /** The first member whose identifier is not in the lookup, if there is one. */
  overflow: string[]
  lookup: Pick<LookupDigests, 'free_text'>
}

interface DraftInput {
  trackerId: string
  eventId: string
  space?: EventSpace
  receivedAt: Date
  eventTime: Date
  decision: AcceptedDecision
  /** Those of the tracker. */
  platforms: SelectedPlatforms
  /** Default: `decision` for every platform. */
  platformDecisions?: PlatformDecisions
  /** The vendors whose click IDs are not kept. Default: none. */
  refusedVendors?: ReadonlySet<string>
  /** The browser as a trusted edge saw it. Not part of the body digest. */
  edge?: EdgeClient | null
  /** Default: null, when free text holds no identifier. */
  freeText?: FreeTextRedaction | null
  /** Known members that count for nothing in this event, as paths. Default: none. */
  ignored?: string[]
  /** Pages may report the same order: the event is looked up by it. Default: false. */
  hasPages?: boolean
}
const UNKNOWN_MEMBERS_MAX = 20

/** Reduces a submission to what may be stored: hashes identifiers, scrubs URLs, drops the rest. */
export function draftEvent(body: EventSubmission, input: DraftInput): EventDraft {
  const hasSeveralPlatforms = input.platforms.all.length > 1
  return withSharedReadings({ hasSeveralPlatforms }, () => buildDraft(body, input))
}

function buildDraft(body: EventSubmission, input: DraftInput): EventDraft {
  const { trackerId, eventId, space = 'secret', receivedAt, eventTime, decision } = input
  const { edge = null, freeText = null, ignored = [], hasPages } = input
  const redacted = freeText?.redacted ?? []
  const decisions = input.platformDecisions ?? decideAlike(input)
  const clicks = collectClickIds(body, input.refusedVendors)
  const times = { eventTime, observedAt: receivedAt }
  const identity = acceptIdentity(selectGranted(input.platforms, decisions), {
    userData: body.user_data,
    clickIds: clicks.clickIds,
    eventSource: clicks.eventSource,
    ...times,
    edge,
  })
  const source = clicks.eventSource === undefined ? null : scrubUrl(clicks.eventSource)
  const scrubbed = (source?.scrubbed ?? []).map(place => `event_source (${place})`)
  const consent = buildConsentRecord(body)
  const visitorId = resolveVisitorId(body.visitor_id)
  const placeholders = body.visitor_id && visitorId === null ? ['visitor_id'] : []
  const dropped: DroppedField[] = []
  const order = draftOrder(body.value_data, dropped)
  const details = draftDetails(body, dropped)
  return {
    trackerId,
    eventId,
    space,
    receivedAt,
    eventTime,
    eventName: body.event_name,
    actionSource: draftActionSource(body, dropped),
    consentBasis: body.consent_basis,
    parentEventId: body.parent_event_id || null,
    order,
    orderKey: findOrderKey(body, order, { hasPages, redacted }),
    refundKey: findRefundKey(body),
    decision,
    platformDecisions: decisions,
    visitorId,
    identityMark: identity.identityMark,
    digests: identity.digests,
    lookup: { ...computePersonLookup(body, times), ...freeText?.lookup },
    plain: identity.plain,
    platforms: identity.platforms,
    clickIds: identity.clickIds,
    details,
    eventSource: source?.url ?? null,
    consent: buildStoredConsent(consent, { decision, decisions }, draftRestrictions(body)),
    withdrawnPlatforms: [...new Set(body.withdrawn_platforms)],
    withdrawnKeys: [],
    notes: {
      dropped: identity.dropped.concat(
        clicks.dropped,
        toDroppedFields(scrubbed, 'held an identifier'),
        toDroppedFields(consent.dropped, 'not stored with the consent'),
        toDroppedFields(placeholders, DROP_REASONS.placeholder),
        toDroppedFields(listUnstoredIdentity(body), 'events of this kind keep no identity'),
        toDroppedFields(freeText?.overflow ?? [], DROP_REASONS.freeText),
        dropped,
      ),
      unknownMembers: [...findUnknownMembers(body), ...listUncounted(body), ...ignored],
      redacted,
    },
    bodyDigest: freeText?.bodyDigest ?? digestBody(body, { trackerId, eventId }),
    earlierBodyDigest: freeText?.earlierBodyDigest ?? null,
  }
}

function decideAlike({ platforms, decision }: DraftInput): PlatformDecisions {
  return new Map(platforms.all.map(({ name }) => [name, decision]))
}

/** The submitted `consent` object, plus Consent Mode, TCF, restrictions and the decision. */
function buildStoredConsent(
  { consent, consent_mode, tcf }: ConsentRecord,
  { decision, decisions }: { decision: AcceptedDecision; decisions: PlatformDecisions },
  restrictions: UseRestrictions | null,
): Record<string, unknown> {
  const stored: Record<string, unknown> = { ...consent }
  if (consent_mode) stored.consent_mode = consent_mode
  if (tcf) stored.tcf = tcf
  if (restrictions) stored[RESTRICTIONS_MEMBER] = restrictions
  stored.decision = toStoredDecision(decision, decisions)
  return stored
}

function listUncounted({ event_name, withdrawn_platforms }: EventSubmission): string[] {
  const counts = event_name === 'consent_withdrawal' || withdrawn_platforms === undefined
  return counts ? [] : ['withdrawn_platforms']
}

/**
 * Unknown members are ignored, except those that the consent decision reads. Their names are stored
 * to explain why they had no effect; a name that may itself be an identifier becomes `*`.
 */
function findUnknownMembers(body: EventSubmission): string[] {
  const ignored = Object.keys(body).filter(
    name => !SUBMISSION_MEMBERS.has(name) && !isPrivacyMember(name),
  )
  const shown = ignored.map(name => (/^_{0,2}[A-Za-z][A-Za-z_-]{0,39}$/.test(name) ? name : '*'))
  return [...new Set(shown)].slice(0, UNKNOWN_MEMBERS_MAX)
}
