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
import { toOriginalEvent, toOutboundEvent } from './outbound-event.ts'
import { storeIdPrefixes } from './page-event-store.ts'
import { loadPageRules, type PageRules } from './page-events.ts'
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
  const withdrawalsOf = await findBatchWithdrawals(context, batch)
  const { database } = context
  const { trackerId } = destination
  const parents = await findParentEvents(database, trackerId, [...events.values()])
  const at = now()
  const pages = await loadPageRules(context, { batch, parents, at })
  const reviews = [...claimed.values()].map(delivery => {
    const event = events.get(delivery.id)
    return reviewDelivery(delivery, {
      event,
      withdrawals: event ? withdrawalsOf(event) : NOT_WITHDRAWN,
      parent: (event && parents.get(event)) ?? null,
      pages,
      hasTestCode: destination.testCode !== null,
      platform,
      destinationId: destination.id,
      at,
    })
  })
  const prefixed = reviews.flatMap(({ newlyPrefixed }) => newlyPrefixed ?? [])
  await storeIdPrefixes(database, { trackerId, leaseEndsAt: batch.leaseEndsAt, prefixed })
  return {
    deliveries: reviews.flatMap(({ send }) => send ?? []),
    settlements: reviews.flatMap(({ settle }) => settle ?? []),
    possibleDuplicates: pages.possibleDuplicates,
  }
}

async function findBatchWithdrawals(
  { database, erasureKey, platform }: BatchContext,
  { destination, events }: ClaimedBatch,
): Promise<(event: StoredEvent) => Withdrawals> {
  const { trackerId } = destination
  const people = new Map(
    [...events.values()].flatMap(event => {
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
  | { send: OutboundDelivery; settle: null; newlyPrefixed: NewlyPrefixed | null }
  | { send: null; settle: Settlement; newlyPrefixed: null }

type NewlyPrefixed = { createdAt: Date; deliveryId: number }

interface ReviewInput {
  event: StoredEvent | undefined
  withdrawals: Withdrawals
  parent: StoredEvent | null
  pages: PageRules
  /** The destination has a code for test events. */
  hasTestCode: boolean
  platform: Platform
  destinationId: string
  at: Date
}

/** An event this close to the end of its window may be too old when the platform reads it. */
export const WINDOW_MARGIN_SECONDS = 60

function reviewDelivery(delivery: ClaimedDelivery, input: ReviewInput): Review {
  const { event, withdrawals, parent, pages, hasTestCode, platform, destinationId, at } = input
  const end = event ? windowEnd(event, platform) : null
  const settle = (outcome: DeliveryOutcome<UnsentStatus>, error: SendError | null = null) =>
    settleReviewed(delivery, outcome, { error, replayableUntil: end })
  const fail = (reason: ReasonOf<'failed:permanent'>, error: SendError | null = null) =>
    settle({ status: 'failed:permanent', reason }, error)

  if (!event?.payload || !end) return fail('payload_expired')
  const withdrawn = findStoredWithdrawalReason(event, withdrawals)
  if (withdrawn) return settle({ status: 'skipped:consent', reason: withdrawn })
  if (at.getTime() >= end.getTime() - WINDOW_MARGIN_SECONDS * 1_000) {
    // After an attempt the platform may have the event, so it has not expired unsent.
    const wasTried = delivery.attemptCount > 1
    return wasTried
      ? settle({ status: 'failed:unknown', reason: 'time_used_up' })
      : settle({ status: 'expired', reason: 'outside_window' })
  }
  // The wait leaves time to send the event before the platform's window ends.
  const latestSend = new Date(end.getTime() - 2 * WINDOW_MARGIN_SECONDS * 1_000)
  const page = pages.decide(delivery, event, latestSend)
  if (page.kind === 'duplicate') {
    return settle({ status: 'skipped:duplicate', reason: 'sent_by_secret' })
  }
  if (page.kind === 'hold') {
    return { send: null, settle: holdUntil(delivery, page.until), newlyPrefixed: null }
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
  return { send: { id, event: outbound }, settle: null, newlyPrefixed }
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
  return { send: null, settle: settleUnsent(delivery, outcome, input), newlyPrefixed: null }
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
