import type { IngestionNotice, IngestionWarning } from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/authenticate-browser.ts'
import type { TrackerIdentity } from '../access/store.ts'
import { decideConsent } from '../consent/consent-decision.ts'
import type { EventSpace } from '../events/event-record.ts'
import type { CommitOutcome, ErasureKeyProvider } from './commit-events.ts'
import { draftEvent, type EventDraft, type Platforms } from './event-draft.ts'
import type { CommitQueue } from './group-commit.ts'
import { buildNotices } from './ingestion-notices.ts'
import { createTokenMaker, holdsIdentifiers, redactSubmission } from './redact-submission.ts'
import { validateSubmission } from './validate-submission.ts'

export interface AcceptanceContext {
  commits: CommitQueue<EventDraft, CommitOutcome>
  platforms: Platforms
  erasureKey: ErasureKeyProvider
  /** Id of the platform in Additional Consent strings; null: they are not looked at. */
  additionalConsentProvider: number | null
  /** Skips the waiting deliveries of a visitor who withdrew consent. */
  skipWaitingDeliveries: (visitor: {
    trackerId: string
    visitorId: string
    at: Date
  }) => Promise<unknown>
}

interface EventRequest {
  platforms: Platforms
  additionalConsentProvider: number | null
  /** Called for an event whose free text holds an identifier. */
  erasureKey: ErasureKeyProvider
  tracker: TrackerIdentity
  /** Null when the request used a tracker secret. */
  browser: BrowserCaller | null
  body: unknown
  /** Size of the body as received. */
  bodyBytes: number
  idempotencyKey: string | undefined
  receivedAt: Date
}

type AcceptanceResult = { eventId: string; space: EventSpace } & (
  | { isDuplicate: true }
  | { isDuplicate: false; warnings: IngestionWarning[]; notices: IngestionNotice[] }
)

/** A valid submission, ready to be committed. */
interface PreparedEvent {
  draft: EventDraft
  bodyBytes: number
  warnings: IngestionWarning[]
  notices: IngestionNotice[]
}

/**
 * First half of createEvent: validates the submission, resolves the event ID, decides consent,
 * replaces identifiers in free text, and hashes those in `user_data`. Throws a 422 refusal naming
 * every invalid field. Separate from `acceptEvent`, which would keep the raw body in memory while
 * it waits for the commit.
 */
export async function prepareEvent(request: EventRequest): Promise<PreparedEvent> {
  const { tracker, browser, body, bodyBytes, idempotencyKey, receivedAt } = request
  const validated = validateSubmission(body, {
    idempotencyKey,
    receivedAt,
    browser,
    additionalConsentProvider: request.additionalConsentProvider,
  })
  const { eventId, eventTime, decision } = validated
  const { trackerId } = tracker
  const { submission, redacted } = holdsIdentifiers(validated.submission)
    ? redactSubmission(
        validated.submission,
        createTokenMaker(await request.erasureKey(), trackerId),
      )
    : { submission: validated.submission, redacted: [] }
  const draft = draftEvent(submission, {
    trackerId,
    eventId,
    space: browser === null ? 'secret' : 'publishable',
    receivedAt,
    eventTime,
    decision,
    redacted,
    platforms: request.platforms,
    edge: browser?.edge ?? null,
  })
  return { draft, bodyBytes, warnings: decision.warnings, notices: buildNotices(draft) }
}

/** Second half of createEvent: waits for the commit. Throws a 503 refusal if the queue is full. */
export async function acceptEvent(
  context: AcceptanceContext,
  { draft, bodyBytes, warnings, notices }: PreparedEvent,
): Promise<AcceptanceResult> {
  const { trackerId, eventId, space, eventName, visitorId, receivedAt } = draft
  const { isNew } = await context.commits.submit(draft, bodyBytes)
  if (!isNew) return { eventId, space, isDuplicate: true }
  if (eventName === 'consent_withdrawal' && visitorId !== null) {
    await context.skipWaitingDeliveries({ trackerId, visitorId, at: receivedAt })
  }
  return { eventId, space, isDuplicate: false, warnings, notices }
}

/** Fixed, so that each tracker has one verification event and later calls find it. */
const VERIFICATION_EVENT_ID = 'signal-verification'

const VERIFICATION_SUBMISSION = {
  event_name: 'signal_verification',
  consent_basis: 'legitimate_interest',
  action_source: 'system_generated',
} as const

/**
 * verifySignalIngestion: stores one event without identity, which proves that the tracker can
 * write. The event is not delivered and does not count as received traffic.
 */
export async function verifyIngestion(
  { commits, platforms }: Pick<AcceptanceContext, 'commits' | 'platforms'>,
  { trackerId }: Pick<TrackerIdentity, 'trackerId'>,
  receivedAt: Date,
): Promise<{ eventId: string; isDuplicate: boolean }> {
  const eventId = VERIFICATION_EVENT_ID
  const eventTime = receivedAt
  const decision = decideConsent(VERIFICATION_SUBMISSION, {
    receivedAt,
    eventTime,
    identityPresent: false,
  })
  const draft = draftEvent(VERIFICATION_SUBMISSION, {
    trackerId,
    eventId,
    receivedAt,
    eventTime,
    decision,
    platforms,
  })
  const { isNew } = await commits.submit(draft)
  return { eventId, isDuplicate: !isNew }
}
