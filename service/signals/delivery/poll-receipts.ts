import { openCredential } from '../../runtime/util/sealed-credential.ts'
import { formatUtcDay, MINUTE_SECONDS } from '../../runtime/util/time.ts'
import { findEventsByRef, type StoredEvent } from '../events/event-store.ts'
import type {
  Platform,
  ReceiptResult,
  SendAnswer,
  SendError,
  Unavailable,
} from '../platforms/platform.ts'
import { toSendError } from '../platforms/send-answer.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { locateTrackers } from './destination-queue-store.ts'
import { findDestination } from './destination-store.ts'
import { type FailedDelivery, failReceipt, findAcceptedDeliveries } from './failed-receipt-store.ts'
import { clampEventTime, toOutboundEvent } from './outbound-event.ts'
import {
  claimDueReceipts,
  type NewReceipt,
  type ReceiptReading,
  recordReading,
  type StoredReceipt,
} from './receipt-store.ts'
import { isRestatement } from './restate-orders.ts'
import { describeIssue } from './retry-policy.ts'
import { findPlatformIdentity, windowEnd } from './review-deliveries.ts'
import { type DestinationRouting, findMappedName, platformNameOf } from './routing.ts'
import { listMatchKeys } from './settle-batch.ts'

/**
 * When the result of a request is asked for, in minutes after the one before: the first time half
 * an hour after the request, the last time a day after it. Platforms name no time; most results are
 * there within the hour.
 */
const POLL_MINUTES = [30, 30, 60, 120, 240, 480, 480]
/** A process that dies while it asks delays the receipt by this much. */
const CLAIM_MINUTES = 10
const RECEIPTS_MAX = 100

function addMinutes(at: Date, minutes: number): Date {
  return new Date(at.getTime() + minutes * MINUTE_SECONDS * 1_000)
}

/** The receipt of a request that was taken; null for a platform that answers at once. */
export function newReceipt(id: string, { receiptId }: SendAnswer, at: Date): NewReceipt | null {
  if (!receiptId) return null
  return { id, receiptId, nextPollAt: addMinutes(at, POLL_MINUTES[0] ?? 0) }
}

export interface PolledReceipts {
  settled: number
  waiting: number
  more: boolean
}

/**
 * Asks the platforms for the results of requests that they took earlier. Safe to repeat and to
 * interrupt. A result changes one status: of a request that failed as a whole, the deliveries fail.
 */
export async function pollReceipts(
  context: DeliveryContext,
  { now, signal }: { now: Date; signal?: AbortSignal },
): Promise<PolledReceipts> {
  const { receipts, more, failures } = await claimReceipts(context, now)
  const polled: PolledReceipts = { settled: 0, waiting: 0, more }
  for (const receipt of receipts) {
    if (signal?.aborted) return { ...polled, more: true }
    try {
      polled[(await pollReceipt(context, receipt)) ? 'settled' : 'waiting'] += 1
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'receipts could not be polled')
  return polled
}

interface ClaimedReceipts {
  receipts: StoredReceipt[]
  more: boolean
  /** Of nodes that did not answer. */
  failures: unknown[]
}

/**
 * The due receipts of all trackers, by one statement. On a Citus cluster it fails with any node;
 * then each node is asked for those of its own trackers, so that the healthy ones do not wait.
 */
async function claimReceipts(
  { database, nodes }: DeliveryContext,
  at: Date,
): Promise<ClaimedReceipts> {
  const query = { at, until: addMinutes(at, CLAIM_MINUTES), limit: RECEIPTS_MAX }
  const isFull = (claimed: readonly StoredReceipt[]) => claimed.length === RECEIPTS_MAX
  try {
    const receipts = await claimDueReceipts(database, query)
    return { receipts, more: isFull(receipts), failures: [] }
  } catch (error) {
    if (!nodes?.isCluster) throw error
  }
  const byNode = Map.groupBy(await locateTrackers(database, nodes), ({ node }) => node)
  const claims = [...byNode].map(([node, own]) =>
    claimDueReceipts(
      node,
      query,
      own.map(({ trackerId }) => trackerId),
    ),
  )
  const results = await Promise.allSettled(claims)
  const claimed = results.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  const failures = results.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
  return { receipts: claimed.flat(), more: claimed.some(isFull), failures }
}

/** Returns whether the receipt has its final state. */
async function pollReceipt(context: DeliveryContext, receipt: StoredReceipt): Promise<boolean> {
  const platform = await findPlatform(context, receipt)
  // A hundred slow answers take minutes: with the time of the first one, the shared limit of
  // requests would begin the window of a past minute, and forget what is used of this one.
  const at = context.now()
  const answer = platform ? await readReceipt(context, platform, { receipt, at }) : null
  // The claim has postponed it, and it counts as not asked.
  if (answer === 'no_request_left') return false
  const result = answer?.kind === 'receipt' ? answer : null
  const reading = toReading(receipt, { result, waitSeconds: waitSecondsOf(answer), at })
  if (reading.state === 'failed' && platform && result) {
    await failDeliveries(context, platform, { receipt, reading, result })
  } else {
    await recordReading(context.database.pool, reading)
  }
  return reading.nextPollAt === null
}

function waitSecondsOf(answer: ReceiptResult | Unavailable | null): number {
  return answer?.kind === 'unavailable' ? answer.waitSeconds : 0
}

interface ReadResult {
  result: ReceiptResult | null
  waitSeconds: number
  at: Date
}

/** Without a result, it is asked again by the schedule, until a day has passed. */
function toReading(
  { trackerId, id, polls }: StoredReceipt,
  { result, waitSeconds, at }: ReadResult,
): ReceiptReading {
  const own = { trackerId, id, at, result }
  if (result && result.state !== 'processing') {
    return { ...own, state: result.state, nextPollAt: null }
  }
  const minutes = POLL_MINUTES[polls + 1]
  if (minutes === undefined) return { ...own, state: 'unknown', nextPollAt: null }
  const nextPollAt = addMinutes(at, Math.max(minutes, waitSeconds / MINUTE_SECONDS))
  return { ...own, state: 'processing', nextPollAt }
}

interface ReceiptPlatform {
  platform: Platform
  target: unknown
  credentialText: string
  routing: DestinationRouting
}

/** Null when this process cannot ask: the receipt then waits for another time. */
async function findPlatform(
  { database, platforms, credentialKeys }: DeliveryContext,
  { trackerId, destinationId }: StoredReceipt,
): Promise<ReceiptPlatform | null> {
  const destination = await findDestination(database, trackerId, destinationId)
  const platform = destination && platforms.find(destination.platform)
  const target = platform?.parseTarget(destination?.config ?? {}) ?? null
  const opened =
    destination && openCredential(credentialKeys, destinationId, destination.sealedCredential)
  if (!destination || !platform || target === null || !opened) return null
  const { routing } = destination
  return { platform, target, credentialText: opened.credential, routing }
}

async function readReceipt(
  { platforms, requestBudgets }: DeliveryContext,
  { platform, target, credentialText }: ReceiptPlatform,
  { receipt, at }: { receipt: StoredReceipt; at: Date },
): Promise<ReceiptResult | Unavailable | 'no_request_left' | null> {
  const found = await platforms.accessTokens.find(platform, credentialText)
  if (found.kind === 'no_token' || !platform.readReceipt) return null
  const { accessToken, credential } = found
  const budget = platform.requestBudget?.({ target, credential })
  const ofPlatform = budget && { ...budget, platform: platform.name }
  if (ofPlatform && (await requestBudgets.take(ofPlatform, at)) > 0) return 'no_request_left'
  const answer = await platform.readReceipt({ target, accessToken }, receipt.receiptId)
  const isRefused = answer.kind === 'unavailable' && answer.cause === 'credential'
  if (isRefused) platforms.accessTokens.forget(platform, credentialText)
  return answer
}

interface FailedRequest {
  receipt: StoredReceipt
  reading: ReceiptReading
  result: ReceiptResult
}

/** The platform processed nothing of the request: the events that it took have failed. */
async function failDeliveries(
  { database }: DeliveryContext,
  { platform, routing }: ReceiptPlatform,
  { receipt, reading, result }: FailedRequest,
): Promise<void> {
  const deliveries: FailedDelivery[] = []
  for await (const chunk of findAcceptedDeliveries(database, receipt)) {
    const events = await findEventsByRef(database, receipt.trackerId, chunk)
    const byId = new Map(events.map(event => [`${event.space} ${event.eventId}`, event]))
    for (const { id, createdAt, eventId, space } of chunk) {
      const event = byId.get(`${space} ${eventId}`)
      if (!event) continue
      const isRestated = isRestatement(event.eventName, platform)
      // The name under which it was counted; an erased event has lost its own.
      const isErased = event.payload === null
      const mapped = isErased ? findMappedName(routing, event.eventName) : null
      const counted = {
        eventName: mapped ?? platformNameOf(event, receipt.destinationId),
        eventOn: formatUtcDay(clampEventTime(event)),
        keys: isRestated ? [] : listSentKeys(event, platform, receipt.destinationId),
      }
      const replayableUntil = windowEnd(event, platform)
      const { valueAmount: amount, valueCurrency: currency } = event
      const hasValue = amount !== null && currency !== null && !isRestated
      const value = hasValue ? { amount, currency } : null
      deliveries.push({ id, createdAt, value, replayableUntil, ...counted })
    }
  }
  const error = toError(receipt, result)
  const issue = describeIssue({ status: 'failed:permanent', reason: 'request_failed', error })
  await failReceipt(database, { receipt, reading, deliveries, error, issue })
}

/** The keys under which the event was counted; none once its identity is erased. */
function listSentKeys(event: StoredEvent, platform: Platform, destinationId: string): string[] {
  const identity = event.payload && findPlatformIdentity(event.payload, platform)
  if (!identity) return []
  const more = { originalEvent: null, destinationId }
  return listMatchKeys(toOutboundEvent({ event, identity, platform, ...more }))
}

function toError({ receiptId }: StoredReceipt, { errors }: ReceiptResult): SendError {
  const reasons = errors.map(({ reason, count }) => `${count} ${reason}`).join(', ')
  const message = `The request ${receiptId} failed: ${reasons || 'no reason given'}.`
  return toSendError('permanent', { message })
}
