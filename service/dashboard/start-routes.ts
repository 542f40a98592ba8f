import {
  START_STEPS,
  type StartChecklist,
  type StartStep,
} from '@signalbox/contract/session/start.ts'
import { readStartChecklist } from '@signalbox/contract/session/start-operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { listLiveKeys } from '../signals/access/key-store.ts'
import { hasAcceptedDelivery } from '../signals/delivery/delivery-store.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import { hasAcceptedTestPurchase } from '../signals/delivery/sent-counts-store.ts'
import { findEventsById } from '../signals/events/event-store.ts'
import { findLastReceipt } from '../signals/events/list-store.ts'
import { VERIFICATION_EVENT_ID } from '../signals/ingestion/accept-event.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { requireTracker } from './dashboard-context.ts'

/** How far a tracker is from its first event to its first accepted delivery. */
export function startRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...readStartChecklist,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      return readChecklist(context, trackerId)
    },
  })
}

/** A page polls this every few seconds, so each step is an index lookup or a kept count. */
async function readChecklist(
  { database, now }: DashboardContext,
  trackerId: string,
): Promise<StartChecklist> {
  const destinations = await listDestinations(database, trackerId)
  const destinationIds = destinations.map(({ id }) => id)
  const today = now().toISOString().slice(0, 10)
  const [keys, verifications, isPurchaseAccepted, lastReceipt, isDelivered] = await Promise.all([
    listLiveKeys(database, trackerId),
    findEventsById(database, trackerId, [VERIFICATION_EVENT_ID], ['secret']),
    hasAcceptedTestPurchase(database, { trackerId, destinationIds, today }),
    findLastReceipt(database, trackerId),
    hasAcceptedDelivery(database, trackerId),
  ])
  const connected = destinations.find(({ status }) => status === 'active')
  const done: Record<StartStep, Date | boolean | undefined | null> = {
    key_issued: keys.find(({ kind }) => kind === 'tracker_secret')?.createdAt,
    verification_received: verifications[0]?.createdAt,
    destination_connected: connected?.createdAt,
    test_purchase_accepted: isPurchaseAccepted,
    event_received: lastReceipt,
    delivery_accepted: isDelivered,
  }
  const steps = START_STEPS.map(step => {
    const state = done[step]
    const at = state instanceof Date ? state.toISOString() : null
    return { step, is_done: at !== null || state === true, at }
  })
  return { steps, is_complete: steps.every(({ is_done }) => is_done) }
}
