import type { PlannedDelivery } from '../service/delivery/plan-store.ts'
import type { EventRecord } from '../service/events/event-record.ts'
import { planEvent } from '../service/ingestion/plan-event.ts'
import { formatEventKey } from '../service/ingestion/store.ts'
import { purchaseDraft } from './purchase-draft.ts'

/** What one commit stores. */
export interface PurchaseGroup {
  entries: EventRecord[]
  deliveries: PlannedDelivery[]
}

export interface TrackerPlace {
  trackerId: string
  destinationId: string
}

export interface PurchaseGroupPlan {
  trackers: readonly TrackerPlace[]
  rows: number
  /** Number of the first purchase; no two groups of one run share one. */
  first: number
  /** Twelve hexadecimal digits that all ids of a run share. */
  run: string
  at: Date
}

const WINDOW_MILLISECONDS = 7 * 86_400_000

/** Purchases dealt out to the trackers, in the order in which acceptance commits them. */
export function purchaseGroup({
  trackers,
  rows,
  first,
  run,
  at,
}: PurchaseGroupPlan): PurchaseGroup {
  const plans = Array.from({ length: rows }, (_, index) => {
    const count = first + index
    const { trackerId, destinationId } = trackers[index % trackers.length] as TrackerPlace
    return planEvent(purchaseDraft({ trackerId, count, run, at }), {
      withdrawnAt: 'unasked',
      routes: [{ id: destinationId, platform: 'meta', isTest: false }],
      windowEndsAt: () => new Date(at.getTime() + WINDOW_MILLISECONDS),
      nextDeliveryId: () => count,
    })
  })
  plans.sort((a, b) => (formatEventKey(a.entry) < formatEventKey(b.entry) ? -1 : 1))
  return {
    entries: plans.map(({ entry }) => entry),
    deliveries: plans.flatMap(({ deliveries }) => deliveries),
  }
}
