import { storedText } from '@signalbox/contract/closed-set.ts'
import type {
  ConsentDecisionView,
  DeliveryDetails,
  EventDetails,
  EventIdentity,
} from '@signalbox/contract/session/events.ts'
import type { Database } from '../runtime/db/database.ts'
import { isObject } from '../runtime/util/is-object.ts'
import type { ConsentSignal } from '../signals/consent/consent-signal.ts'
import { readPlatformDecisions } from '../signals/consent/platform-decisions.ts'
import { explainDelivery } from '../signals/delivery/delivery-explanation.ts'
import type { StoredDelivery } from '../signals/delivery/delivery-store.ts'
import { formatTarget } from '../signals/delivery/destination-resource.ts'
import { type MissingRequest, rebuildRequest } from '../signals/delivery/rebuild-request.ts'
import { ATTEMPTS_SHOWN_MAX } from '../signals/event-reads/event-view.ts'
import { orderView } from '../signals/event-reads/order-view.ts'
import {
  findRestating,
  findWindowEnd,
  type LoadedEvent,
  loadEvent,
} from '../signals/event-reads/read-events.ts'
import { type EventSpace, SPACE_NUMBERS } from '../signals/events/event-record.ts'
import { findEventsById, type StoredEvent } from '../signals/events/event-store.ts'
import { listSessionClickIds } from '../signals/identity/click-ids.ts'
import type { PlatformRegistry } from '../signals/platforms/registry.ts'
import { adviseReplay } from './replay-advice.ts'
import { eventSummary } from './search-events.ts'

interface DetailsLookup {
  eventId: string
  space: EventSpace | null
  platforms: PlatformRegistry
  at: Date
}

/**
 * An event as a person looks at it: what happened first, then why. Of identity it has the names of
 * the keys only. Throws a 404 refusal for an event that the tracker does not have.
 */
export async function readEventDetails(
  database: Database,
  trackerId: string,
  { eventId, space, ...context }: DetailsLookup,
): Promise<EventDetails> {
  const loaded = await loadEvent(database, trackerId, { eventId, space })
  const { event, parent, children } = loaded
  const deliveries = loaded.deliveries.map(delivery => deliveryDetails(delivery, loaded, context))
  const { notes } = event
  return {
    summary: summarizeEvent(event, deliveries),
    ...eventSummary(event),
    is_in_both_spaces: await isInOtherSpace(database, trackerId, event),
    event_source: event.eventSource?.replace(/[?#].*$/, '') ?? null,
    consent_basis: storedText(event.consentBasis),
    measurement_class: storedText(event.measurementClass),
    attribution_join: storedText(event.attributionJoin),
    enforcement_scope: storedText(event.enforcementScope),
    value_data: event.valueData,
    consent: consentView(event),
    identity: identityView(event),
    notes: {
      dropped: notes?.dropped ?? [],
      ignored: notes?.unknown_members ?? [],
      redacted: notes?.redacted ?? [],
      differing_submissions: event.differingSubmissions,
      last_differing_at: event.lastDifferingAt?.toISOString() ?? null,
    },
    parent: parent && eventSummary(parent),
    children: children.map(eventSummary),
    order: orderView(event, {
      order: loaded.order,
      deliveries: loaded.orderDeliveries,
      receipts: loaded.orderReceipts,
      platforms: context.platforms,
    }),
    deliveries,
  }
}

/** With several destinations, how many are in each state; the explanations of each follow. */
function summarizeEvent(event: StoredEvent, deliveries: readonly DeliveryDetails[]): string {
  const [first, ...others] = deliveries
  if (!first) return withoutDeliverySentence(event)
  if (others.length === 0) return first.explanation
  const counts = Map.groupBy(deliveries, ({ status }) => status)
  const parts = [...counts].map(([status, own]) => `${own.length} ${status}`)
  return `The event has ${deliveries.length} deliveries: ${parts.join(', ')}.`
}

function withoutDeliverySentence({ eventName, eventClass }: StoredEvent): string {
  if (eventName === 'consent_withdrawal') {
    return (
      'The visitor withdrew consent. The withdrawal is stored and applied to their other events; ' +
      'it is not sent to a platform.'
    )
  }
  if (eventClass === 'verification') {
    return (
      'A verification event: it shows that the key works and that events are stored. It is not ' +
      'sent to a platform, so it proves no arrival there.'
    )
  }
  return 'Stored in the ledger. No delivery was planned.'
}

async function isInOtherSpace(
  database: Database,
  trackerId: string,
  { eventId, space }: StoredEvent,
): Promise<boolean> {
  if (space !== SPACE_NUMBERS.secret && space !== SPACE_NUMBERS.publishable) return false
  const other = space === SPACE_NUMBERS.secret ? 'publishable' : 'secret'
  return (await findEventsById(database, trackerId, [eventId], [other])).length > 0
}

/** Null for an event from before decisions were stored. */
function consentView({ consent }: StoredEvent): ConsentDecisionView | null {
  const decision = consent?.decision
  if (!isObject(decision)) return null
  const { outcome, reason, captured_at, granted_by, inputs, rules_version } = decision
  const signals = isObject(inputs) ? (inputs as Record<string, ConsentSignal>) : {}
  const grants = Array.isArray(granted_by) ? granted_by : []
  const hasDecided = (source: string, why: string) => {
    if (outcome === 'granted') return grants.includes(source)
    return reason === 'no_signal' || reason === why
  }
  return {
    outcome: String(outcome),
    reason: String(reason),
    captured_at: typeof captured_at === 'string' ? captured_at : null,
    rules_version: String(rules_version),
    platforms: Object.entries(readPlatformDecisions(consent)).map(([platform, own]) => ({
      platform,
      outcome: own.outcome,
      reason: own.reason,
      field: own.field,
      is_personalized: own.is_personalized !== false,
    })),
    signals: Object.entries(signals)
      .filter(([, { why }]) => why !== 'not_read')
      .map(([source, { state, why, field, captured_at: capturedAt }]) => ({
        source,
        state,
        reason: why,
        field,
        captured_at: capturedAt,
        has_decided: hasDecided(source, why),
      })),
  }
}

function identityView(event: StoredEvent): EventIdentity {
  const { payload, session, attributionJoin } = event
  if (!payload) {
    return {
      state: missingIdentityState(event),
      keys: [],
      click_ids: [],
      session_click_ids: [],
      has_visitor_id: false,
    }
  }
  const joined = attributionJoin === 'allowed' ? session : null
  return {
    state: 'stored',
    keys: [...Object.keys(payload.digests), ...Object.keys(payload.plain)],
    click_ids: Object.keys(payload.clickIds),
    session_click_ids: joined ? Object.keys(listSessionClickIds(joined)) : [],
    has_visitor_id: payload.visitorId !== null,
  }
}

function missingIdentityState(event: StoredEvent): EventIdentity['state'] {
  const { consentBasis, eventName, isErased } = event
  if (consentBasis !== 'consent' || eventName === 'consent_withdrawal') return 'not_stored'
  return isErased ? 'erased' : 'expired'
}

function deliveryDetails(
  delivery: StoredDelivery,
  { event, parent, attempts, receipts, pageWithdrawals, matches, order }: LoadedEvent,
  { platforms, at }: Pick<DetailsLookup, 'platforms' | 'at'>,
): DeliveryDetails {
  const windowEndsAt = findWindowEnd(delivery, event, platforms)
  const own = attempts.filter(({ id }) => delivery.attemptIds.includes(id))
  const { canReplay, advice } = adviseReplay(delivery, { event, windowEndsAt, at })
  return {
    id: delivery.id,
    destination_id: delivery.destinationId,
    platform: delivery.platform,
    destination_name: destinationName(delivery, platforms),
    status: storedText(delivery.status),
    status_reason: storedText(delivery.statusReason),
    is_test: delivery.isTest,
    explanation: explainDelivery(delivery, event, {
      at,
      attempts,
      receipts,
      windowEndsAt,
      pageWithdrawals,
      matches,
      order,
      ...findRestating(delivery, platforms),
    }),
    can_replay: canReplay,
    replay_advice: advice,
    attempt_count: delivery.attemptCount,
    attempts: own.slice(-ATTEMPTS_SHOWN_MAX).map(attempt => ({
      started_at: attempt.startedAt.toISOString(),
      duration_milliseconds: attempt.durationMilliseconds,
      outcome: attempt.outcome,
      http_status: attempt.httpStatus,
      trace_id: attempt.traceId,
      event_count: attempt.eventCount,
      answer: attempt.answer,
    })),
    platform_trace_id: delivery.platformTraceId,
    last_error: delivery.lastError as Record<string, unknown> | null,
    request: requestView(delivery, { event, parent, platforms }),
    window_ends_at: windowEndsAt?.toISOString() ?? null,
    next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
    replayed_at: delivery.replayedAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
    updated_at: delivery.updatedAt?.toISOString() ?? null,
  }
}

const REBUILT =
  'Rebuilt from the stored event, as this version writes it: requests are not kept. It expires ' +
  'with the identity. Digests and identifiers are shortened, and the credential is left out. The ' +
  'request may have carried other events too.'

const MISSING_SENTENCES: Record<MissingRequest, string> = {
  not_sent: 'No request has carried the event yet.',
  no_payload: 'The identity was deleted or never stored, so the request cannot be rebuilt.',
  no_platform_identity:
    'The identity was not prepared for this platform, so the request cannot be rebuilt.',
  restatement: 'The refund sent its purchase again with the net value: open the purchase.',
  platform_unknown: 'This server does not know the platform or the target of the destination.',
}

function requestView(
  delivery: StoredDelivery,
  of: Parameters<typeof rebuildRequest>[1],
): DeliveryDetails['request'] {
  const rebuilt = rebuildRequest(delivery, of)
  if ('missing' in rebuilt) return { body: null, sentence: MISSING_SENTENCES[rebuilt.missing] }
  return { body: rebuilt.body, sentence: REBUILT }
}

function destinationName(
  { platform, destinationConfig }: StoredDelivery,
  platforms: PlatformRegistry,
): string | null {
  if (platform === null) return null
  const label = platforms.find(platform)?.label ?? platform
  return `${label} ${formatTarget(destinationConfig ?? {})}`.trim()
}
