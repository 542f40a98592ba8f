import { isMember, isRecognized } from '@signalbox/contract/closed-set.ts'
import type { DeliveryOutcome, RestatementReason } from '@signalbox/contract/reasons.ts'
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../runtime/util/time.ts'
import { eventRefKey, isOfPage } from '../events/event-columns.ts'
import { REFUND } from '../events/event-record.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { findOrders } from '../events/order-store.ts'
import {
  computeOrderValue,
  findRefundEffect,
  isSameAmount,
  type Order,
  type OrderValue,
} from '../events/order-value.ts'
import type { Platform } from '../platforms/platform.ts'
import type { ClaimedBatch } from './claim-store.ts'
import type { BatchContext } from './delivery-context.ts'
import { FAILED_STATUSES, WAITING_STATUSES } from './delivery-status.ts'
import { findDeliveries, type StoredDelivery } from './delivery-store.ts'
import { findReceipts, type StoredReceipt } from './receipt-store.ts'
import type { UnsentStatus } from './retry-policy.ts'

/** Whether an event gives an earlier one a new value at the platform. */
export function isRestatement(
  eventName: string,
  platform: Pick<Platform, 'restatesValues'> | null,
): boolean {
  return eventName === REFUND && platform?.restatesValues !== undefined
}

/**
 * What a refund does at a platform that restates values: it gives the purchase its net value, or
 * waits until that is safe, or ends without being sent.
 */
export type Restatement =
  | { kind: 'send'; purchase: StoredEvent; value: OrderValue; hasIdPrefix: boolean }
  | { kind: 'wait'; until: Date }
  | { kind: 'end'; outcome: DeliveryOutcome<UnsentStatus> }

export interface Restatements {
  /** The orders of the refunds in the batch. */
  purchases: readonly StoredEvent[]
  /** Null for an event that restates nothing. */
  decide: (delivery: { id: number }, event: StoredEvent) => Restatement | null
}

const NOTHING: Restatements = { purchases: [], decide: () => null }

/**
 * Loads what decides about the refunds of a batch. The purchase must be known to the platform: an
 * unknown one would become a new conversion. And one restatement of an order is under way at a
 * time, until its result is known: the platform may process two in either order, and an older value
 * would stay. The claim of a delivery is committed before this reads the others, so of two that are
 * claimed at once, at least one sees the other.
 */
export async function loadRestatements(
  { database, platform, now }: BatchContext,
  { destination, events, isTest, claimed }: ClaimedBatch,
  parents: ReadonlyMap<StoredEvent, StoredEvent>,
): Promise<Restatements> {
  const refunds = [...events.values()].filter(({ eventName }) => eventName === REFUND)
  if (platform.restatesValues === undefined || refunds.length === 0) return NOTHING
  const { trackerId, id: destinationId } = destination
  const orders = await findOrders(database, trackerId, { events: refunds, parents })
  const related = [...orders.values()].flatMap(order =>
    [order.purchase ?? [], order.refunds].flat(),
  )
  const ofEvents = await findDeliveries(database, trackerId, distinct(related))
  const deliveries = ofEvents.filter(delivery => delivery.destinationId === destinationId)
  const attemptIds = deliveries.flatMap(delivery => delivery.attemptIds.slice(-1))
  const receipts = await findReceipts(database, trackerId, attemptIds)
  const byEvent = new Map(deliveries.map(delivery => [eventRefKey(delivery), delivery]))
  const restated = new Set<string>()
  return {
    purchases: [...orders.values()].flatMap(({ purchase }) => purchase ?? []),
    decide(_, event) {
      if (event.eventName !== REFUND) return null
      const order = orders.get(event) ?? null
      const others = (order?.refunds ?? [])
        .filter(refund => eventRefKey(refund) !== eventRefKey(event))
        .flatMap(refund => byEvent.get(eventRefKey(refund)) ?? [])
      const context = { platform, receipts, isTest, at: now() }
      const purchase = order?.purchase && byEvent.get(eventRefKey(order.purchase))
      const found = { order, purchase: purchase ?? null, others }
      const decision = decideRestatement(event, found, context)
      if (decision.kind !== 'send') return decision
      const key = eventRefKey(decision.purchase)
      const isUnderWay = others.some(other => !claimed.has(other.id) && isInFlight(other))
      if (isUnderWay || restated.has(key)) return { kind: 'wait', until: waitUntil(event, now()) }
      restated.add(key)
      return decision
    },
  }
}

function distinct(events: readonly StoredEvent[]): StoredEvent[] {
  return [...new Map(events.map(event => [eventRefKey(event), event])).values()]
}

interface FoundDeliveries {
  order: Order | null
  /** That of the purchase to the same destination. */
  purchase: StoredDelivery | null
  /** Those of the other refunds of the order to the same destination. */
  others: readonly StoredDelivery[]
}

interface DecisionContext extends ResultContext {
  isTest: boolean
  at: Date
}

const end = (outcome: DeliveryOutcome<UnsentStatus>): Restatement => ({ kind: 'end', outcome })
const skip = (reason: RestatementReason) => end({ status: 'skipped:not_selected', reason })
const PURCHASE_FAILED = end({ status: 'failed:permanent', reason: 'purchase_failed' })

/** How long a refund waits for a purchase that is not stored. */
export const PURCHASE_WAIT_SECONDS = DAY_SECONDS

function decideRestatement(
  event: StoredEvent,
  { order, purchase: delivery, others }: FoundDeliveries,
  context: DecisionContext,
): Restatement {
  const wait: Restatement = { kind: 'wait', until: waitUntil(event, context.at) }
  if (isOfPage(event)) return skip('refund_of_page')
  if (order === null) return skip('refund_without_order')
  const { purchase } = order
  if (purchase === null) {
    const ageSeconds = (context.at.getTime() - event.createdAt.getTime()) / 1_000
    return ageSeconds < PURCHASE_WAIT_SECONDS ? wait : skip('purchase_unknown')
  }
  if (order.otherPurchases.length > 0) return skip('several_purchases')
  if (order.hasMoreRefunds) return skip('too_many_refunds')
  const value = computeOrderValue(order)
  if (value === null || !changesValue(event, purchase, value)) return skip('value_not_changed')
  if (delivery === null || delivery.isTest !== context.isTest) return skip('purchase_not_sent')
  const { status } = delivery
  if (!isRecognized(status) || status === 'sent' || isMember(WAITING_STATUSES, status)) {
    return wait
  }
  if (isMember(FAILED_STATUSES, status)) return PURCHASE_FAILED
  if (status !== 'accepted') return skip('purchase_not_sent')
  const unconfirmed = decideByResult(event, delivery, context)
  if (unconfirmed) return unconfirmed
  const told = others.filter(
    other => other.status === 'accepted' && other.toldValue !== null && !other.isTest,
  )
  const results = context.isTest
    ? []
    : told.map(other => ({ other, ...readResult(other, context) }))
  const open = results.find(({ state }) => state === 'processing')
  if (open) return { kind: 'wait', until: afterPoll(open.receipt, event, context.at) }
  const isTold = results.some(
    ({ other, state }) => state === 'known' && isSameAmount(other.toldValue as string, value.net),
  )
  if (isTold) return end({ status: 'skipped:duplicate', reason: 'value_already_told' })
  return { kind: 'send', purchase, value, hasIdPrefix: delivery.hasIdPrefix }
}

/** A refund in another currency, of nothing, or of a purchase of nothing leaves the value. */
function changesValue(
  refund: StoredEvent,
  purchase: StoredEvent,
  { gross, net }: OrderValue,
): boolean {
  if (isSameAmount(gross, net)) return false
  const effect = findRefundEffect(refund, purchase)
  const isZero = refund.valueAmount !== null && isSameAmount(refund.valueAmount, '0')
  return effect === 'whole' || (effect === 'subtracted' && !isZero)
}

/** Null where the platform has confirmed that it knows the purchase. */
function decideByResult(
  event: StoredEvent,
  delivery: StoredDelivery,
  context: DecisionContext,
): Restatement | null {
  const { state, receipt } = readResult(delivery, context)
  switch (state) {
    case 'known':
      return null
    case 'processing':
      return { kind: 'wait', until: afterPoll(receipt, event, context.at) }
    case 'failed':
      return PURCHASE_FAILED
    case 'unclear':
      return skip('purchase_unconfirmed')
  }
}

interface ResultContext {
  platform: Pick<Platform, 'restatesValues' | 'readReceipt'>
  receipts: readonly StoredReceipt[]
}

interface PlatformResult {
  state: 'known' | 'processing' | 'failed' | 'unclear'
  receipt: StoredReceipt | null
}

/**
 * What the platform's result says about one accepted delivery. A result in counts names no event:
 * where a part of a request failed, none of its events is known, unless the platform refused only
 * copies of what it had.
 */
export function readResult(
  { attemptIds, isTest }: StoredDelivery,
  { platform, receipts }: ResultContext,
): PlatformResult {
  // A platform without results says with its answer that it has the event, and keeps no test.
  if (isTest || platform.readReceipt === undefined) return { state: 'known', receipt: null }
  const receipt = receipts.find(({ id }) => id === attemptIds.at(-1)) ?? null
  switch (receipt?.state) {
    case 'succeeded':
      return { state: 'known', receipt }
    case 'processing':
    case 'failed':
      return { state: receipt.state, receipt }
    case 'partially_succeeded': {
      const known = platform.restatesValues?.knownReasons ?? []
      const areCopies = receipt.errors.every(({ reason }) => known.includes(reason))
      const isKnown = areCopies && receipt.errors.length > 0
      return { state: isKnown ? 'known' : 'unclear', receipt }
    }
    default:
      return { state: 'unclear', receipt }
  }
}

/** A worker has it, and its request may be on its way. */
function isInFlight({ status, leaseSecondsLeft }: StoredDelivery): boolean {
  return status === 'sent' && (leaseSecondsLeft ?? 0) > 0
}

/** The longer a refund has waited, the more rarely it is looked at: 32 times in a day. */
function waitUntil({ createdAt }: StoredEvent, at: Date): Date {
  const ageSeconds = (at.getTime() - createdAt.getTime()) / 1_000
  const seconds = Math.min(Math.max(ageSeconds, MINUTE_SECONDS), HOUR_SECONDS)
  return new Date(at.getTime() + seconds * 1_000)
}

function afterPoll(receipt: StoredReceipt | null, event: StoredEvent, at: Date): Date {
  const next = receipt?.nextPollAt
  return next && next > at ? addMinute(next) : waitUntil(event, at)
}

function addMinute(time: Date): Date {
  return new Date(time.getTime() + MINUTE_SECONDS * 1_000)
}
