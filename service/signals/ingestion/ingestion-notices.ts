import type { IngestionNotice } from '@signalbox/contract/submissions.ts'
import { findDecidingField } from '../consent/platform-decisions.ts'
import { PARTIAL_REASONS } from '../identity/dropped-fields.ts'
import type { EventDraft } from './event-draft.ts'

/** A hostile body has thousands of members; the first ones tell the caller what is wrong. */
export const NOTICES_MAX = 100

/**
 * The `notices` of a 202: what the caller sent that does not count in full. Built from what is
 * stored with the event, so that the answer and the trace agree. Names members and reasons, never a
 * submitted value.
 */
export function buildNotices(
  draft: Pick<EventDraft, 'notes' | 'decision' | 'platformDecisions'>,
): IngestionNotice[] {
  return [
    ...buildConsentNotices(draft),
    ...buildPlatformNotices(draft),
    ...draft.notes.redacted.map(buildRedactedNotice),
    ...draft.notes.dropped.map(buildDroppedNotice),
    ...draft.notes.unknownMembers.map(buildIgnoredNotice),
  ].slice(0, NOTICES_MAX)
}

/** Inputs that were sent and read as neither granted nor denied, and refusals in words. */
function buildConsentNotices({ decision }: Pick<EventDraft, 'decision'>): IngestionNotice[] {
  const unread = Object.values(decision.inputs).filter(
    ({ state, why }) => state === 'unknown' && !SAID_OTHERWISE.has(why),
  )
  return [
    ...decision.possible_refusals.map(buildRefusalNotice),
    ...unread.map(
      ({ field, why }): IngestionNotice => ({
        code: 'consent_unreadable',
        field,
        message: `The ${field} field is neither granted nor denied (${why}): it grants nothing.`,
      }),
    ),
  ]
}

/** Platforms that are refused or withheld, while others may get the event. */
function buildPlatformNotices({
  decision,
  platformDecisions,
}: Pick<EventDraft, 'decision' | 'platformDecisions'>): IngestionNotice[] {
  const refusals: IngestionNotice[] = []
  for (const [platform, own] of platformDecisions) {
    if (own.outcome === decision.outcome || own.outcome === 'ledger_only') continue
    const field = findDecidingField(own) ?? 'consent'
    const verb = own.outcome === 'denied' ? 'refuses' : 'does not grant'
    refusals.push({
      code: 'consent_refused_for_platform',
      field,
      message: `The ${field} field ${verb} ${platform}: the event is not sent there.`,
    })
  }
  return refusals
}

/** Nothing to say about these, or a notice of its own. */
const SAID_OTHERWISE: ReadonlySet<string> = new Set(['no_signal', 'not_read', 'possible_refusal'])

function buildRefusalNotice(field: string): IngestionNotice {
  return {
    code: 'consent_unreadable',
    field,
    message:
      `The ${field} field refuses advertising by its words, so the event is stored and not sent. ` +
      'If it says something else, leave it out, and say in consent.advertising what was chosen.',
  }
}

function buildRedactedNotice(field: string): IngestionNotice {
  return {
    code: 'member_redacted',
    field,
    message:
      `The ${field} field held an email address or a phone number; a token is stored in its ` +
      'place, and no platform gets the field. Send identifiers in user_data.',
  }
}

function buildDroppedNotice({ field, reason }: { field: string; reason: string }): IngestionNotice {
  const because = reason.charAt(0).toLowerCase() + reason.slice(1).replace(/\.$/, '')
  const message = PARTIAL_REASONS.has(reason)
    ? `The ${field} field does not count in full. ${reason}`
    : `The ${field} field was dropped: ${because}.`
  return { code: 'member_dropped', field, message }
}

function buildIgnoredNotice(field: string): IngestionNotice {
  return {
    code: 'member_ignored',
    field,
    message: field.startsWith('user_data.')
      ? `The ${field} field was ignored: a page withdraws consent for its visitor_id only.`
      : field === 'withdrawn_platforms'
        ? `The ${field} field was ignored: it counts in a consent_withdrawal only.`
        : `The ${field} field is not a member of this API and was ignored.`,
  }
}

/**
 * The notice of a 200 whose body differs from the stored one, such as a Purchase under the ID of an
 * InitiateCheckout. What differs is not known: the store has a digest of the first body.
 */
export const DIFFERS_FROM_STORED: IngestionNotice = {
  code: 'differs_from_stored',
  field: 'event_id',
  message:
    'The event_id field names a stored event with a different body, which counts; this one was ' +
    'neither stored nor sent. Give each event its own event_id, whatever its event_name.',
}
