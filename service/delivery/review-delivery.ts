import { checkWithdrawal } from '../consent/withdrawal.ts'
import type { StoredEvent } from '../ledger/store.ts'
import type { Platform } from '../platforms/platform.ts'
import type { SendError } from '../platforms/send-outcome.ts'
import type { ClaimedDelivery } from './claim-store.ts'
import { outboundEvent } from './outbound-event.ts'
import type { Sending } from './send-events.ts'
import {
  type Settlement,
  settleUnsent,
  type UnsentGrounds,
  type UnsentStatus,
} from './settlement.ts'

/** The event goes out, or it is settled without the platform. */
export type Review = { send: Sending; settle: null } | { send: null; settle: Settlement }

export interface ReviewGrounds {
  event: StoredEvent | undefined
  withdrawnAt: Date | null
  /** The destination has a `test_event_code`. */
  hasTestCode: boolean
  platform: Platform
  at: Date
}

/** An event this close to the end of its window might be too old when the platform reads it. */
export const WINDOW_MARGIN_SECONDS = 60

/** Looks at a claimed delivery once more, at the moment of sending: may it still leave? */
export function reviewDelivery(
  delivery: ClaimedDelivery,
  { event, withdrawnAt, hasTestCode, platform, at }: ReviewGrounds,
): Review {
  const end = event ? windowEnd(event, platform) : null
  const fails = (status: FailedUnsent, reason: string, error: SendError | null = null) =>
    settled(delivery, status, { reason, error, replayableUntil: end })
  const isNotSent = (status: 'expired' | 'skipped:consent', reason: string) =>
    settled(delivery, status, { reason, error: null, replayableUntil: null })

  if (!event?.payload || !end) return fails('failed:permanent', 'payload_expired')
  if (!mayLeave(event, withdrawnAt)) return isNotSent('skipped:consent', 'consent_withdrawn')
  if (at.getTime() >= end.getTime() - WINDOW_MARGIN_SECONDS * 1_000) {
    // After an attempt the platform may have the event, so that one is not called unsent.
    const wasTried = delivery.attemptCount > 1
    return wasTried
      ? fails('failed:unknown', 'time_used_up')
      : isNotSent('expired', 'outside_window')
  }
  // Without a code the platform would count it as live.
  if (delivery.isTest && !hasTestCode) return fails('failed:permanent', 'no_test_code')

  const outbound = outboundEvent(event)
  const error = platform.findFault(outbound)
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

function settled(delivery: ClaimedDelivery, status: UnsentStatus, grounds: UnsentGrounds): Review {
  return { send: null, settle: settleUnsent(delivery, status, grounds) }
}

function mayLeave({ consentCapturedAt }: StoredEvent, withdrawnAt: Date | null): boolean {
  const captured_at = consentCapturedAt?.toISOString() ?? null
  return checkWithdrawal({ reason: 'granted_by_consent', captured_at }, withdrawnAt).allowed
}
