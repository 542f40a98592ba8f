import type { Database } from '../db/database.ts'
import { findEvents, type StoredEvent } from '../ledger/store.ts'
import { type Destination, findDestination } from './destination-store.ts'
import type { ClaimedDelivery, Lane } from './store.ts'

/** Deliveries of one lane that this worker has until the lease ends. */
export interface ClaimedBatch {
  destination: Destination
  /** All of them are test events, or none is. */
  isTest: boolean
  leaseEndsAt: Date
  claimed: Map<number, ClaimedDelivery>
  events: Map<string, StoredEvent>
}

export interface ClaimOfLane {
  lane: Lane
  claimed: readonly ClaimedDelivery[]
  leaseEndsAt: Date
}

/** Reads what was claimed: the events, and the destination with its credential still sealed. */
export async function loadBatch(
  database: Database,
  { lane: { trackerId, destinationId }, claimed, leaseEndsAt }: ClaimOfLane,
): Promise<ClaimedBatch> {
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw new Error(`destination ${destinationId} is gone`)
  const ids = claimed.map(({ eventId }) => eventId)
  const events = await findEvents(database, trackerId, ids)
  return {
    destination,
    isTest: claimed.some(({ isTest }) => isTest),
    leaseEndsAt,
    claimed: new Map(claimed.map(delivery => [delivery.id, delivery])),
    events: new Map(events.map(event => [event.eventId, event])),
  }
}
