import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/browser-caller.ts'
import type { TrackerIdentity } from '../access/store.ts'
import { checkSubmission } from './check-submission.ts'
import type { CommitOutcome } from './commit-events.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import type { GroupCommit } from './group-commit.ts'

export interface AcceptanceContext {
  commits: GroupCommit<EventDraft, CommitOutcome>
  /** A visitor withdrew: what still waits for them must not leave. */
  stopWaiting: (visitor: { trackerId: string; visitorId: string; at: Date }) => Promise<unknown>
}

export interface EventRequest {
  tracker: TrackerIdentity
  /** Null when a tracker secret brought it. */
  browser: BrowserCaller | null
  body: unknown
  /** How long the body was as it came. */
  bodyBytes: number
  idempotencyKey: string | undefined
  receivedAt: Date
}

export type Acceptance =
  | { eventId: string; isDuplicate: true }
  | { eventId: string; isDuplicate: false; warnings: IngestionWarning[] }

/**
 * createEvent: check the submission, name the event, ask consent, hash the identity, and wait for
 * the commit. Throws a 422 refusal with every wrong field, or a 503 one when too many wait.
 */
export async function acceptEvent(
  context: AcceptanceContext,
  { tracker, browser, body, bodyBytes, idempotencyKey, receivedAt }: EventRequest,
): Promise<Acceptance> {
  const checked = checkSubmission(body, { idempotencyKey, receivedAt, browser })
  const { submission, eventId, eventTime, decision } = checked
  const { trackerId } = tracker
  const draft = draftEvent(submission, {
    trackerId,
    eventId,
    receivedAt,
    eventTime,
    decision,
    edge: browser?.edge ?? null,
  })
  const { isNew } = await context.commits.submit(draft, bodyBytes)
  if (!isNew) return { eventId, isDuplicate: true }
  if (draft.body.event_name === 'consent_withdrawal' && draft.visitorId !== null) {
    await context.stopWaiting({ trackerId, visitorId: draft.visitorId, at: receivedAt })
  }
  return { eventId, isDuplicate: false, warnings: decision.warnings }
}
