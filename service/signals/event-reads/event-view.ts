import { storedText } from '@signalbox/contract/closed-set.ts'
import { decimalToken } from '@signalbox/contract/decimal.ts'
import type { Delivery } from '@signalbox/contract/deliveries.ts'
import type { Event, LineageEvent } from '@signalbox/contract/events.ts'
import type { StoredAttempt } from '../delivery/attempt-store.ts'
import type { StoredDelivery } from '../delivery/delivery-store.ts'
import { findEventClickConflict } from '../delivery/outbound-event.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { listSessionClickIds } from '../identity/click-ids.ts'

/** The owner of an event, as reads name it. */
export interface EventOwner {
  workspaceId: number
  /** The tracker ID; in the read of one event the workspace ID, as a decimal string. */
  signalTrackerId: string
}

/** An event with its deliveries, as lists return it. */
export function eventView(event: StoredEvent, owner: EventOwner, deliveries: Delivery[]): Event {
  return { ...lineageView(event, owner), deliveries }
}

/** An event as a parent or child: the same members without deliveries. */
export function lineageView(event: StoredEvent, owner: EventOwner): LineageEvent {
  return {
    id: event.eventId,
    workspace_id: owner.workspaceId,
    signal_tracker_id: owner.signalTrackerId,
    parent_event_id: event.parentEventId,
    event_name: event.eventName,
    event_time: event.eventTime.toISOString(),
    action_source: event.actionSource,
    event_class: storedText(event.eventClass),
    order_id: event.orderId,
    value_amount: event.valueAmount === null ? null : decimalToken(event.valueAmount),
    value_currency: event.valueCurrency,
    created_at: event.createdAt.toISOString(),
    consent_basis: storedText(event.consentBasis),
    measurement_class: storedText(event.measurementClass),
    attribution_join: storedText(event.attributionJoin),
    enforcement_scope: storedText(event.enforcementScope),
    consent_normalization_version: event.consentNormalizationVersion,
    consent: event.consent,
    ...identityMembers(event),
    value_data: event.valueData,
    event_source: event.eventSource,
    payload_expired: isPayloadExpired(event),
  }
}

/**
 * Identity that has expired, or that a lifecycle event never had, is empty. An event that may not
 * be joined to its visitor's clicks has no session.
 */
function identityMembers(event: StoredEvent) {
  const { payload } = event
  if (!payload) return { user_data_hashed: {}, click_ids: {}, session: null }
  const session = event.attributionJoin === 'allowed' ? event.session : null
  const conflict = findEventClickConflict(event)
  return {
    user_data_hashed: payload.digests,
    click_ids: payload.clickIds,
    session: session && {
      visitor_id: session.visitorId,
      first_seen_at: session.firstSeenAt.toISOString(),
      last_seen_at: session.lastSeenAt.toISOString(),
      landing_source: session.landingSource,
      click_ids: listSessionClickIds(session),
      ...(conflict !== null && { click_conflict: conflict }),
    },
  }
}

/** Events on legitimate interest and withdrawals never have a payload, so it cannot expire. */
function isPayloadExpired({ payload, consentBasis, eventName }: StoredEvent): boolean {
  return payload === null && consentBasis === 'consent' && eventName !== 'consent_withdrawal'
}

/** The latest attempts in a read; a delivery has about twenty before it fails. */
export const ATTEMPTS_SHOWN_MAX = 20

export function deliveryView(
  delivery: StoredDelivery,
  owner: EventOwner,
  attempts: readonly StoredAttempt[],
): Delivery {
  return {
    id: delivery.id,
    workspace_id: owner.workspaceId,
    signal_tracker_id: owner.signalTrackerId,
    event_id: delivery.eventId,
    destination_id: delivery.destinationId,
    status: storedText(delivery.status),
    is_test: delivery.isTest,
    attempt_count: delivery.attemptCount,
    last_error: delivery.lastError as Record<string, unknown> | null,
    platform_response: responseView(delivery, attempts),
    platform_trace_id: delivery.platformTraceId,
    next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
    updated_at: delivery.updatedAt?.toISOString() ?? null,
  }
}

/** The last answer of the platform, with the requests that carried the event in `attempts`. */
function responseView(
  { platformResponse, attemptIds }: StoredDelivery,
  attempts: readonly StoredAttempt[],
): Record<string, unknown> | null {
  const shown = attempts.filter(({ id }) => attemptIds.includes(id)).slice(-ATTEMPTS_SHOWN_MAX)
  if (shown.length === 0) return platformResponse
  return { ...platformResponse, attempts: shown.map(attemptView) }
}

function attemptView(attempt: StoredAttempt): Record<string, unknown> {
  return {
    started_at: attempt.startedAt.toISOString(),
    duration_milliseconds: attempt.durationMilliseconds,
    class: attempt.outcome,
    http_status: attempt.httpStatus,
    trace_id: attempt.traceId,
    event_count: attempt.eventCount,
    answer: attempt.answer,
  }
}
