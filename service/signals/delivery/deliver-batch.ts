import { randomUUID } from 'node:crypto'
import type { WarningReason } from '@signalbox/contract/reasons.ts'
import { openCredential } from '../../runtime/util/sealed-credential.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { TokenResult } from '../platforms/access-tokens/client.ts'
import type { SendOutcome } from '../platforms/platform.ts'
import { hasFreeText } from '../platforms/registry.ts'
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
  PAUSE_SENTENCES,
  updateDestinationHealth,
  updateHealthAfterProbe,
} from './destination-health.ts'
import { clearOutage } from './destination-health-store.ts'
import type { DestinationQueue } from './destination-queue-store.ts'
import { findDestination } from './destination-store.ts'
import { findEventClickConflict } from './outbound-event.ts'
import { newReceipt } from './poll-receipts.ts'
import {
  DEFAULT_RETRY_POLICY,
  NO_RETRY_POLICY,
  type RetryPolicy,
  type UnsentReason,
} from './retry-policy.ts'
import { reviewDeliveries, windowEnd } from './review-deliveries.ts'
import {
  answerOfEvent,
  type OutboundDelivery,
  type Sender,
  type SentRequest,
  sendEvents,
} from './send-events.ts'
import { retryWhileLeased, settleBatch } from './settle-batch.ts'
import { clearErasedAnswer } from './stop-erased-deliveries.ts'

export interface DeliveryRun {
  claimedCount: number
  /** The claim reached its limit, so more deliveries are probably due. */
  isFull: boolean
  health: DestinationHealth
  /** The store says that the platform is unreachable, as of the claim. */
  hasRecordedOutage: boolean
}

/** During an outage, each trial costs this many events an attempt at most. */
const TRIAL_EVENTS_MAX = 10

/**
 * Delivers one batch of a queue: claims it, reviews each event, sends what may be sent, settles. No
 * transaction is open meanwhile. If this process dies, the lease returns the deliveries, which are
 * sent again with the same event ID and time.
 */
export function deliverDueBatch(
  context: DeliveryContext,
  queue: DestinationQueue,
  onClaimed: (isFull: boolean) => void,
): Promise<DeliveryRun> {
  const deliver = () => deliverClaimedBatch(context, queue, onClaimed)
  return context.traceBatch ? context.traceBatch(queue, deliver) : deliver()
}

async function deliverClaimedBatch(
  { nodes, ...common }: DeliveryContext,
  queue: DestinationQueue,
  onClaimed: (isFull: boolean) => void,
): Promise<DeliveryRun> {
  const database = nodes ? await nodes.findNode(queue.trackerId) : common.database
  const platform = common.platforms.find(queue.platform)
  if (!platform) return pauseUnknownPlatform({ ...common, database }, queue)
  const context = { ...common, database, platform }
  const { now, leaseSeconds } = context
  const startedAtSeconds = monotonicSeconds()
  const leaseEndsAtSeconds = startedAtSeconds + leaseSeconds
  const batchMax = Math.min(context.batchMax, platform.batchMax)
  const limit = Math.min(batchMax, queue.isProbe ? 1 : queue.isTrial ? TRIAL_EVENTS_MAX : batchMax)
  const claim = { queue, limit, claimedAt: now(), leaseSeconds }
  const claimed = await claimDeliveries(database, claim)
  context.onClaimed?.(monotonicSeconds() - startedAtSeconds)
  const claimedCount = claimed.deliveries.length
  const isFull = claimedCount === batchMax
  onClaimed(isFull)
  if (claimedCount === 0) return untriedRun(isFull)

  const batch = await loadClaimedBatch(database, { ...queue, claimed, leaseEndsAtSeconds })
  const health = await reviewAndSend(context, batch, DEFAULT_RETRY_POLICY)
  if (queue.isProbe) await updateHealthAfterProbe(context, batch.destination, health)
  else await updateDestinationHealth(context, batch.destination, health)
  return { claimedCount, isFull, health, hasRecordedOutage: hasRecordedOutage(batch) }
}

function untriedRun(isFull: boolean): DeliveryRun {
  return { claimedCount: 0, isFull, health: { kind: 'untried' }, hasRecordedOutage: false }
}

function hasRecordedOutage({ destination }: ClaimedBatch): boolean {
  return destination.backoff?.cause === 'unreachable'
}

/** Claims nothing, because another process may have the plug-in. */
async function pauseUnknownPlatform(
  context: DeliveryContext,
  { trackerId, destinationId, platform, isProbe }: DestinationQueue,
): Promise<DeliveryRun> {
  const reason = `${PAUSE_SENTENCES.platform_not_installed} "${platform}".`
  const health = { kind: 'unreadable' as const, reason }
  const destination = await findDestination(context.database, trackerId, destinationId)
  if (destination) {
    if (isProbe) await updateHealthAfterProbe(context, destination, health)
    else await updateDestinationHealth(context, destination, health)
  }
  return { ...untriedRun(false), health }
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
 * Sends one waiting delivery at once, due or not, with a single attempt: what is not accepted has
 * failed. It also tries an inactive destination, since the answer shows whether it works again.
 */
export async function deliverNow(
  common: DeliveryContext,
  { platform: platformName, ...delivery }: SingleDelivery,
): Promise<void> {
  const platform = common.platforms.find(platformName)
  if (!platform) return
  const context = { ...common, platform }
  const { database, now, leaseSeconds } = context
  const leaseEndsAtSeconds = monotonicSeconds() + leaseSeconds
  const claim = { ...delivery, claimedAt: now(), leaseSeconds }
  const claimed = await claimDelivery(database, claim)
  if (claimed.deliveries.length === 0) return
  const batch = await loadClaimedBatch(database, { ...delivery, claimed, leaseEndsAtSeconds })
  const health = await reviewAndSend(context, batch, NO_RETRY_POLICY)
  // A missing key of this process proves nothing about the destination: its workers may have it.
  if (health.kind === 'unreadable') return
  const { destination } = batch
  if (health.kind === 'works' && hasRecordedOutage(batch)) await clearOutage(database, delivery)
  if (destination.status === 'inactive') await updateHealthAfterProbe(context, destination, health)
  else await updateDestinationHealth(context, destination, health)
}

/** A request may take ten seconds; it is not started when the lease could end before its answer. */
const REQUEST_SECONDS_MAX = 12

interface BatchToSend {
  batch: ClaimedBatch
  /** The deliveries of the batch that may be sent. */
  deliveries: readonly OutboundDelivery[]
  possibleDuplicates: ReadonlySet<number>
  retryPolicy: RetryPolicy
}

/** Sends what may be sent, and settles each answer as it arrives. */
async function reviewAndSend(
  context: BatchContext,
  batch: ClaimedBatch,
  retryPolicy: RetryPolicy,
): Promise<DestinationHealth> {
  const reviewed = await reviewDeliveries(context, batch)
  const { deliveries, settlements, possibleDuplicates } = reviewed
  await settleBatch(context, batch, { settlements, request: null })
  if (deliveries.length === 0) return { kind: 'untried' }
  const toSend = { batch, deliveries, possibleDuplicates, retryPolicy }
  const { platform, platforms, credentialKeys } = context
  const { destination } = batch
  // Paused after this worker found the queue. A test purchase is sent all the same.
  if (destination.pausedAt && retryPolicy !== NO_RETRY_POLICY) {
    await settleUnsent(context, toSend, { unsent: deliveries, reason: 'handed_back' })
    return { kind: 'untried' }
  }
  const opened = openCredential(credentialKeys, destination.id, destination.sealedCredential)
  if (opened === null) {
    await settleUnsent(context, toSend, { unsent: deliveries, reason: 'credential_unreadable' })
    return { kind: 'unreadable', reason: PAUSE_SENTENCES.credential_unreadable }
  }
  const target = platform.parseTarget(destination.config)
  if (target === null) {
    await settleUnsent(context, toSend, { unsent: deliveries, reason: 'handed_back' })
    return { kind: 'refused', reason: PAUSE_SENTENCES.configuration_invalid }
  }
  const found = await platforms.accessTokens.find(platform, opened.credential)
  const sender = createSender(context, toSend, { target, found })
  const { lastAnswer, unsent, budgetWaitSeconds } = await sendEvents(sender, deliveries)
  await settleUnsent(context, toSend, { unsent, reason: 'handed_back' })
  if (lastAnswer?.outcome === 'auth') platforms.accessTokens.forget(platform, opened.credential)
  if (budgetWaitSeconds > 0) return { kind: 'request_limit', waitSeconds: budgetWaitSeconds }
  return assessHealth(lastAnswer)
}

function createSender(
  context: BatchContext,
  toSend: BatchToSend,
  { target, found }: { target: unknown; found: TokenResult },
): Sender {
  const { platform, now, isStopping, requestBudgets } = context
  const { batch, retryPolicy } = toSend
  const { destination, isTest, leaseEndsAtSeconds } = batch
  const hasTime = () => monotonicSeconds() + REQUEST_SECONDS_MAX < leaseEndsAtSeconds
  const common = {
    now,
    canStart: () => hasTime() && isStopping?.() !== true,
    onAnswered: (request: SentRequest) => settleRequest(context, toSend, request),
  }
  const testCode = isTest ? destination.testCode : null
  if (found.kind === 'no_token') {
    // Nothing is sent, and the token endpoint's answer settles the batch.
    const unsendable = { ...platform, send: async () => found.answer }
    const connection = { target, accessToken: '', testCode }
    return { ...common, platform: unsendable, connection, takeRequest: async () => 0 }
  }
  const { accessToken, credential } = found
  const budget = platform.requestBudget?.({ target, credential }) ?? null
  const ofPlatform = budget && { ...budget, platform: platform.name }
  const takeRequest = async () => {
    const waitSeconds = ofPlatform ? await requestBudgets.take(ofPlatform, now()) : 0
    // A person waits for a single attempt: it counts, and the platform itself may refuse it.
    return retryPolicy === NO_RETRY_POLICY ? 0 : waitSeconds
  }
  return { ...common, platform, connection: { target, accessToken, testCode }, takeRequest }
}

/** Stores the request and its answer, and settles each event that the answer decides. */
async function settleRequest(
  context: BatchContext,
  { batch, retryPolicy, possibleDuplicates }: BatchToSend,
  { result, decided, ...request }: SentRequest,
): Promise<void> {
  const { database, platform, now, random, isStopping, onSettleRetry } = context
  const { destination, isTest, claimed, events, leaseEndsAtSeconds } = batch
  const { trackerId, id: destinationId } = destination
  const attemptId = randomUUID()
  const attempt = { ...request, id: attemptId, trackerId, destinationId, isTest }
  // No delivery refers to a request that decides nothing, so an erasure could not find its answer.
  const stored = decided.length === 0 ? { ...result, answer: null } : result
  const lease = { leaseEndsAtSeconds, isStopping, onRetry: onSettleRetry }
  await retryWhileLeased(() => insertAttempt(database, { ...attempt, result: stored }), lease)
  // One random number per request: events that failed together are retried in one request.
  const answerContext = { at: now(), attemptId, random: random() }
  const outcomes = new Map<number, SendOutcome>()
  const settlements = decided.map(({ id, event }, index) => {
    const answer = answerOfEvent(result, index)
    outcomes.set(id, answer.outcome)
    const attemptNumber = claimed.get(id)?.attemptNumber ?? 1
    const windowEndsAt = windowEnd(events.get(id) ?? event, platform)
    const isDeduplicated = platform.isDeduplicated?.(event) ?? true
    const answered = { id, attemptNumber, windowEndsAt, isDeduplicated }
    const settlement = retryPolicy.onAnswer(answered, answer, answerContext)
    const warning = possibleDuplicates.has(id) ? 'page_sent_first' : clickWarning(events.get(id))
    return warning === undefined ? settlement : { ...settlement, warning }
  })
  const receipt = newReceipt(attemptId, result, answerContext.at)
  const answeredRequest = { decided, outcomes, receipt }
  const count = await settleBatch(context, batch, { settlements, request: answeredRequest })
  if (!hasFreeText(result)) return
  const isPartial = count < settlements.length
  const decidedEvents = decided.flatMap(({ id }) => events.get(id) ?? [])
  const settled = { trackerId, attemptId, events: decidedEvents, isPartial }
  await retryWhileLeased(() => clearErasedAnswer(context, settled), lease)
}

function clickWarning(event: StoredEvent | undefined): WarningReason | undefined {
  return event && findEventClickConflict(event) !== null ? 'page_click_ignored' : undefined
}

interface UnsentDeliveries {
  unsent: readonly OutboundDelivery[]
  reason: UnsentReason
}

async function settleUnsent(
  context: BatchContext,
  { batch, retryPolicy }: BatchToSend,
  { unsent, reason }: UnsentDeliveries,
): Promise<void> {
  const at = context.now()
  const settlements = unsent.map(({ id, event }) => {
    const windowEndsAt = windowEnd(event, context.platform)
    return retryPolicy.onUnsent({ id, windowEndsAt }, { at, reason })
  })
  await settleBatch(context, batch, { settlements, request: null })
}
