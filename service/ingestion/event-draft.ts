import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import type { EdgeClient } from '../access/authenticate-browser.ts'
import type { ConsentDecision, ConsentSignals } from '../consent/consent-decision.ts'
import { buildConsentRecord, type ConsentRecord } from '../consent/consent-record.ts'
import type { EventNotes } from '../events/event-record.ts'
import type { EventSpace } from '../events/event-ref.ts'
import { selectClickIds } from '../identity/click-ids.ts'
import { DROP_REASONS } from '../identity/dropped-fields.ts'
import { normalizeText, pseudonymizeVisitorId } from '../identity/identifier-digest.ts'
import { isPlaceholder } from '../identity/identifier-formats.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import { scrubUrl } from '../identity/scrub-url.ts'
import { acceptIdentity, type Platforms } from './accept-identity.ts'
import { digestBody } from './body-digest.ts'

/**
 * An accepted submission with its identity hashed, before it is known who withdrew consent. It
 * holds nothing of the submission itself: drafts wait for their commit by the hundred, and what
 * waits must be neither large nor raw.
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
  decision: ConsentDecision
  visitorId: string | null
  digests: Record<string, string[]>
  plain: Record<string, string>
  /** The identity for every other platform, by its name. */
  platforms: Record<string, PlatformIdentity>
  clickIds: Record<string, string>
  eventSource: string | null
  consent: Record<string, unknown>
  notes: EventNotes
  bodyDigest: Buffer
}

export interface OrderDraft {
  orderId: string | null
  /** Decimal text. */
  amount: string | null
  currency: string | null
  /** JSON text of all that is kept, these three included. */
  json: string
}

export interface DraftInput {
  trackerId: string
  eventId: string
  /** The secret's when left out. */
  space?: EventSpace
  receivedAt: Date
  eventTime: Date
  decision: ConsentDecision
  platforms: Platforms
  /** What a trusted edge saw of the browser. It is no part of the body that is compared. */
  edge?: EdgeClient | null
}

const UNKNOWN_MEMBERS_MAX = 20

const KNOWN_MEMBERS = new Set([
  'event_id',
  'event_name',
  'parent_event_id',
  'event_time',
  'event_source',
  'action_source',
  'visitor_id',
  'consent_basis',
  'consent',
  'consent_mode',
  'tcf',
  'user_data',
  'click_ids',
  'value_data',
])

/** Hashes, scrubs and cuts a submission down to what may be stored. Nothing raw outlives this. */
export function draftEvent(body: EventSubmission, grounds: DraftInput): EventDraft {
  const { trackerId, eventId, space = 'secret', receivedAt, eventTime, decision } = grounds
  const { edge = null } = grounds
  const clicks = selectClickIds(body.click_ids)
  const identity = acceptIdentity(grounds.platforms, {
    userData: body.user_data,
    clickIds: clicks.clickIds,
    eventSource: body.event_source,
    observedAt: receivedAt,
    edge,
  })
  const source = body.event_source === undefined ? null : scrubUrl(body.event_source)
  const consent = buildConsentRecord(body)
  const visitorId = resolveVisitorId(body.visitor_id)
  const lost = body.visitor_id && visitorId === null ? ['visitor_id'] : []
  return {
    trackerId,
    eventId,
    space,
    receivedAt,
    eventTime,
    eventName: body.event_name,
    actionSource: body.action_source || 'website',
    consentBasis: body.consent_basis,
    parentEventId: body.parent_event_id || null,
    order: body.value_data ? draftOrder(body.value_data) : null,
    decision,
    visitorId,
    digests: identity.digests,
    plain: identity.plain,
    platforms: identity.platforms,
    clickIds: identity.clickIds,
    eventSource: source?.url ?? null,
    consent: buildStoredConsent(consent, decision),
    notes: {
      dropped: identity.dropped.concat(
        clicks.dropped,
        toDroppedFields(
          source?.scrubbed ?? [],
          place => `event_source (${place})`,
          'held an identifier',
        ),
        toDroppedFields(consent.dropped, field => field, 'not part of a consent state'),
        toDroppedFields(lost, field => field, DROP_REASONS.placeholder),
      ),
      unknownMembers: findUnknownMembers(body),
    },
    bodyDigest: digestBody(body, { trackerId, eventId }),
  }
}

function draftOrder(value: NonNullable<EventSubmission['value_data']>): OrderDraft {
  const { value: amount, order_id, contents, num_items } = value
  const currency = value.currency?.toUpperCase()
  return {
    orderId: order_id ?? null,
    amount: amount ?? null,
    currency: currency ?? null,
    json: JSON.stringify({ value: amount, currency, order_id, contents, num_items }),
  }
}

function toDroppedFields(
  places: string[],
  fieldOf: (place: string) => string,
  reason: string,
): EventNotes['dropped'] {
  return places.map(place => ({ field: fieldOf(place), reason }))
}

/**
 * Null for blank text and for what a variable leaves that was never filled ("undefined"): it would
 * make one visitor of all who share the mistake, and join one's clicks to another's purchase.
 */
function resolveVisitorId(visitorId = ''): string | null {
  const prepared = normalizeText(visitorId)
  const isFilled = prepared !== '' && !isPlaceholder(prepared)
  return isFilled ? pseudonymizeVisitorId(visitorId) : null
}

/** The supplied state, with the other two signals and our decision as members of their own. */
function buildStoredConsent(
  { consent, consent_mode, tcf }: ConsentRecord,
  { outcome, reason, granted_by, denied_by, inputs, rules_version, captured_at }: ConsentDecision,
): Record<string, unknown> {
  const view: Record<string, unknown> = { ...consent }
  if (consent_mode) view.consent_mode = consent_mode
  if (tcf) view.tcf = tcf
  view.decision = {
    outcome,
    reason,
    granted_by,
    denied_by,
    inputs: omitSilentInputs(inputs),
    rules_version,
    captured_at,
  }
  return view
}

/** Silence is not stored. */
function omitSilentInputs(inputs: ConsentSignals): Partial<ConsentSignals> {
  const spoken: Partial<ConsentSignals> = {}
  for (const source of CONSENT_INPUT_NAMES) {
    if (inputs[source].why !== 'no_signal') spoken[source] = inputs[source]
  }
  return spoken
}

const CONSENT_INPUT_NAMES = ['consent', 'tcf', 'consent_mode', 'gpc'] as const

/** Tolerated and ignored, but a reader may wonder later why a member had no effect. */
function findUnknownMembers(body: object): string[] {
  const unknown: string[] = []
  for (const name of Object.keys(body)) {
    if (KNOWN_MEMBERS.has(name) || !/^[A-Za-z][A-Za-z_-]{0,39}$/.test(name)) continue
    if (unknown.length < UNKNOWN_MEMBERS_MAX) unknown.push(name)
  }
  return unknown
}
