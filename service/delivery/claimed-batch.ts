import type { Database } from '../db/database.ts'
import { placeKey } from '../ledger/event-space.ts'
import { findEventsAt, type StoredEvent } from '../ledger/store.ts'
import type { Claimed, ClaimedDelivery } from './claim-store.ts'
import { type Destination, findDestination } from './destination-store.ts'

/** Deliveries of one lane that this worker has until the lease ends. */
export interface ClaimedBatch {
  destination: Destination
  /** All of them are test events, or none is. */
  isTest: boolean
  /** On the store's clock: the proof that the rows are still this worker's. */
  leaseEndsAt: Date
  /** On this process's steady clock: when to stop beginning requests. */
  leaseEndsAtSeconds: number
  claimed: Map<number, ClaimedDelivery>
  /** By the id of their delivery. */
  events: Map<number, StoredEvent>
}

export interface ClaimOfLane {
  trackerId: string
  destinationId: string
  claimed: Claimed
  leaseEndsAtSeconds: number
}

/** Reads what was claimed: the events, and the destination with its credential still sealed. */
export async function loadBatch(
  database: Database,
  { trackerId, destinationId, claimed, leaseEndsAtSeconds }: ClaimOfLane,
): Promise<ClaimedBatch> {
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw new Error(`destination ${destinationId} is gone`)
  const { deliveries, leaseEndsAt } = claimed
  const events = await findEventsAt(database, trackerId, deliveries)
  const byPlace = new Map(events.map(event => [placeKey(event), event]))
  return {
    destination,
    isTest: deliveries.some(({ isTest }) => isTest),
    leaseEndsAt,
    leaseEndsAtSeconds,
    claimed: new Map(deliveries.map(delivery => [delivery.id, delivery])),
    events: new Map(
      deliveries.flatMap(delivery => {
        const event = byPlace.get(placeKey(delivery))
        return event ? [[delivery.id, event]] : []
      }),
    ),
  }
}
