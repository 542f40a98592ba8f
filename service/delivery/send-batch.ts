import { randomUUID } from 'node:crypto'
import { insertAttempt } from './attempt-store.ts'
import type { ClaimedBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { type LaneVerdict, laneVerdict } from './lane-verdict.ts'
import { windowEnd } from './review-delivery.ts'
import { openCredential } from './sealed-credential.ts'
import { type Sending, type SentRequest, sendEvents } from './send-events.ts'
import { handBack, type Settlement, settleByAnswer } from './settlement.ts'
import { settleDeliveries } from './store.ts'

/** A request is not started when the lease might end before its answer: ten seconds and some. */
const REQUEST_MILLISECONDS_MAX = 12_000

/** Another key sealed it, or a byte of it was changed. No event is to blame. */
const UNREADABLE_CREDENTIAL =
  "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY."

/** Sends what may leave, settles each answer as it comes, and says what they mean for the lane. */
export async function sendBatch(
  context: DeliveryContext,
  batch: ClaimedBatch,
  sendings: readonly Sending[],
): Promise<LaneVerdict> {
  if (sendings.length === 0) return { kind: 'untried' }
  const accessToken = openedCredential(context, batch)
  if (accessToken === null) {
    await giveBack(context, batch, sendings)
    return { kind: 'refused', reason: UNREADABLE_CREDENTIAL }
  }
  const { platform, now, isStopping } = context
  const { destination, isTest, leaseEndsAt } = batch
  const hasTime = () => now().getTime() + REQUEST_MILLISECONDS_MAX < leaseEndsAt.getTime()
  const sender = {
    platform,
    now,
    target: {
      datasetId: destination.datasetId,
      accessToken,
      testEventCode: isTest ? destination.testEventCode : null,
    },
    mayStart: () => hasTime() && isStopping?.() !== true,
    onAnswered: (request: SentRequest) => settleRequest(context, batch, request),
  }
  const { lastAnswer, unsent } = await sendEvents(sender, sendings)
  await giveBack(context, batch, unsent)
  return laneVerdict(lastAnswer)
}

function openedCredential(
  { credentialKey }: DeliveryContext,
  { destination: { id, sealedCredential } }: ClaimedBatch,
): string | null {
  try {
    return openCredential(credentialKey, id, sealedCredential)
  } catch {
    return null
  }
}

/** Keeps the request and its answer, and settles each event whose fate it decides. */
async function settleRequest(
  context: DeliveryContext,
  batch: ClaimedBatch,
  { result, decided, ...request }: SentRequest,
): Promise<void> {
  const { database, platform, now, chance } = context
  const { destination, isTest, claimed, events } = batch
  const { trackerId, id: destinationId } = destination
  const attemptId = randomUUID()
  const attempt = { ...request, id: attemptId, trackerId, destinationId, isTest, result }
  await insertAttempt(database, attempt)
  const at = now()
  const settlements = decided.map(({ id, event }) => {
    const attemptCount = claimed.get(id)?.attemptCount ?? 1
    const windowEndsAt = windowEnd(events.get(event.eventId) ?? event, platform)
    const delivery = { id, eventId: event.eventId, attemptCount, windowEndsAt }
    return settleByAnswer(delivery, result, { at, attemptId, chance: chance() })
  })
  await settle(context, batch, settlements)
}

async function giveBack(
  context: DeliveryContext,
  batch: ClaimedBatch,
  unsent: readonly Sending[],
): Promise<void> {
  const at = context.now()
  const settlements = unsent.map(({ id, event }) => handBack({ id, eventId: event.eventId }, at))
  await settle(context, batch, settlements)
}

async function settle(
  { database, now }: DeliveryContext,
  { destination: { trackerId }, leaseEndsAt }: ClaimedBatch,
  settlements: readonly Settlement[],
): Promise<void> {
  await settleDeliveries(database, { trackerId, leaseEndsAt, at: now(), settlements })
}
