import type { Delivery, DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { StoredAttempt } from '../delivery/attempt-store.ts'
import type { StoredDelivery } from '../delivery/read-store.ts'
import type { EventOwner } from './event-view.ts'

/** The latest attempts that a read shows; a delivery has about twenty before it is given up. */
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
    status: delivery.status as DeliveryStatus,
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

/** The platform's last answer, and below `attempts` each request that carried the event. */
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
