import type { Delivery, DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { StoredDelivery } from '../delivery/read-store.ts'
import type { EventOwner } from './event-view.ts'

export function deliveryView(delivery: StoredDelivery, owner: EventOwner): Delivery {
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
    platform_response: delivery.platformResponse,
    platform_trace_id: delivery.platformTraceId,
    next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
    updated_at: delivery.updatedAt?.toISOString() ?? null,
  }
}
