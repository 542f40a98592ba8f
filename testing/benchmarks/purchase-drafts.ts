import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import type { PlannedDelivery } from '../../service/signals/delivery/plan-store.ts'
import type { EventRecord } from '../../service/signals/events/event-record.ts'
import { formatEventKey } from '../../service/signals/ingestion/commit-store.ts'
import { draftEvent, type EventDraft } from '../../service/signals/ingestion/event-draft.ts'
import { planEvent } from '../../service/signals/ingestion/plan-event.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { decideAccepted } from '../fixtures/sample-events.ts'
import { buildPurchaseBody, createPurchaseMarks } from './purchase-request.ts'

interface PurchaseDraftRequest {
  trackerId: string
  count: number
  /** Twelve hexadecimal digits, common to all purchases of a run. */
  run: string
  at: Date
}

/** Those of trackers whose destinations are of Meta, as acceptance selects them. */
const PLATFORMS = createOfflinePlatforms().select(['meta'])
const CAPTURED_MILLISECONDS_AGO = 3_600_000

/** The draft of the purchase that the load generator would send as number `count`. */
export function createPurchaseDraft({
  trackerId,
  count,
  run,
  at,
}: PurchaseDraftRequest): EventDraft {
  const capturedAt = new Date(at.getTime() - CAPTURED_MILLISECONDS_AGO)
  const body = buildPurchaseBody(createPurchaseMarks(count, run), { variant: count, capturedAt })
  const submission = body as unknown as EventSubmission
  return draftEvent(submission, {
    trackerId,
    eventId: String(body.event_id),
    receivedAt: at,
    eventTime: at,
    decision: decideAccepted(submission, at),
    platforms: PLATFORMS,
  })
}

/** The rows of one commit. */
export interface PurchaseGroup {
  entries: EventRecord[]
  deliveries: PlannedDelivery[]
}

export interface TrackerDestination {
  trackerId: string
  destinationId: string
}

interface PurchaseGroupPlan {
  trackers: readonly TrackerDestination[]
  rows: number
  /** Number of the first purchase, unique among the groups of a run. */
  first: number
  /** Twelve hexadecimal digits, common to all IDs of a run. */
  run: string
  at: Date
}

const WINDOW_MILLISECONDS = 7 * 86_400_000

/** Purchases distributed over the trackers, in the order in which acceptance commits them. */
export function purchaseGroup({
  trackers,
  rows,
  first,
  run,
  at,
}: PurchaseGroupPlan): PurchaseGroup {
  const plans = Array.from({ length: rows }, (_, index) => {
    const count = first + index
    const { trackerId, destinationId } = trackers[index % trackers.length] as TrackerDestination
    return planEvent(createPurchaseDraft({ trackerId, count, run, at }), {
      withdrawals: 'unchecked',
      routes: [{ id: destinationId, platform: 'meta', isTest: false }],
      windowEndsAt: () => new Date(at.getTime() + WINDOW_MILLISECONDS),
      nextDeliveryId: () => count,
    })
  })
  plans.sort((a, b) => (formatEventKey(a.record) < formatEventKey(b.record) ? -1 : 1))
  return {
    entries: plans.map(({ record }) => record),
    deliveries: plans.flatMap(({ deliveries }) => deliveries),
  }
}
