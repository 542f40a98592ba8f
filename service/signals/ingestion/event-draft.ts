import { type EventSubmission, SUBMISSION_MEMBERS } from '@signalbox/contract/submissions.ts'
import type { EdgeClient } from '../access/authenticate-publishable-key.ts'
import {
  type AcceptedDecision,
  buildConsentRecord,
  type ConsentRecord,
  type StoredConsentOutcome,
} from '../consent/consent-record.ts'
import type { ConsentSignals } from '../consent/consent-signals.ts'
import { isPrivacyMember } from '../consent/read-consent.ts'
import {
  type EventDetails,
  type EventNotes,
  type EventSpace,
  RESTRICTIONS_MEMBER,
  type UseRestrictions,
} from '../events/event-record.ts'
import { computePersonLookup, resolveVisitorId } from '../events/person-identifiers.ts'
import { selectClickIds } from '../identity/click-ids.ts'
import { DROP_REASONS, type DroppedField } from '../identity/dropped-fields.ts'
import type { LookupDigests } from '../identity/lookup-digests.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import { scrubUrl } from '../identity/scrub-url.ts'
import type { AcceptedIdentity, Platform, SubmittedIdentity } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import {
  draftActionSource,
  draftDetails,
  draftOrder,
  draftRestrictions,
  findOrderKey,
  listUnstoredIdentity,
  type OrderDraft,
} from './draft-order.ts'
import { digestBody } from './idempotency.ts'
import { containsIdentifier } from './redact-submission.ts'

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
  decision: AcceptedDecision
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
  platforms: Platforms
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
  const { trackerId, eventId, space = 'secret', receivedAt, eventTime, decision } = input
  const { platforms, edge = null, freeText = null, ignored = [], hasPages } = input
  const redacted = freeText?.redacted ?? []
  const clicks = selectClickIds(body.click_ids)
  const times = { eventTime, observedAt: receivedAt }
  const identity = acceptIdentity(platforms, {
    userData: body.user_data,
    clickIds: clicks.clickIds,
    eventSource: body.event_source,
    ...times,
    edge,
  })
  const source = body.event_source === undefined ? null : scrubUrl(body.event_source)
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
    orderKey: findOrderKey(body.event_name, order, { hasPages, redacted }),
    decision,
    visitorId,
    identityMark: identity.identityMark,
    digests: identity.digests,
    lookup: { ...computePersonLookup(body, times), ...freeText?.lookup },
    plain: identity.plain,
    platforms: identity.platforms,
    clickIds: identity.clickIds,
    details,
    eventSource: source?.url ?? null,
    consent: buildStoredConsent(consent, decision, draftRestrictions(body)),
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
      unknownMembers: [...findUnknownMembers(body), ...ignored],
      redacted,
    },
    bodyDigest: freeText?.bodyDigest ?? digestBody(body, { trackerId, eventId }),
    earlierBodyDigest: freeText?.earlierBodyDigest ?? null,
  }
}

function toDroppedFields(fields: readonly string[], reason: string): DroppedField[] {
  return fields.map(field => ({ field, reason }))
}

/** The submitted `consent` object, plus Consent Mode, TCF, restrictions and the decision. */
function buildStoredConsent(
  { consent, consent_mode, tcf }: ConsentRecord,
  decision: AcceptedDecision,
  restrictions: UseRestrictions | null,
): Record<string, unknown> {
  const { outcome, reason, granted_by, denied_by, inputs, possible_refusals } = decision
  const stored: Record<string, unknown> = { ...consent }
  if (consent_mode) stored.consent_mode = consent_mode
  if (tcf) stored.tcf = tcf
  if (restrictions) stored[RESTRICTIONS_MEMBER] = restrictions
  stored.decision = {
    outcome,
    reason,
    granted_by,
    denied_by,
    inputs: omitAbsentSignals(inputs),
    ...(possible_refusals.length > 0 && { possible_refusals }),
    rules_version: decision.rules_version,
    captured_at: decision.captured_at,
  } satisfies StoredConsentOutcome & Record<string, unknown>
  return stored
}

/** Omits inputs without a signal. */
function omitAbsentSignals(inputs: ConsentSignals): Partial<ConsentSignals> {
  return Object.fromEntries(Object.entries(inputs).filter(([, { why }]) => why !== 'no_signal'))
}

/**
 * Unknown members are ignored, except those that the consent decision reads. Their names are stored
 * to explain why they had no effect; a name that may itself be an identifier becomes `*`.
 */
function findUnknownMembers(body: EventSubmission): string[] {
  const ignored = Object.keys(body).filter(
    name => !SUBMISSION_MEMBERS.has(name) && !isPrivacyMember(name),
  )
  const shown = ignored.map(name => (/^[A-Za-z][A-Za-z_-]{0,39}$/.test(name) ? name : '*'))
  return [...new Set(shown)].slice(0, UNKNOWN_MEMBERS_MAX)
}

/** The part of the registry that acceptance needs. */
export type Platforms = Pick<PlatformRegistry, 'all' | 'default'>

interface IdentityInput extends SubmittedIdentity {
  /** The browser as a trusted edge saw it. */
  edge: EdgeClient | null
}

/** Identity for the default platform, plus that of the other platforms by name. */
interface DraftIdentity extends AcceptedIdentity {
  identityMark: string
  platforms: Record<string, PlatformIdentity>
}

/**
 * Normalizes the identity of an event for every platform while the raw values are in memory. The
 * plan of the event keeps only the identity for the tracker's destinations. They are not looked up
 * here: that would cost one query per request and could differ from the plan. The digests for the
 * default platform are always stored, because reads show them.
 */
export function acceptIdentity(
  { all, default: defaultPlatform }: Platforms,
  input: IdentityInput,
): DraftIdentity {
  const accepted = acceptForPlatform(defaultPlatform, input)
  const platforms: Record<string, PlatformIdentity> = {}
  let { clickIds } = accepted
  for (const platform of all) {
    if (platform.name === defaultPlatform.name) continue
    const other = acceptForPlatform(platform, { ...input, clickIds })
    clickIds = other.clickIds
    platforms[platform.name] = { digests: other.digests, plain: other.plain }
  }
  return { ...accepted, identityMark: defaultPlatform.identityMark, clickIds, platforms }
}

function acceptForPlatform(
  platform: Platform,
  { edge, ...submitted }: IdentityInput,
): AcceptedIdentity {
  const accepted = dropPlainIdentifiers(platform.normalizeIdentity(submitted))
  if (edge === null) return accepted
  const edgeIdentity = dropPlainIdentifiers(normalizeEdgeIdentity(platform, submitted, edge))
  return {
    ...accepted,
    plain: { ...accepted.plain, ...edgeIdentity.plain },
    dropped: accepted.dropped.concat(edgeIdentity.dropped),
  }
}

/** User agents of robots and apps may name an email address; these values are sent as they are. */
function dropPlainIdentifiers<Identity extends Pick<AcceptedIdentity, 'plain' | 'dropped'>>(
  identity: Identity,
): Identity {
  const names = Object.keys(identity.plain).filter(name =>
    containsIdentifier(identity.plain[name] ?? ''),
  )
  if (names.length === 0) return identity
  const plain = Object.entries(identity.plain).filter(([name]) => !names.includes(name))
  const fields = names.map(name => `user_data.${name}`)
  const dropped = toDroppedFields(fields, DROP_REASONS.identifier)
  return {
    ...identity,
    plain: Object.fromEntries(plain),
    dropped: identity.dropped.concat(dropped),
  }
}

/** Applies the rules for identity from a caller with a secret. */
function normalizeEdgeIdentity(
  platform: Platform,
  { eventTime, observedAt }: SubmittedIdentity,
  edge: EdgeClient,
): Pick<AcceptedIdentity, 'plain' | 'dropped'> {
  const { plain, dropped } = platform.normalizeIdentity({
    userData: { client_ip_address: edge.ipAddress, client_user_agent: edge.userAgent },
    clickIds: {},
    eventSource: undefined,
    eventTime,
    observedAt,
  })
  const fieldOf = (field: string) => `${field.replace('user_data.', '')} (edge)`
  return { plain, dropped: dropped.map(({ field, reason }) => ({ field: fieldOf(field), reason })) }
}
