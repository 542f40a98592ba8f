import { checkWithdrawal } from '../consent/consent-decision.ts'
import type { Database } from '../db/database.ts'
import { listVisitorKeys } from '../events/person-identifiers.ts'
import type { StoredEvent } from '../events/store.ts'
import { findWithdrawals } from '../events/suppression-store.ts'
import type { Platform, SendError } from '../platforms/platform.ts'
import type { ClaimedBatch, ClaimedDelivery } from './claim-store.ts'
import type { BatchContext } from './delivery-context.ts'
import { findPlatformIdentity, toOutboundEvent } from './outbound-event.ts'
import {
  type Settlement,
  settleUnsent,
  type UnsentInput,
  type UnsentStatus,
} from './retry-policy.ts'
import type { OutboundDelivery } from './send-events.ts'
import { settleBatch } from './settle-batch.ts'

/** Settles at once what may not leave, and returns what may. */
export async function reviewDeliveries(
  context: BatchContext,
  batch: ClaimedBatch,
): Promise<OutboundDelivery[]> {
  const { database, platform, platforms, now } = context
  const { destination, claimed, events } = batch
  const withdrawnAt = await findBatchWithdrawals(database, batch)
  const at = now()
  const reviews = [...claimed.values()].map(delivery => {
    const event = events.get(delivery.id)
    return reviewDelivery(delivery, {
      event,
      withdrawnAt: event ? withdrawnAt(event) : null,
      hasTestCode: destination.testCode !== null,
      platform,
      defaultPlatform: platforms.default.name,
      at,
    })
  })
  const settlements = reviews.flatMap(({ settle }) => settle ?? [])
  await settleBatch(context, batch, { settlements, request: null })
  return reviews.flatMap(({ send }) => send ?? [])
}

async function findBatchWithdrawals(database: Database, { destination, events }: ClaimedBatch) {
  const { trackerId } = destination
  const keys = new Set([...events.values()].flatMap(({ payload }) => listVisitorKeys(payload)))
  const visitors = [...keys].map(visitorId => ({ trackerId, visitorId }))
  const latest = await findWithdrawals(database, visitors)
  return ({ payload }: StoredEvent) => latest(trackerId, listVisitorKeys(payload))
}

/** The event goes out, or it is settled without the platform. */
type Review = { send: OutboundDelivery; settle: null } | { send: null; settle: Settlement }

interface ReviewInput {
  event: StoredEvent | undefined
  withdrawnAt: Date | null
  /** The destination has a code for test events. */
  hasTestCode: boolean
  platform: Platform
  defaultPlatform: string
  at: Date
}

/** An event this close to the end of its window might be too old when the platform reads it. */
export const WINDOW_MARGIN_SECONDS = 60

/** Looks at a claimed delivery once more, at the moment of sending: may it still leave? */
function reviewDelivery(
  delivery: ClaimedDelivery,
  { event, withdrawnAt, hasTestCode, platform, defaultPlatform, at }: ReviewInput,
): Review {
  const end = event ? windowEnd(event, platform) : null
  const fails = (status: FailedUnsent, reason: string, error: SendError | null = null) =>
    settleReviewed(delivery, status, { reason, error, replayableUntil: end })
  const isNotSent = (status: 'expired' | 'skipped:consent', reason: string) =>
    settleReviewed(delivery, status, { reason, error: null, replayableUntil: null })

  if (!event?.payload || !end) return fails('failed:permanent', 'payload_expired')
  if (!isStillConsented(event, withdrawnAt))
    return isNotSent('skipped:consent', 'consent_withdrawn')
  if (at.getTime() >= end.getTime() - WINDOW_MARGIN_SECONDS * 1_000) {
    // After an attempt the platform may have the event, so that one is not called unsent.
    const wasTried = delivery.attemptCount > 1
    return wasTried
      ? fails('failed:unknown', 'time_used_up')
      : isNotSent('expired', 'outside_window')
  }
  // Without a code the platform would count it as live.
  if (delivery.isTest && !hasTestCode) return fails('failed:permanent', 'no_test_code')

  const identity = findPlatformIdentity(event.payload, platform, defaultPlatform)
  // Raw values never reach the disk, so no identity can be made of the event any more.
  if (!identity) return fails('failed:permanent', 'no_platform_identity')

  const outbound = toOutboundEvent(event, identity, platform)
  const error = platform.validateEvent(outbound)
  if (error) return fails('failed:permanent', 'refused_before_sending', error)
  return { send: { id: delivery.id, event: outbound }, settle: null }
}

type FailedUnsent = Extract<UnsentStatus, `failed:${string}`>

/** When the platform stops taking the event. */
export function windowEnd(
  event: Pick<StoredEvent, 'eventTime' | 'actionSource'>,
  platform: Platform,
): Date {
  return new Date(event.eventTime.getTime() + platform.windowSeconds(event.actionSource) * 1_000)
}

function settleReviewed(
  delivery: ClaimedDelivery,
  status: UnsentStatus,
  grounds: UnsentInput,
): Review {
  return { send: null, settle: settleUnsent(delivery, status, grounds) }
}

function isStillConsented({ consentCapturedAt }: StoredEvent, withdrawnAt: Date | null): boolean {
  const captured_at = consentCapturedAt?.toISOString() ?? null
  return checkWithdrawal({ reason: 'granted_by_consent', captured_at }, withdrawnAt).allowed
}
