import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import type { EdgeClient } from '../access/browser-caller.ts'
import type { ConsentDecision } from '../consent/consent-decision.ts'
import { consentRecord } from '../consent/consent-record.ts'
import { resolveClickIds } from '../identity/click-ids.ts'
import { REASONS } from '../identity/dropped.ts'
import { FIELD_RULES } from '../identity/field-rules.ts'
import { normalizeUserData } from '../identity/normalize-user-data.ts'
import { preparedText } from '../identity/prepared-text.ts'
import { scrubUrl } from '../identity/scrub-url.ts'
import { visitorKey } from '../identity/visitor-key.ts'
import type { EventNotes } from '../ledger/ledger-entry.ts'
import { bodyDigest } from './body-digest.ts'
import { edgeIdentity } from './edge-identity.ts'

/** An accepted submission with its identity hashed, before it is known who withdrew consent. */
export interface EventDraft {
  trackerId: string
  eventId: string
  receivedAt: Date
  eventTime: Date
  body: EventSubmission
  decision: ConsentDecision
  visitorId: string | null
  digests: Record<string, string[]>
  plain: Record<string, string>
  clickIds: Record<string, string>
  eventSource: string | null
  consent: Record<string, unknown>
  notes: EventNotes
  bodyDigest: Buffer
}

export interface DraftGrounds {
  trackerId: string
  eventId: string
  receivedAt: Date
  eventTime: Date
  decision: ConsentDecision
  /** What a trusted edge saw of the browser. It is no part of the body that is compared. */
  edge?: EdgeClient | null
}

const NOTED_MEMBERS_MAX = 20

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
export function draftEvent(body: EventSubmission, grounds: DraftGrounds): EventDraft {
  const { edge = null, ...moment } = grounds
  const { trackerId, eventId, receivedAt, decision } = moment
  const identity = normalizeUserData(body.user_data)
  const seen = edgeIdentity(edge)
  const clicks = resolveClickIds({
    clickIds: body.click_ids,
    userData: body.user_data,
    eventSource: body.event_source,
    observedAt: receivedAt,
  })
  const source = body.event_source === undefined ? null : scrubUrl(body.event_source)
  const scrubbed = source?.scrubbed.map(place => `event_source (${place})`) ?? []
  const { dropped, dropped_unnamed: _, ...consent } = consentRecord(body)
  const visitorId = visitorOf(body.visitor_id)
  return {
    ...moment,
    body,
    visitorId,
    digests: identity.digests,
    plain: { ...identity.plain, ...seen.plain },
    clickIds: {
      ...clicks.clickIds,
      ...(clicks.fbc === null ? {} : { fbc: clicks.fbc }),
      ...(clicks.fbp === null ? {} : { fbp: clicks.fbp }),
    },
    eventSource: source?.url ?? null,
    consent: consentView(consent, decision),
    notes: {
      dropped: [
        ...identity.dropped,
        ...seen.dropped,
        ...clicks.dropped,
        ...noted(scrubbed, 'held an identifier'),
        ...noted(dropped, 'not part of a consent state'),
        ...noted(body.visitor_id && !visitorId ? ['visitor_id'] : [], REASONS.placeholder),
      ],
      unknownMembers: unknownMembers(body),
    },
    bodyDigest: bodyDigest(body, { trackerId, eventId }),
  }
}

function noted(fields: string[], reason: string): EventNotes['dropped'] {
  return fields.map(field => ({ field, reason }))
}

/**
 * Null for blank text and for what a variable leaves that was never filled ("undefined"): it would
 * make one visitor of all who share the mistake, and join one's clicks to another's purchase.
 */
function visitorOf(visitorId = ''): string | null {
  const prepared = preparedText(visitorId)
  const isFilled = prepared !== '' && FIELD_RULES.external_id.normalize(prepared, null) !== null
  return isFilled ? visitorKey(visitorId) : null
}

type StoredConsent = Omit<ReturnType<typeof consentRecord>, 'dropped' | 'dropped_unnamed'>

/** The supplied state, with the other two signals and our decision as members of their own. */
function consentView(
  { consent, consent_mode, tcf }: StoredConsent,
  { outcome, reason, granted_by, denied_by, inputs, rules_version, captured_at }: ConsentDecision,
): Record<string, unknown> {
  const spoken = Object.entries(inputs).filter(([, { why }]) => why !== 'no_signal')
  return {
    ...consent,
    ...(consent_mode && { consent_mode }),
    ...(tcf && { tcf }),
    decision: {
      outcome,
      reason,
      granted_by,
      denied_by,
      inputs: Object.fromEntries(spoken),
      rules_version,
      captured_at,
    },
  }
}

/** Tolerated and ignored, but somebody may wonder later why a member had no effect. */
function unknownMembers(body: object): string[] {
  return Object.keys(body)
    .filter(name => !KNOWN_MEMBERS.has(name) && /^[A-Za-z][A-Za-z_-]{0,39}$/.test(name))
    .slice(0, NOTED_MEMBERS_MAX)
}
