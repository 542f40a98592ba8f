import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/authenticate-browser.ts'
import type { TrackerIdentity } from '../access/store.ts'
import { decideConsent } from '../consent/consent-decision.ts'
import type { EventSpace } from '../events/event-ref.ts'
import type { Platforms } from './accept-identity.ts'
import type { CommitOutcome } from './commit-events.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import type { CommitQueue } from './group-commit.ts'
import { validateSubmission } from './validate-submission.ts'

export interface AcceptanceContext {
  commits: CommitQueue<EventDraft, CommitOutcome>
  platforms: Platforms
  /** A visitor withdrew: what still waits for them must not leave. */
  skipWaitingDeliveries: (visitor: {
    trackerId: string
    visitorId: string
    at: Date
  }) => Promise<unknown>
}

interface EventRequest {
  platforms: Platforms
  tracker: TrackerIdentity
  /** Null when a tracker secret brought it. */
  browser: BrowserCaller | null
  body: unknown
  /** How long the body was as it came. */
  bodyBytes: number
  idempotencyKey: string | undefined
  receivedAt: Date
}

type AcceptanceResult = { eventId: string; space: EventSpace } & (
  | { isDuplicate: true }
  | { isDuplicate: false; warnings: IngestionWarning[] }
)

/** A submission that may be stored, and what its answer says. */
interface PreparedEvent {
  draft: EventDraft
  bodyBytes: number
  warnings: IngestionWarning[]
}

/**
 * createEvent, before the commit: check the submission, name the event, ask consent, hash the
 * identity. Throws a 422 refusal with every wrong field. Not a part of `acceptEvent`, which would
 * hold on to the body while it waits.
 */
export function prepareEvent(request: EventRequest): PreparedEvent {
  const { tracker, browser, body, bodyBytes, idempotencyKey, receivedAt } = request
  const checked = validateSubmission(body, { idempotencyKey, receivedAt, browser })
  const { submission, eventId, eventTime, decision } = checked
  const draft = draftEvent(submission, {
    trackerId: tracker.trackerId,
    eventId,
    space: browser === null ? 'secret' : 'publishable',
    receivedAt,
    eventTime,
    decision,
    platforms: request.platforms,
    edge: browser?.edge ?? null,
  })
  return { draft, bodyBytes, warnings: decision.warnings }
}

/** createEvent, from here on: wait for the commit. Throws a 503 refusal when too many wait. */
export async function acceptEvent(
  context: AcceptanceContext,
  { draft, bodyBytes, warnings }: PreparedEvent,
): Promise<AcceptanceResult> {
  const { trackerId, eventId, space, eventName, visitorId, receivedAt } = draft
  const { isNew } = await context.commits.submit(draft, bodyBytes)
  if (!isNew) return { eventId, space, isDuplicate: true }
  if (eventName === 'consent_withdrawal' && visitorId !== null) {
    await context.skipWaitingDeliveries({ trackerId, visitorId, at: receivedAt })
  }
  return { eventId, space, isDuplicate: false, warnings }
}

/** One a tracker: asking again finds the first. */
const VERIFICATION_EVENT_ID = 'signal-verification'

const VERIFICATION_SUBMISSION = {
  event_name: 'signal_verification',
  consent_basis: 'legitimate_interest',
  action_source: 'system_generated',
} as const

/**
 * verifySignalIngestion: records one identity-free event, which proves that the tracker can write
 * to the ledger. It is no evidence of a real arrival and is delivered nowhere (spec).
 */
export async function verifyIngestion(
  { commits, platforms }: Pick<AcceptanceContext, 'commits' | 'platforms'>,
  { trackerId }: Pick<TrackerIdentity, 'trackerId'>,
  receivedAt: Date,
): Promise<{ eventId: string; isDuplicate: boolean }> {
  const eventId = VERIFICATION_EVENT_ID
  const moment = { receivedAt, eventTime: receivedAt, identityPresent: false }
  const decision = decideConsent(VERIFICATION_SUBMISSION, moment)
  const draft = draftEvent(VERIFICATION_SUBMISSION, {
    ...moment,
    trackerId,
    eventId,
    decision,
    platforms,
  })
  const { isNew } = await commits.submit(draft)
  return { eventId, isDuplicate: !isNew }
}
