import { type TestPurchase, TestPurchaseSubmission } from '@signalbox/contract/destinations.ts'
import type { Database } from '../db/database.ts'
import { deliverOne } from '../delivery/deliver-one.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import { noSuchDestination, requireDestinationId } from '../delivery/destination-id.ts'
import { findDestination } from '../delivery/destination-store.ts'
import { isTestModeOn } from '../delivery/destination-view.ts'
import { reserveIds } from '../delivery/id-store.ts'
import { findDeliveries } from '../delivery/read-store.ts'
import { bodyCheck } from '../http/checked-body.ts'
import { Refusal } from '../http/refusal.ts'
import { type EventPlace, SPACE_NUMBERS } from '../ledger/event-space.ts'
import { insertEvents } from './store.ts'
import { testPurchaseEntry } from './test-purchase-entry.ts'
import { uuidV7 } from './uuid-v7.ts'

const checkBody = bodyCheck<TestPurchaseSubmission>(TestPurchaseSubmission, ['order_id'])

export interface TestPurchaseRequest {
  trackerId: string
  destinationId: string
  body: unknown
}

/**
 * sendTestPurchase: keeps an identity-free purchase and sends it at once, as a test event. Throws
 * a 404 refusal for a destination that the tracker does not have, and a 422 while test mode is off
 * or when the body is wrong. What the platform says is the answer, accepted or not.
 */
export async function sendTestPurchase(
  context: DeliveryContext,
  { trackerId, destinationId, body }: TestPurchaseRequest,
): Promise<TestPurchase> {
  const { database } = context
  requireDestinationId(destinationId)
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw noSuchDestination()
  const submission = checkBody(body)
  const at = context.now()
  if (!isTestModeOn(destination, at)) throw new Refusal(422, TEST_MODE_OFF)

  const eventId = `test_${uuidV7(at)}`
  const entry = testPurchaseEntry(submission, { trackerId, eventId, at })
  const id = await reserveIds(database, trackerId, 1)
  const delivery = {
    trackerId,
    space: entry.space,
    destinationId,
    eventId,
    id,
    status: 'queued' as const,
    statusReason: 'test_purchase',
    isTest: true,
    // No worker takes it up before us, and one does if this process dies.
    dueAt: new Date(at.getTime() + context.leaseSeconds * 1_000),
  }
  await insertEvents(database, [entry], [delivery])
  await deliverOne(context, { trackerId, destinationId, createdAt: at, id })
  const place = { eventId, createdAt: at, space: SPACE_NUMBERS[entry.space] }
  return outcomeOf(database, trackerId, place)
}

const TEST_MODE_OFF =
  'Test mode is off: switch it on with PATCH /destinations/{destination}/test-mode first.'

async function outcomeOf(
  database: Database,
  trackerId: string,
  event: EventPlace,
): Promise<TestPurchase> {
  const [delivery] = await findDeliveries(database, trackerId, [event])
  if (!delivery) throw new Error(`the delivery of ${event.eventId} is gone`)
  return { event_id: event.eventId, status: delivery.status, trace_id: delivery.platformTraceId }
}
