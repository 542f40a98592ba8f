import { storedText } from '@signalbox/contract/closed-set.ts'
import { type TestPurchase, TestPurchaseSubmission } from '@signalbox/contract/destinations.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { FieldErrorList, Validator } from '../../runtime/http/validator.ts'
import { generateUuidV7 } from '../../runtime/util/ids.ts'
import { CONSENT_RULES_VERSION } from '../consent/consent-decision.ts'
import type { StoredConsentOutcome } from '../consent/consent-record.ts'
import { deliverNow } from '../delivery/deliver-batch.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import { findDeliveries } from '../delivery/delivery-store.ts'
import {
  assertDestinationId,
  destinationNotFound,
  isTestModeOn,
} from '../delivery/destination-resource.ts'
import { type Destination, findDestination } from '../delivery/destination-store.ts'
import { reserveDeliveryIds } from '../delivery/plan-store.ts'
import { findPlatformNames } from '../delivery/routing.ts'
import { platformMessage } from '../delivery/waiting-explanation.ts'
import type { EventRef } from '../events/event-columns.ts'
import { type EventRecord, type IdentityPayload, SPACE_NUMBERS } from '../events/event-record.ts'
import { createRandomTokenMaker } from '../events/free-text.ts'
import { hashIdentifier } from '../identity/normalize-user-data.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { acceptIdentity } from './accept-identity.ts'
import { insertEvents } from './commit-store.ts'
import { digestBody } from './idempotency.ts'
import { redactIdentifiers } from './redact-submission.ts'
import { addCurrencyCodeError } from './submission-rules.ts'

const purchaseValidator = new Validator(TestPurchaseSubmission, { textMembers: ['order_id'] })

const RETRY_SECONDS = 60
const NO_PLATFORM_MESSAGE = 'This process has no platform configured. Set SIGNALBOX_PLATFORM_URL.'

/** Throws a 503 refusal in a process without a platform URL, whose `delivery` is null. */
export function requirePlatform(delivery: DeliveryContext | null): DeliveryContext {
  if (!delivery) throw Refusal.unavailable(NO_PLATFORM_MESSAGE, RETRY_SECONDS)
  return delivery
}

export interface SentTestPurchase {
  purchase: TestPurchase
  /** What the platform said against it, as a sentence; null when it said nothing. */
  reason: string | null
}

interface TestPurchaseRequest {
  trackerId: string
  destinationId: string
  body: unknown
}

/**
 * sendTestPurchase: stores a purchase without identity and sends it immediately as a test event.
 * Throws a 404 refusal for an unknown destination, and a 422 refusal while test mode is off or for
 * an invalid body. Returns the platform's result, accepted or not, and its reason.
 */
export async function sendTestPurchase(
  context: DeliveryContext,
  { trackerId, destinationId, body }: TestPurchaseRequest,
): Promise<SentTestPurchase> {
  const { database } = context
  assertDestinationId(destinationId)
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw destinationNotFound()
  const submission = purchaseValidator.validate(body)
  assertCurrency(submission.currency)
  const at = context.now()
  if (!isTestModeOn(destination, at)) throw new Refusal(422, TEST_MODE_OFF_MESSAGE)

  const eventId = `test_${generateUuidV7(at)}`
  const { platform } = destination
  const payload = buildTestPayload(context.platforms, { destination, eventId, at })
  const record = buildTestPurchaseRecord(submission, { trackerId, eventId, at, payload })
  const id = await reserveDeliveryIds(database, trackerId, 1)
  const delivery = {
    trackerId,
    space: record.space,
    destinationId,
    eventId,
    id,
    status: 'queued' as const,
    statusReason: 'test_purchase' as const,
    isTest: true,
    // Reserved for this process. A worker takes over if the process dies.
    dueAt: new Date(at.getTime() + context.leaseSeconds * 1_000),
  }
  await insertEvents(database, [record], [delivery])
  await deliverNow(context, { trackerId, destinationId, platform, createdAt: at, id })
  const event = { eventId, createdAt: at, space: SPACE_NUMBERS[record.space] }
  return readResult(database, trackerId, event)
}

function assertCurrency(currency: string | undefined): void {
  const errors = new FieldErrorList()
  addCurrencyCodeError(errors, 'currency', currency)
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
}

const TEST_MODE_OFF_MESSAGE =
  'Test mode is off. Turn it on with PATCH /destinations/{destination}/test-mode first.'

async function readResult(
  database: Database,
  trackerId: string,
  event: EventRef,
): Promise<SentTestPurchase> {
  const [delivery] = await findDeliveries(database, trackerId, [event])
  if (!delivery) throw new Error(`found no delivery of event ${event.eventId}`)
  const purchase = {
    event_id: event.eventId,
    status: storedText(delivery.status),
    trace_id: delivery.platformTraceId,
  }
  return { purchase, reason: platformMessage(delivery) || null }
}

const VALUE_DEFAULT = '1.00'
const CURRENCY_DEFAULT = 'USD'

const NAMES_NO_PERSON: StoredConsentOutcome = { outcome: 'granted', reason: 'names_no_person' }

interface TestPurchaseRecordInput {
  trackerId: string
  eventId: string
  at: Date
  payload: IdentityPayload
}

/**
 * Builds the event record of a test purchase. It identifies no person and needs no consent: its
 * only identifier is the digest of its own event ID, because the platform rejects events without
 * one.
 */
function buildTestPurchaseRecord(
  { value = VALUE_DEFAULT, currency = CURRENCY_DEFAULT, order_id }: TestPurchaseSubmission,
  { trackerId, eventId, at, payload }: TestPurchaseRecordInput,
): EventRecord {
  const givenId = order_id ?? `signalbox-${eventId}`
  // No payload leads from a person to this event, so the token is random.
  const orderId = redactIdentifiers(givenId, createRandomTokenMaker())
  const redacted = orderId === givenId ? [] : ['value_data.order_id']
  const valueCurrency = currency.toUpperCase()
  const body = { event_name: 'Purchase', value, currency: valueCurrency, order_id: orderId }
  return {
    trackerId,
    eventId,
    space: 'secret',
    createdAt: at,
    eventTime: at,
    eventName: 'Purchase',
    eventClass: 'test',
    actionSource: 'system_generated',
    consentBasis: 'consent',
    measurementClass: 'ledger_only',
    attributionJoin: 'none',
    enforcementScope: 'event',
    consentNormalizationVersion: CONSENT_RULES_VERSION,
    consentCapturedAt: null,
    eventSource: null,
    parentEventId: null,
    orderId,
    valueAmount: value,
    valueCurrency,
    valueData: JSON.stringify({ value, currency: valueCurrency, order_id: orderId }),
    consent: JSON.stringify({ decision: NAMES_NO_PERSON }),
    notes: { dropped: [], unknownMembers: [], redacted },
    bodyDigest: digestBody(body, { trackerId, eventId }),
    payload,
    session: null,
    withdrawnKeys: [],
    assumedNotWithdrawn: [],
  }
}

/** No person: the one identifier is the digest of the event's own ID, for the destination. */
function buildTestPayload(
  registry: PlatformRegistry,
  { destination, eventId, at }: { destination: Destination; eventId: string; at: Date },
): IdentityPayload {
  const { identityMark, digests, plain, clickIds, platforms } = acceptIdentity(registry, {
    userData: { external_id: hashIdentifier(eventId) },
    clickIds: {},
    eventSource: undefined,
    eventTime: at,
    observedAt: at,
    edge: null,
  })
  const payload: IdentityPayload = { visitorId: null, identityMark, digests, plain, clickIds }
  const { platform } = destination
  const other = platforms[platform]
  const platformNames = findPlatformNames('Purchase', [{ ...destination, isTest: true }])
  return {
    ...payload,
    ...(other && { platforms: { [platform]: other } }),
    ...(platformNames && { platformNames }),
  }
}
