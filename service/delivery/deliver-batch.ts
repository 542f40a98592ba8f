import { randomUUID } from 'node:crypto'
import { monotonicSeconds } from '../util/monotonic-clock.ts'
import { insertAttempt } from './attempt-store.ts'
import {
  type ClaimedBatch,
  claimDeliveries,
  claimDelivery,
  loadClaimedBatch,
} from './claim-store.ts'
import type { BatchContext, DeliveryContext } from './delivery-context.ts'
import {
  assessHealth,
  type DestinationHealth,
  updateDestinationHealth,
  updateHealthAfterProbe,
} from './destination-health.ts'
import type { DestinationQueue } from './destination-queue-store.ts'
import { findDestination } from './destination-store.ts'
import {
  DEFAULT_RETRY_POLICY,
  NO_RETRY_POLICY,
  type RetryPolicy,
  type UnsentReason,
} from './retry-policy.ts'
import { reviewDeliveries, windowEnd } from './review-deliveries.ts'
import { openCredential } from './sealed-credential.ts'
import { type OutboundDelivery, type SentRequest, sendEvents } from './send-events.ts'
import { retryWhileLeased, settleBatch } from './settle-batch.ts'
import { clearErasedAnswer } from './stop-erased-deliveries.ts'

export interface DeliveryRun {
  claimedCount: number
  /** The claim was as large as it may be, so more is probably waiting. */
  isFull: boolean
  health: DestinationHealth
}

/** An outage costs so many events an attempt each time that the platform is tried. */
const TRIAL_EVENTS_MAX = 10

/**
 * Delivers one batch of a lane: claim, look at each event again, send what may leave, settle. No
 * transaction is open while the platform answers. If this process dies on the way, the lease
 * brings the deliveries back; they go out again under the same id and time.
 */
export async function deliverDueBatch(
  { nodes, ...anywhere }: DeliveryContext,
  lane: DestinationQueue,
  onClaimed: (isFull: boolean) => void,
): Promise<DeliveryRun> {
  const database = nodes ? await nodes.findNode(lane.trackerId) : anywhere.database
  const platform = anywhere.platforms.find(lane.platform)
  if (!platform) return pauseUnknownPlatform({ ...anywhere, database }, lane)
  const context = { ...anywhere, database, platform }
  const { now, leaseSeconds } = context
  const leaseEndsAtSeconds = monotonicSeconds() + leaseSeconds
  const batchMax = Math.min(context.batchMax, platform.batchMax)
  const limit = Math.min(batchMax, lane.isProbe ? 1 : lane.isTrial ? TRIAL_EVENTS_MAX : batchMax)
  const claimed = await claimDeliveries(database, {
    queue: lane,
    limit,
    claimedAt: now(),
    leaseSeconds,
  })
  context.onClaimed?.(monotonicSeconds() + leaseSeconds - leaseEndsAtSeconds)
  const claimedCount = claimed.deliveries.length
  const isFull = claimedCount === batchMax
  onClaimed(isFull)
  if (claimedCount === 0) return { claimedCount, isFull, health: { kind: 'untried' } }

  const batch = await loadClaimedBatch(database, { ...lane, claimed, leaseEndsAtSeconds })
  const verdict = await reviewAndSend(context, batch)
  if (lane.isProbe) await updateHealthAfterProbe(context, batch.destination, verdict)
  else await updateDestinationHealth(context, batch.destination, verdict)
  return { claimedCount, isFull, health: verdict }
}

/** Another process may have the plug-in, so nothing is claimed. */
async function pauseUnknownPlatform(
  context: DeliveryContext,
  { trackerId, destinationId, platform, isProbe }: DestinationQueue,
): Promise<DeliveryRun> {
  const reason = `This server has no plug-in for the platform "${platform}".`
  const health = { kind: 'unreadable' as const, reason }
  const destination = await findDestination(context.database, trackerId, destinationId)
  if (destination) {
    if (isProbe) await updateHealthAfterProbe(context, destination, health)
    else await updateDestinationHealth(context, destination, health)
  }
  return { claimedCount: 0, isFull: false, health }
}

async function reviewAndSend(
  context: BatchContext,
  batch: ClaimedBatch,
): Promise<DestinationHealth> {
  const sendings = await reviewDeliveries(context, batch)
  return sendBatch(context, { batch, deliveries: sendings, retryPolicy: DEFAULT_RETRY_POLICY })
}

interface SingleDelivery {
  trackerId: string
  destinationId: string
  /** The name of the destination's platform. */
  platform: string
  createdAt: Date
  id: number
}

/**
 * Sends one waiting delivery at once, due or not, and once: what the platform does not accept has
 * failed. An inactive destination is tried as well, since the answer tells whether it works again.
 */
export async function deliverNow(
  anywhere: DeliveryContext,
  { trackerId, destinationId, platform: name, createdAt, id }: SingleDelivery,
): Promise<void> {
  const platform = anywhere.platforms.find(name)
  if (!platform) return
  const context = { ...anywhere, platform }
  const { database, now, leaseSeconds } = context
  const leaseEndsAtSeconds = monotonicSeconds() + leaseSeconds
  const lease = { claimedAt: now(), leaseSeconds }
  const claimed = await claimDelivery(database, { trackerId, createdAt, id, ...lease })
  if (claimed.deliveries.length === 0) return
  const ofLane = { trackerId, destinationId, claimed, leaseEndsAtSeconds }
  const batch = await loadClaimedBatch(database, ofLane)
  const sendings = await reviewDeliveries(context, batch)
  const verdict = await sendBatch(context, {
    batch,
    deliveries: sendings,
    retryPolicy: NO_RETRY_POLICY,
  })
  // A key that this process lacks says nothing about the lane: its workers may have it.
  if (verdict.kind === 'unreadable') return
  const { destination } = batch
  if (destination.status === 'inactive') await updateHealthAfterProbe(context, destination, verdict)
  else await updateDestinationHealth(context, destination, verdict)
}

/** A request is not started when the lease might end before its answer: ten seconds and some. */
const REQUEST_SECONDS_MAX = 12

/** Another key sealed it, or a byte of it was changed. No event is to blame. */
const UNREADABLE_CREDENTIAL =
  "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY."

/** The platform cannot read its `config`. */
const INVALID_CONFIGURATION =
  'The configuration of the destination does not fit its platform: enter it again.'

interface BatchToSend {
  batch: ClaimedBatch
  /** What may leave of it. */
  deliveries: readonly OutboundDelivery[]
  retryPolicy: RetryPolicy
}

/** Sends what may leave, settles each answer as it comes, and says what they mean for the lane. */
async function sendBatch(context: BatchContext, toSend: BatchToSend): Promise<DestinationHealth> {
  const { batch, deliveries: sendings } = toSend
  if (sendings.length === 0) return { kind: 'untried' }
  const accessToken = openedCredential(context, batch)
  if (accessToken === null) {
    await settleUnsent(context, toSend, { unsent: sendings, reason: 'credential_unreadable' })
    return { kind: 'unreadable', reason: UNREADABLE_CREDENTIAL }
  }
  const { platform, now, isStopping } = context
  const { destination, isTest, leaseEndsAtSeconds } = batch
  const target = platform.parseTarget(destination.config)
  if (target === null) {
    await settleUnsent(context, toSend, { unsent: sendings, reason: 'handed_back' })
    return { kind: 'refused', reason: INVALID_CONFIGURATION }
  }
  const hasTime = () => monotonicSeconds() + REQUEST_SECONDS_MAX < leaseEndsAtSeconds
  const sender = {
    platform,
    now,
    connection: { target, accessToken, testCode: isTest ? destination.testCode : null },
    canStart: () => hasTime() && isStopping?.() !== true,
    onAnswered: (request: SentRequest) => settleRequest(context, toSend, request),
  }
  const { lastAnswer, unsent } = await sendEvents(sender, sendings)
  await settleUnsent(context, toSend, { unsent, reason: 'handed_back' })
  return assessHealth(lastAnswer)
}

function openedCredential(
  { credentialKeys }: DeliveryContext,
  { destination: { id, sealedCredential } }: ClaimedBatch,
): string | null {
  return openCredential(credentialKeys, id, sealedCredential)?.credential ?? null
}

/** Keeps the request and its answer, and settles each event whose fate it decides. */
async function settleRequest(
  context: BatchContext,
  { batch, retryPolicy: fates }: BatchToSend,
  { result, decided, ...request }: SentRequest,
): Promise<void> {
  const { database, platform, now, random: chance, isStopping, onSettleRetry: onRetry } = context
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
  const moment = { at, attemptId, random: chance() }
  const settlements = decided.map(({ id, event }) => {
    const attemptNumber = claimed.get(id)?.attemptNumber ?? 1
    const windowEndsAt = windowEnd(events.get(id) ?? event, platform)
    const delivery = { id, attemptNumber, windowEndsAt }
    return fates.onAnswer(delivery, result, moment)
  })
  const { outcome } = result
  const count = await settleBatch(context, batch, { settlements, request: { decided, outcome } })
  const isPartial = count < settlements.length
  const answered = decided.flatMap(({ id }) => events.get(id) ?? [])
  const settled = { trackerId, attemptId, result, events: answered, isPartial }
  await retryWhileLeased(() => clearErasedAnswer(context, settled), leased)
}

interface Unsent {
  unsent: readonly OutboundDelivery[]
  reason: UnsentReason
}

/** Claimed and not handed over after all. */
async function settleUnsent(
  context: BatchContext,
  { batch, retryPolicy: fates }: BatchToSend,
  { unsent, reason }: Unsent,
): Promise<void> {
  const at = context.now()
  const settlements = unsent.map(({ id, event }) => {
    const windowEndsAt = windowEnd(event, context.platform)
    return fates.onUnsent({ id, windowEndsAt }, { at, reason })
  })
  await settleBatch(context, batch, { settlements, request: null })
}
