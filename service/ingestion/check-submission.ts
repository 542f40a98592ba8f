import { EventSubmission } from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/browser-caller.ts'
import { type ConsentDecision, decideConsent } from '../consent/consent-decision.ts'
import { compileBodySchema } from '../http/body-schema.ts'
import { addSchemaErrors, FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { identityMember } from '../identity/identity-member.ts'
import { addEdgeFaults } from './edge-identity.ts'
import { eventIdentity } from './event-identity.ts'
import { readEventTime } from './event-time.ts'
import { addSubmissionFaults } from './submission-faults.ts'
import { uuidV7 } from './uuid-v7.ts'

export interface SubmissionGrounds {
  idempotencyKey: string | undefined
  receivedAt: Date
  /** Set when a publishable key brought it. */
  browser?: BrowserCaller | null
}

export interface CheckedSubmission {
  submission: EventSubmission
  /** The caller's, or a new one. */
  eventId: string
  eventTime: Date
  decision: ConsentDecision
}

const checkBody = compileBodySchema(EventSubmission)

/**
 * Everything that is asked of a submission before anything is kept: its schema, the rules that join
 * members, its id, its time and its consent. Throws a 422 refusal with every wrong field. It knows
 * no store, so that the sandbox asks the very same.
 */
export function checkSubmission(
  body: unknown,
  { idempotencyKey, receivedAt, browser = null }: SubmissionGrounds,
): CheckedSubmission {
  const submission = (body ?? {}) as EventSubmission
  const faults = new FieldErrorList()
  addSchemaErrors(faults, checkBody(submission) ?? [])
  if (typeof submission !== 'object' || Array.isArray(submission)) {
    throw Refusal.ofFields(faults.toErrors())
  }
  addSubmissionFaults(faults, submission)
  if (browser) addEdgeFaults(faults, submission.user_data)
  const identity = readIdentity(faults, submission, idempotencyKey)
  const eventTime = readTime(faults, submission, receivedAt)
  const identityPresent = Boolean(browser?.edge) || identityMember(submission.user_data) !== null
  const decision = decide(faults, submission, { receivedAt, eventTime, identityPresent })
  if (!faults.isEmpty || decision === null) throw Refusal.ofFields(faults.toErrors())
  return { submission, eventId: identity ?? `evt_${uuidV7(receivedAt)}`, eventTime, decision }
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
  grounds: { receivedAt: Date; eventTime: Date; identityPresent: boolean },
): ConsentDecision | null {
  if (body.consent_basis !== 'consent' && body.consent_basis !== 'legitimate_interest') return null
  const decision = decideConsent(body, grounds)
  if (decision.outcome === 'denied') {
    const field = decision.denied_field
    faults.add(
      field,
      `The ${field} field denies: use consent only with granted downstream advertising state.`,
    )
  }
  return decision
}
