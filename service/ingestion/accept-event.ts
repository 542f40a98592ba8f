import { randomUUID } from 'node:crypto'
import { EventSubmission, type IngestionWarning } from '@signalbox/contract/submissions.ts'
import type { TrackerIdentity } from '../access/store.ts'
import { type ConsentDecision, decideConsent } from '../consent/consent-decision.ts'
import { compileBodySchema } from '../http/body-schema.ts'
import { addSchemaErrors, FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { identityMember } from '../identity/identity-member.ts'
import type { CommitOutcome } from './commit-events.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import { eventIdentity } from './event-identity.ts'
import { readEventTime } from './event-time.ts'
import type { GroupCommit } from './group-commit.ts'
import { addSubmissionFaults } from './submission-faults.ts'

export interface AcceptanceContext {
  commits: GroupCommit<EventDraft, CommitOutcome>
  /** A visitor withdrew: what still waits for them must not leave. */
  stopWaiting: (visitor: { trackerId: string; visitorId: string; at: Date }) => Promise<unknown>
}

export interface EventRequest {
  tracker: TrackerIdentity
  body: unknown
  idempotencyKey: string | undefined
  receivedAt: Date
}

export type Acceptance =
  | { eventId: string; isDuplicate: true }
  | { eventId: string; isDuplicate: false; warnings: IngestionWarning[] }

const checkBody = compileBodySchema(EventSubmission)

/**
 * createEvent: check the submission, name the event, ask consent, hash the identity, and wait for
 * the commit. Throws a 422 refusal with every wrong field, or a 503 one when too many wait.
 */
export async function acceptEvent(
  context: AcceptanceContext,
  { tracker, body, idempotencyKey, receivedAt }: EventRequest,
): Promise<Acceptance> {
  const submission = (body ?? {}) as EventSubmission
  const faults = new FieldErrorList()
  addSchemaErrors(faults, checkBody(submission) ?? [])
  if (typeof submission !== 'object' || Array.isArray(submission)) {
    throw Refusal.ofFields(faults.toErrors())
  }
  addSubmissionFaults(faults, submission)
  const identity = readIdentity(faults, submission, idempotencyKey)
  const eventTime = readTime(faults, submission, receivedAt)
  const decision = decide(faults, submission, { receivedAt, eventTime })
  if (!faults.isEmpty || decision === null) throw Refusal.ofFields(faults.toErrors())

  const eventId = identity ?? `evt_${uuidV7(receivedAt)}`
  const { trackerId } = tracker
  const draft = draftEvent(submission, { trackerId, eventId, receivedAt, eventTime, decision })
  const { isNew } = await context.commits.submit(draft)
  if (!isNew) return { eventId, isDuplicate: true }
  if (draft.body.event_name === 'consent_withdrawal' && draft.visitorId !== null) {
    await context.stopWaiting({ trackerId, visitorId: draft.visitorId, at: receivedAt })
  }
  return { eventId, isDuplicate: false, warnings: decision.warnings }
}

function readIdentity(
  faults: FieldErrorList,
  { event_id }: EventSubmission,
  idempotencyKey: string | undefined,
): string | null {
  const given = typeof event_id === 'string' ? event_id : undefined
  const identity = eventIdentity(given, idempotencyKey)
  if ('eventId' in identity) return identity.eventId
  faults.add(identity.conflict.field, identity.conflict.sentence)
  return null
}

function readTime(faults: FieldErrorList, { event_time }: EventSubmission, receivedAt: Date): Date {
  const isReadable = typeof event_time === 'string' || Number.isInteger(event_time)
  const time = readEventTime(isReadable ? event_time : undefined, receivedAt)
  if ('at' in time) return time.at
  faults.add('event_time', time.fault)
  return receivedAt
}

/** Null when the basis itself is wrong, which the schema has already said. */
function decide(
  faults: FieldErrorList,
  body: EventSubmission,
  moment: { receivedAt: Date; eventTime: Date },
): ConsentDecision | null {
  if (body.consent_basis !== 'consent' && body.consent_basis !== 'legitimate_interest') return null
  const identityPresent = identityMember(body.user_data) !== null
  const decision = decideConsent(body, { ...moment, identityPresent })
  if (decision.outcome === 'denied') {
    const field = decision.denied_field
    faults.add(
      field,
      `The ${field} field denies: use consent only with granted downstream advertising state.`,
    )
  }
  return decision
}

/** RFC 9562, version 7: ids that sort by the time of receipt. */
function uuidV7(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
