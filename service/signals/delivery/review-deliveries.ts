import type { DeliveryOutcome, ReasonOf } from '@signalbox/contract/reasons.ts'
import { findWithdrawalReason, type WithdrawalReason } from '../consent/consent-decision.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { findParentEvents } from '../events/lineage-store.ts'
import {
  findPersonWithdrawals,
  NOT_WITHDRAWN,
  personOf,
  type Withdrawals,
  withdrawalsOf,
} from '../events/withdrawal-store.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { Platform, SendError } from '../platforms/platform.ts'
import type { ClaimedBatch, ClaimedDelivery } from './claim-store.ts'
import type { BatchContext } from './delivery-context.ts'
import { storeToldValues, type ToldValue } from './delivery-store.ts'
import { toOriginalEvent, toOutboundEvent } from './outbound-event.ts'
import { storeIdPrefixes } from './page-event-store.ts'
import { loadPageRules, type PageRules } from './page-events.ts'
import { loadRestatements, type Restatement, type Restatements } from './restate-orders.ts'
import {
  holdUntil,
  NOT_DEDUPLICATED,
  type Settlement,
  settleUnsent,
  type UnsentInput,
  type UnsentStatus,
} from './retry-policy.ts'
import type { OutboundDelivery } from './send-events.ts'

export interface ReviewedBatch {
  /** What may be sent. */
  deliveries: OutboundDelivery[]
  /** The outcomes of the others, which end without a request. */
  settlements: Settlement[]
  /** Of those that may be sent, the ones that the platform may drop as duplicates. */
  possibleDuplicates: ReadonlySet<number>
}

/** Checks again, at the time of sending, which claimed deliveries may be sent. */
export async function reviewDeliveries(
  context: BatchContext,
  batch: ClaimedBatch,
): Promise<ReviewedBatch> {
  const { platform, now } = context
  const { destination, claimed, events } = batch
  const { database } = context
  if (destination.disconnectedAt !== null) return skipAll(batch)
  const { trackerId } = destination
  const parents = await findParentEvents(database, trackerId, [...events.values()])
  const restatements = await loadRestatements(context, batch, parents)
  const known = [...events.values(), ...restatements.purchases]
  const withdrawalsOf = await findBatchWithdrawals(context, trackerId, known)
  const at = now()
  const pages = await loadPageRules(context, { batch, parents, at })
  const reviews = [...claimed.values()].map(delivery => {
    const event = events.get(delivery.id)
    return reviewDelivery(delivery, {
      event,
      withdrawalsOf,
      parent: (event && parents.get(event)) ?? null,
      pages,
      restatements,
      hasTestCode: destination.testCode !== null,
      platform,
      destinationId: destination.id,
      at,
    })
  })
  const prefixed = reviews.flatMap(({ newlyPrefixed }) => newlyPrefixed ?? [])
  await storeIdPrefixes(database, { trackerId, leaseEndsAt: batch.leaseEndsAt, prefixed })
  const told = reviews.flatMap(({ told }) => told ?? [])
  await storeToldValues(database, { trackerId, leaseEndsAt: batch.leaseEndsAt, told })
  return {
    deliveries: reviews.flatMap(({ send }) => send ?? []),
    settlements: reviews.flatMap(({ settle }) => settle ?? []),
    possibleDuplicates: pages.possibleDuplicates,
  }
}

/** Nothing is sent to a destination that a person disconnected. */
function skipAll({ claimed }: ClaimedBatch): ReviewedBatch {
  const settlements = [...claimed.values()].map(delivery =>
    settleUnsent(delivery, DISCONNECTED, { error: null, replayableUntil: null }),
  )
  return { deliveries: [], settlements, possibleDuplicates: new Set() }
}

const DISCONNECTED = { status: 'skipped:no_destination', reason: 'disconnected' } as const

async function findBatchWithdrawals(
  { database, erasureKey, platform }: BatchContext,
  trackerId: string,
  events: readonly StoredEvent[],
): Promise<(event: StoredEvent) => Withdrawals> {
  const people = new Map(
    events.flatMap(event => {
      const person = personOf(trackerId, event)
      return person ? [[event, { ...person, platformNames: [platform.name] }] as const] : []
    }),
  )
  const { latest } = await findPersonWithdrawals(database, [...people.values()], erasureKey)
  return event => {
    const person = people.get(event)
    return person ? withdrawalsOf(latest(person), platform.name) : NOT_WITHDRAWN
  }
}

/** The event is sent, or it is settled without a request. */
type Review =
  | {
      send: OutboundDelivery
      settle: null
      newlyPrefixed: NewlyPrefixed | null
      told: ToldValue | null
    }
  | { send: null; settle: Settlement; newlyPrefixed: null; told: null }

type NewlyPrefixed = { createdAt: Date; deliveryId: number }

interface ReviewInput {
  event: StoredEvent | undefined
  withdrawalsOf: (event: StoredEvent) => Withdrawals
  parent: StoredEvent | null
  pages: PageRules
  restatements: Restatements
  /** The destination has a code for test events. */
  hasTestCode: boolean
  platform: Platform
  destinationId: string
  at: Date
}

/** An event this close to the end of its window may be too old when the platform reads it. */
export const WINDOW_MARGIN_SECONDS = 60

function reviewDelivery(delivery: ClaimedDelivery, input: ReviewInput): Review {
  const { event, withdrawalsOf, parent, pages, hasTestCode, platform, destinationId, at } = input
  const end = event ? windowEnd(event, platform) : null
  const settle = (outcome: DeliveryOutcome<UnsentStatus>, error: SendError | null = null) =>
    settleReviewed(delivery, outcome, { error, replayableUntil: end })
  const fail = (reason: ReasonOf<'failed:permanent'>, error: SendError | null = null) =>
    settle({ status: 'failed:permanent', reason }, error)

  if (!event?.payload || !end) return fail('payload_expired')
  const withdrawn = findStoredWithdrawalReason(event, withdrawalsOf(event))
  if (withdrawn) return settle({ status: 'skipped:consent', reason: withdrawn })
  if (at.getTime() >= end.getTime() - WINDOW_MARGIN_SECONDS * 1_000) {
    // After an attempt the platform may have the event, so it has not expired unsent.
    const wasTried = delivery.attemptCount > 1
    return wasTried
      ? settle({ status: 'failed:unknown', reason: 'time_used_up' })
      : settle({ status: 'expired', reason: 'outside_window' })
  }
  const restatement = input.restatements.decide(delivery, event)
  if (restatement) return reviewRefund(delivery, restatement, { ...input, replayableUntil: end })
  // The wait leaves time to send the event before the platform's window ends.
  const latestSend = new Date(end.getTime() - 2 * WINDOW_MARGIN_SECONDS * 1_000)
  const page = pages.decide(delivery, event, latestSend)
  if (page.kind === 'duplicate') {
    return settle({ status: 'skipped:duplicate', reason: 'sent_by_secret' })
  }
  if (page.kind === 'hold') {
    return hold(delivery, page.until, 'held_for_secret')
  }
  // Without a code the platform would count it as live.
  if (delivery.isTest && !hasTestCode) return fail('no_test_code')

  const identity = findPlatformIdentity(event.payload, platform)
  // Raw values are never stored, so the identity cannot be made later.
  if (!identity) return fail('no_platform_identity')

  const original = parent && toOriginalEvent(parent, destinationId)
  const originalEvent = original && pages.nameParent(event, parent, original)
  const { hasIdPrefix } = page
  const names = { destinationId, originalEvent, hasIdPrefix }
  const outbound = toOutboundEvent({ event, identity, platform, ...names })
  const error = platform.validateEvent(outbound)
  if (error) return fail('refused_before_sending', error)
  // The worker that died may have sent it.
  const isCopy = delivery.isLeaseTakeover && platform.isDeduplicated?.(outbound) === false
  if (isCopy) return settle(NOT_DEDUPLICATED)
  const { id, createdAt } = delivery
  const isNew = hasIdPrefix && !delivery.hasIdPrefix
  const newlyPrefixed = isNew ? { createdAt, deliveryId: id } : null
  return { send: { id, event: outbound }, settle: null, newlyPrefixed, told: null }
}

function hold(
  delivery: ClaimedDelivery,
  until: Date,
  reason: 'held_for_secret' | 'waiting_for_purchase',
): Review {
  const settle = holdUntil(delivery, until, reason)
  return { send: null, settle, newlyPrefixed: null, told: null }
}

/**
 * The purchase of a refund is sent again with its net value: its own identity, consent and age
 * count, and everything but the value is what the platform has.
 */
function reviewRefund(
  delivery: ClaimedDelivery,
  restatement: Restatement,
  input: ReviewInput & { replayableUntil: Date },
): Review {
  const { withdrawalsOf, hasTestCode, platform, destinationId, at, replayableUntil } = input
  const settle = (outcome: DeliveryOutcome<UnsentStatus>, error: SendError | null = null) =>
    settleReviewed(delivery, outcome, { error, replayableUntil })
  if (restatement.kind === 'wait') {
    return hold(delivery, restatement.until, 'waiting_for_purchase')
  }
  if (restatement.kind === 'end') return settle(restatement.outcome)
  const { purchase, value, hasIdPrefix } = restatement
  if (!purchase.payload) {
    return purchase.isErased
      ? settle({ status: 'skipped:consent', reason: 'purchase_erased' })
      : settle({ status: 'skipped:not_selected', reason: 'purchase_payload_expired' })
  }
  if (findStoredWithdrawalReason(purchase, withdrawalsOf(purchase))) {
    return settle({ status: 'skipped:consent', reason: 'purchase_withdrawn' })
  }
  const closesAt = windowEnd(purchase, platform).getTime() - WINDOW_MARGIN_SECONDS * 1_000
  if (at.getTime() >= closesAt) return settle({ status: 'expired', reason: 'outside_window' })
  const identity = findPlatformIdentity(purchase.payload, platform)
  if (!identity) return settle({ status: 'skipped:not_selected', reason: 'purchase_not_sent' })
  if (delivery.isTest && !hasTestCode) {
    return settle({ status: 'failed:permanent', reason: 'no_test_code' })
  }
  const names = { platform, destinationId, hasIdPrefix, originalEvent: null }
  const outbound = {
    ...toOutboundEvent({ event: purchase, identity, ...names }),
    valueAmount: value.net,
    valueCurrency: value.currency,
  }
  const error = platform.validateEvent(outbound)
  if (error) return settle({ status: 'skipped:not_selected', reason: 'restatement_refused' }, error)
  const { id, createdAt } = delivery
  const told = { createdAt, deliveryId: id, value: value.net }
  return { send: { id, event: outbound }, settle: null, newlyPrefixed: null, told }
}

/** When the platform stops accepting the event. */
export function windowEnd(
  event: Pick<StoredEvent, 'eventTime' | 'actionSource'>,
  platform: Platform,
): Date {
  return new Date(event.eventTime.getTime() + platform.windowSeconds(event.actionSource) * 1_000)
}

function settleReviewed(
  delivery: ClaimedDelivery,
  outcome: DeliveryOutcome<UnsentStatus>,
  { error, replayableUntil }: UnsentInput,
): Review {
  const isFailed =
    outcome.status.startsWith('failed:') && outcome.reason !== NOT_DEDUPLICATED.reason
  const input = { error, replayableUntil: isFailed ? replayableUntil : null }
  const settle = settleUnsent(delivery, outcome, input)
  return { send: null, settle, newlyPrefixed: null, told: null }
}

/** Why the withdrawals of its person withhold a stored event; null when they do not. */
export function findStoredWithdrawalReason(
  { consentCapturedAt, createdAt }: Pick<StoredEvent, 'consentCapturedAt' | 'createdAt'>,
  withdrawals: Withdrawals,
): WithdrawalReason | null {
  const captured_at = consentCapturedAt?.toISOString() ?? null
  const grant = { reason: 'granted_by_consent', captured_at } as const
  return findWithdrawalReason(grant, { ...withdrawals, receivedAt: createdAt })
}

/**
 * The identity that acceptance made for a platform; null when it made none, because the tracker had
 * no destination of the platform or its plug-in was not installed.
 */
export function findPlatformIdentity(
  { identityMark, digests, plain, platforms }: NonNullable<StoredEvent['payload']>,
  platform: Platform,
): PlatformIdentity | null {
  if (platform.identityMark === identityMark) return { digests, plain }
  const { name } = platform
  return platforms && Object.hasOwn(platforms, name) ? (platforms[name] ?? null) : null
}
