import type { Database } from '../db/database.ts'
import type { StoredEvent } from '../ledger/store.ts'
import { visitorKeysOf } from '../ledger/visitor-keys.ts'
import { findWithdrawals } from '../ledger/withdrawal-store.ts'
import type { ClaimedBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { reviewDelivery } from './review-delivery.ts'
import type { Sending } from './send-events.ts'
import { settleBatch } from './settle-batch.ts'

/** Settles at once what may not leave, and returns what may. */
export async function reviewBatch(
  context: DeliveryContext,
  batch: ClaimedBatch,
): Promise<Sending[]> {
  const { database, platform, now } = context
  const { destination, claimed, events } = batch
  const withdrawnAt = await withdrawalsOf(database, batch)
  const at = now()
  const reviews = [...claimed.values()].map(delivery => {
    const event = events.get(delivery.id)
    return reviewDelivery(delivery, {
      event,
      withdrawnAt: event ? withdrawnAt(event) : null,
      hasTestCode: destination.testEventCode !== null,
      platform,
      at,
    })
  })
  const settlements = reviews.flatMap(({ settle }) => settle ?? [])
  await settleBatch(context, batch, { settlements, request: null })
  return reviews.flatMap(({ send }) => send ?? [])
}

async function withdrawalsOf(database: Database, { destination, events }: ClaimedBatch) {
  const { trackerId } = destination
  const keys = new Set([...events.values()].flatMap(({ payload }) => visitorKeysOf(payload)))
  const visitors = [...keys].map(visitorId => ({ trackerId, visitorId }))
  const latest = await findWithdrawals(database, visitors)
  return ({ payload }: StoredEvent) => latest(trackerId, visitorKeysOf(payload))
}
