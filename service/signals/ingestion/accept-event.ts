import type {
  EventSubmission,
  IngestionNotice,
  IngestionWarning,
} from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/authenticate-publishable-key.ts'
import {
  type BrowserRequest,
  takePageWithdrawal,
  type WithdrawalLimits,
} from '../access/tracker-limits.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import type { ConsentSettings } from '../consent/consent-signal.ts'
import { decideForPlatforms } from '../consent/platform-decisions.ts'
import type { DestinationRoute, DestinationRouteCache } from '../delivery/plan-store.ts'
import type { EventSpace } from '../events/event-record.ts'
import { createRandomTokenMaker } from '../events/free-text.ts'
import { computeKeyedDigest, type ErasureKeyProvider } from '../events/person-identifiers.ts'
import { listLookupForms } from '../identity/lookup-forms.ts'
import { hashIdentifier } from '../identity/normalize-user-data.ts'
import type { PlatformRegistry, SelectedPlatforms } from '../platforms/registry.ts'
import type { CommitOutcome } from './commit-events.ts'
import { storesIdentity } from './draft-order.ts'
import { draftEvent, type EventDraft, type FreeTextRedaction } from './event-draft.ts'
import { AnswerDeadline, type CommitQueue } from './group-commit.ts'
import { digestBody } from './idempotency.ts'
import { buildNotices, DIFFERS_FROM_STORED } from './ingestion-notices.ts'
import {
  containsIdentifier,
  createKeyedTokenMaker,
  holdsIdentifiers,
  redactIdentifiers,
  redactSubmission,
} from './redact-submission.ts'
import { validateSubmission } from './validate-submission.ts'
import { ignoreIdentifiers } from './validate-withdrawal.ts'
import { finishWithdrawal, prepareWithdrawal } from './withdraw-by-page.ts'
import type { WithdrawalContext } from './withdraw-consent.ts'

export interface AcceptanceContext extends WithdrawalContext {
  commits: CommitQueue<EventDraft, CommitOutcome>
  platforms: PlatformRegistry
  routes: Pick<DestinationRouteCache, 'get'>
  settings: ConsentSettings
}

interface EventRequest {
  /** Those of the tracker. */
  platforms: SelectedPlatforms
  settings: ConsentSettings
  /** Called for an event whose free text holds an identifier. */
  erasureKey: ErasureKeyProvider
  tracker: TrackerIdentity
  /** Null when the request used a tracker secret. */
  browser: BrowserCaller | null
  /** The `Origin` header of a page. */
  origin: string | null
  body: unknown
  /** Size of the body as received. */
  bodyBytes: number
  idempotencyKey: string | undefined
  receivedAt: Date
}

type AcceptanceResult = { eventId: string; space: EventSpace } & (
  | { isDuplicate: true; notices: IngestionNotice[] }
  | { isDuplicate: false; warnings: IngestionWarning[]; notices: IngestionNotice[] }
)

/** The routes of a tracker are cached, and so are its platforms with them. */
const platformsOfRoutes = new WeakMap<readonly DestinationRoute[], SelectedPlatforms>()

/** The platforms to which the tracker sends events. The commit may find others since. */
export async function findTrackerPlatforms(
  { platforms, routes }: Pick<AcceptanceContext, 'platforms' | 'routes'>,
  { trackerId }: Pick<TrackerIdentity, 'trackerId'>,
): Promise<SelectedPlatforms> {
  const own = await routes.get(trackerId)
  const known = platformsOfRoutes.get(own)
  if (known !== undefined) return known
  const selected = platforms.select(own.map(({ platform }) => platform))
  platformsOfRoutes.set(own, selected)
  return selected
}

/** A valid submission, ready to be committed. */
export interface PreparedEvent {
  draft: EventDraft
  /** The `Origin` header of a page. */
  origin: string | null
  bodyBytes: number
  warnings: IngestionWarning[]
  notices: IngestionNotice[]
}

/** The request that brought an event, alone or in a batch. */
export interface SubmittingRequest extends BrowserRequest {
  headers: BrowserRequest['headers'] & { origin?: string | undefined }
}

/** Prepares one event of a request. A withdrawal of a page counts against its own limit. */
export async function prepareSubmission(
  { erasureKey, settings, limits }: AcceptanceContext & { limits: WithdrawalLimits },
  request: SubmittingRequest,
  submitted: Pick<
    EventRequest,
    'platforms' | 'body' | 'bodyBytes' | 'idempotencyKey' | 'receivedAt'
  >,
): Promise<PreparedEvent> {
  const { tracker, browser, headers } = request
  const origin = headers.origin ?? null
  const of = { erasureKey, settings, tracker, browser, origin }
  const prepared = await prepareEvent({ ...of, ...submitted })
  if (browser && prepared.draft.eventName === 'consent_withdrawal') {
    takePageWithdrawal(limits, request)
  }
  return prepared
}

/** The answer of createEvent to an event that is stored, or was before. */
export function toAnswer(accepted: AcceptanceResult) {
  const { eventId: event_id, notices } = accepted
  if (accepted.isDuplicate) {
    return {
      status: 200,
      body: { event_id, duplicate: true, ...(notices[0] && { notices }) },
    } as const
  }
  const { warnings } = accepted
  return { status: 202, body: { event_id, duplicate: false, warnings, notices } } as const
}

/**
 * First half of createEvent: validates the submission, resolves the event ID, decides consent,
 * replaces identifiers in free text, and hashes those in `user_data`. Throws a 422 refusal naming
 * every invalid field. Separate from `acceptEvent`, which would keep the raw body in memory while
 * it waits for the commit.
 */
async function prepareEvent(request: EventRequest): Promise<PreparedEvent> {
  const { tracker, browser, body, bodyBytes, idempotencyKey, receivedAt } = request
  const validated = validateSubmission(body, {
    platforms: request.platforms,
    idempotencyKey,
    receivedAt,
    browser,
    settings: request.settings,
    categories: tracker.consentCategories ?? null,
  })
  const { eventId, eventTime, decision, platformDecisions, refusedVendors } = validated
  const { trackerId } = tracker
  const isPageWithdrawal =
    browser !== null && validated.submission.event_name === 'consent_withdrawal'
  const { counted, ignored } = isPageWithdrawal
    ? ignoreIdentifiers(validated.submission)
    : { counted: validated.submission, ignored: [] }
  const { submission, freeText } = holdsIdentifiers(counted)
    ? await redactFreeText(request, counted, eventId)
    : { submission: counted, freeText: null }
  const draft = draftEvent(submission, {
    trackerId,
    eventId,
    space: browser === null ? 'secret' : 'publishable',
    receivedAt,
    eventTime,
    decision,
    platformDecisions,
    refusedVendors,
    freeText,
    ignored,
    platforms: request.platforms,
    edge: browser?.edge ?? null,
    hasPages: browser !== null || tracker.hasPages === true,
  })
  const { warnings } = decision
  return { draft, origin: request.origin, bodyBytes, warnings, notices: buildNotices(draft) }
}

/**
 * Replaces the identifiers in free text. The digest of the body is taken before: the tokens are
 * random, and the same body sent twice is the same event. Events of earlier versions have the
 * digest of a body with keyed tokens.
 */
async function redactFreeText(
  { erasureKey, tracker: { trackerId } }: EventRequest,
  submission: EventSubmission,
  eventId: string,
): Promise<{ submission: EventSubmission; freeText: FreeTextRedaction }> {
  const key = await erasureKey()
  const keyed = createKeyedTokenMaker(key, trackerId)
  const random = createRandomTokenMaker()
  // A keyed token goes with the person, so it needs a payload that leads an erasure to it.
  const order = storesIdentity(submission) ? keyed : random
  const { redacted, overflow, ...found } = redactSubmission(submission, { order, text: random })
  const earlier = redactSubmission(submission, { order: keyed, text: keyed }).submission
  const event = { trackerId, eventId }
  const toKeyed = (form: string) => computeKeyedDigest(key, trackerId, hashIdentifier(form))
  const groups = found.identifiers.map(one => listTextForms(one).map(toKeyed))
  const freeText = {
    redacted,
    overflow,
    lookup: groups.length === 0 ? {} : { free_text: groups },
    bodyDigest: digestBody(submission, event),
    earlierBodyDigest: redacted.length === 0 ? null : digestBody(earlier, event),
  }
  return { submission: found.submission, freeText }
}

/** An order ID as it is stored: a keyed token is in place of an identifier. */
export async function toStoredOrderId(
  erasureKey: ErasureKeyProvider,
  { trackerId, orderId }: { trackerId: string; orderId: string },
): Promise<string> {
  if (!containsIdentifier(orderId)) return orderId
  return redactIdentifiers(orderId, createKeyedTokenMaker(await erasureKey(), trackerId))
}

/**
 * The forms of an identifier in running text, which a deletion request may name by its digest. A
 * sign may stand before an address, as in `*jane@example.com`.
 */
function listTextForms(identifier: string): string[] {
  const key = identifier.includes('@') ? 'em' : 'ph'
  const texts = [identifier, identifier.replace(/^[^\p{L}\p{N}"+]+/u, '')]
  const forms = texts.flatMap(text => listLookupForms(key, text, { country: null }))
  return [...new Set([...forms, identifier.replace(/^\+/, '')])]
}

/**
 * Second half of createEvent: waits for the commit until the deadline. Throws a 503 refusal if the
 * queue is full.
 */
export function acceptEvent(
  context: AcceptanceContext,
  prepared: PreparedEvent,
  deadline: AnswerDeadline = new AnswerDeadline(),
): Promise<AcceptanceResult> {
  return deadline.wait(() => storeEvent(context, prepared))
}

async function storeEvent(
  context: AcceptanceContext,
  { draft, origin, bodyBytes, warnings, notices }: PreparedEvent,
): Promise<AcceptanceResult> {
  const { eventId, space } = draft
  const isWithdrawal = draft.eventName === 'consent_withdrawal'
  const submitted = isWithdrawal ? await prepareWithdrawal(context, draft, origin) : draft
  const { isNew, isDiffering } = await context.commits.submit(submitted, bodyBytes)
  if (isWithdrawal) await finishWithdrawal(context, submitted, isNew)
  if (isNew) return { eventId, space, isDuplicate: false, warnings, notices }
  // A page must not learn whether it guessed the body of another visitor's event.
  const isTold = isDiffering === true && space === 'secret'
  return { eventId, space, isDuplicate: true, notices: isTold ? [DIFFERS_FROM_STORED] : [] }
}

/** Fixed, so that each tracker has one verification event and later calls find it. */
export const VERIFICATION_EVENT_ID = 'signal-verification'

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
  const { decision } = decideForPlatforms(VERIFICATION_SUBMISSION, [], {
    fallback: platforms.default.consentNeeds,
    receivedAt,
    eventTime,
    identityPresent: false,
  })
  if (decision.outcome === 'denied') throw new Error('a verification has nothing to deny')
  const draft = draftEvent(VERIFICATION_SUBMISSION, {
    trackerId,
    eventId,
    receivedAt,
    eventTime,
    decision,
    platforms: platforms.select([]),
  })
  const { isNew } = await new AnswerDeadline().wait(async () => commits.submit(draft))
  return { eventId, isDuplicate: !isNew }
}
