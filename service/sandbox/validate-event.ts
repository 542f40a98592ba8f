import type { SandboxEventResult } from '@signalbox/contract/sandbox.ts'
import { checkSubmission } from '../ingestion/check-submission.ts'
import { draftEvent } from '../ingestion/event-draft.ts'
import { eventMessage } from './event-message.ts'

export interface SandboxSubmission {
  body: unknown
  idempotencyKey: string | undefined
  receivedAt: Date
}

/** A draft belongs to a tracker; this one is thrown away. */
const NO_TRACKER = 'sandbox'

/**
 * Does with a submission what createEvent does before it stores anything, and says what would come
 * of it. Throws the same 422 refusal.
 */
export function validateEvent({
  body,
  idempotencyKey,
  receivedAt,
}: SandboxSubmission): SandboxEventResult {
  const isBasisAssumed = lacksBasis(body)
  const given = isBasisAssumed ? { ...body, consent_basis: 'consent' } : body
  const { submission, ...checked } = checkSubmission(given, { idempotencyKey, receivedAt })
  const draft = draftEvent(submission, { trackerId: NO_TRACKER, receivedAt, ...checked })
  return {
    sandbox: true,
    accepted: true,
    event_id: checked.eventId,
    status: 'validated',
    persisted: false,
    provider_delivery: false,
    message: eventMessage(draft, { isBasisAssumed }),
  }
}

/** The sandbox may be tried with a body that does not speak of consent (spec: Endpoints). */
function lacksBasis(body: unknown): body is object | null | undefined {
  if (body === undefined || body === null) return true
  return typeof body === 'object' && !Array.isArray(body) && !Object.hasOwn(body, 'consent_basis')
}
