import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/browser-caller.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { EventSpace } from '../ledger/event-space.ts'
import { checkSubmission } from './check-submission.ts'
import type { CommitOutcome } from './commit-events.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import type { Commits } from './group-commit.ts'

export interface AcceptanceContext {
  commits: Commits<EventDraft, CommitOutcome>
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

export type Acceptance = { eventId: string; space: EventSpace } & (
  | { isDuplicate: true }
  | { isDuplicate: false; warnings: IngestionWarning[] }
)

/** A submission that may be stored, and what its answer says. */
export interface CheckedEvent {
  draft: EventDraft
  bodyBytes: number
  warnings: IngestionWarning[]
}

/**
 * createEvent, before the commit: check the submission, name the event, ask consent, hash the
 * identity. Throws a 422 refusal with every wrong field. Not a part of `acceptEvent`, which would
 * hold on to the body while it waits.
 */
export function checkEvent(request: EventRequest): CheckedEvent {
  const { tracker, browser, body, bodyBytes, idempotencyKey, receivedAt } = request
  const checked = checkSubmission(body, { idempotencyKey, receivedAt, browser })
  const { submission, eventId, eventTime, decision } = checked
  const draft = draftEvent(submission, {
    trackerId: tracker.trackerId,
    eventId,
    space: browser === null ? 'secret' : 'publishable',
    receivedAt,
    eventTime,
    decision,
    edge: browser?.edge ?? null,
  })
  return { draft, bodyBytes, warnings: decision.warnings }
}

/** createEvent, from here on: wait for the commit. Throws a 503 refusal when too many wait. */
export async function acceptEvent(
  context: AcceptanceContext,
  { draft, bodyBytes, warnings }: CheckedEvent,
): Promise<Acceptance> {
  const { trackerId, eventId, space, eventName, visitorId, receivedAt } = draft
  const { isNew } = await context.commits.submit(draft, bodyBytes)
  if (!isNew) return { eventId, space, isDuplicate: true }
  if (eventName === 'consent_withdrawal' && visitorId !== null) {
    await context.stopWaiting({ trackerId, visitorId, at: receivedAt })
  }
  return { eventId, space, isDuplicate: false, warnings }
}
