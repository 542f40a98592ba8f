import { randomUUID } from 'node:crypto'
import { insertAttempt } from './attempt-store.ts'
import type { ClaimedBatch } from './claimed-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import type { Fates, UnsentReason } from './fates.ts'
import { forgetErasedAnswer } from './forget-erased-answer.ts'
import { type LaneVerdict, laneVerdict } from './lane-verdict.ts'
import { retryWhileLeased } from './retry-while-leased.ts'
import { windowEnd } from './review-delivery.ts'
import { openCredential } from './sealed-credential.ts'
import { type Sending, type SentRequest, sendEvents } from './send-events.ts'
import { settleBatch } from './settle-batch.ts'
import { steadySeconds } from './steady-seconds.ts'

/** A request is not started when the lease might end before its answer: ten seconds and some. */
const REQUEST_SECONDS_MAX = 12

/** Another key sealed it, or a byte of it was changed. No event is to blame. */
const UNREADABLE_CREDENTIAL =
  "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY."

export interface BatchToSend {
  batch: ClaimedBatch
  /** What may leave of it. */
  sendings: readonly Sending[]
  fates: Fates
}

/** Sends what may leave, settles each answer as it comes, and says what they mean for the lane. */
export async function sendBatch(
  context: DeliveryContext,
  toSend: BatchToSend,
): Promise<LaneVerdict> {
  const { batch, sendings } = toSend
  if (sendings.length === 0) return { kind: 'untried' }
  const accessToken = openedCredential(context, batch)
  if (accessToken === null) {
    await settleUnsent(context, toSend, { unsent: sendings, reason: 'credential_unreadable' })
    return { kind: 'unreadable', reason: UNREADABLE_CREDENTIAL }
  }
  const { platform, now, isStopping } = context
  const { destination, isTest, leaseEndsAtSeconds } = batch
  const hasTime = () => steadySeconds() + REQUEST_SECONDS_MAX < leaseEndsAtSeconds
  const sender = {
    platform,
    now,
    target: {
      datasetId: destination.datasetId,
      accessToken,
      testEventCode: isTest ? destination.testEventCode : null,
    },
    mayStart: () => hasTime() && isStopping?.() !== true,
    onAnswered: (request: SentRequest) => settleRequest(context, toSend, request),
  }
  const { lastAnswer, unsent } = await sendEvents(sender, sendings)
  await settleUnsent(context, toSend, { unsent, reason: 'handed_back' })
  return laneVerdict(lastAnswer)
}

function openedCredential(
  { credentialKeys }: DeliveryContext,
  { destination: { id, sealedCredential } }: ClaimedBatch,
): string | null {
  return openCredential(credentialKeys, id, sealedCredential)?.credential ?? null
}

/** Keeps the request and its answer, and settles each event whose fate it decides. */
async function settleRequest(
  context: DeliveryContext,
  { batch, fates }: BatchToSend,
  { result, decided, ...request }: SentRequest,
): Promise<void> {
  const { database, platform, now, chance, isStopping, onSettleRetry: onRetry } = context
  const { destination, isTest, claimed, events, leaseEndsAtSeconds } = batch
  const { trackerId, id: destinationId } = destination
  const attemptId = randomUUID()
  const attempt = { ...request, id: attemptId, trackerId, destinationId, isTest }
  // What decides nothing is named by no delivery, so that its words could never be forgotten.
  const kept = decided.length === 0 ? { ...result, answer: null } : result
  const leased = { leaseEndsAtSeconds, isStopping, onRetry }
  await retryWhileLeased(() => insertAttempt(database, { ...attempt, result: kept }), leased)
  const at = now()
  // One draw a request: what failed together goes out together again, in one request.
  const moment = { at, attemptId, chance: chance() }
  const settlements = decided.map(({ id, event }) => {
    const attemptsInRow = claimed.get(id)?.attemptsInRow ?? 1
    const windowEndsAt = windowEnd(events.get(id) ?? event, platform)
    const delivery = { id, attemptsInRow, windowEndsAt }
    return fates.answered(delivery, result, moment)
  })
  const { outcome } = result
  const count = await settleBatch(context, batch, { settlements, request: { decided, outcome } })
  const isPartial = count < settlements.length
  const answered = decided.flatMap(({ id }) => events.get(id) ?? [])
  const settled = { trackerId, attemptId, result, events: answered, isPartial }
  await retryWhileLeased(() => forgetErasedAnswer(context, settled), leased)
}

interface Unsent {
  unsent: readonly Sending[]
  reason: UnsentReason
}

/** Claimed and not handed over after all. */
async function settleUnsent(
  context: DeliveryContext,
  { batch, fates }: BatchToSend,
  { unsent, reason }: Unsent,
): Promise<void> {
  const at = context.now()
  const settlements = unsent.map(({ id, event }) => {
    const windowEndsAt = windowEnd(event, context.platform)
    return fates.unsent({ id, windowEndsAt }, { at, reason })
  })
  await settleBatch(context, batch, { settlements, request: null })
}
