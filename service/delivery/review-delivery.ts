import { checkWithdrawal } from '../consent/withdrawal.ts'
import type { StoredEvent } from '../ledger/store.ts'
import type { Platform } from '../platforms/platform.ts'
import { outboundEvent } from './outbound-event.ts'
import type { Sending } from './send-events.ts'
import { type Settlement, settleUnsent, type UnsentStatus } from './settlement.ts'
import type { ClaimedDelivery } from './store.ts'

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
const WINDOW_MARGIN_MILLISECONDS = 60_000

/** Looks at a claimed delivery once more, at the moment of sending: may it still leave? */
export function reviewDelivery(
  delivery: ClaimedDelivery,
  { event, withdrawnAt, hasTestCode, platform, at }: ReviewGrounds,
): Review {
  if (!event?.payload) {
    return settled(delivery, 'failed:permanent', 'payload_expired')
  }
  if (!mayLeave(event, withdrawnAt)) {
    return settled(delivery, 'skipped:consent', 'consent_withdrawn')
  }
  const end = windowEnd(event, platform).getTime() - WINDOW_MARGIN_MILLISECONDS
  if (at.getTime() >= end) return tooLate(delivery)
  // Without a code the platform would count it as live.
  if (delivery.isTest && !hasTestCode) return settled(delivery, 'failed:permanent', 'no_test_code')

  const outbound = outboundEvent(event)
  const error = platform.findFault(outbound)
  if (error) {
    const refused = settleUnsent(delivery, 'failed:permanent', {
      reason: 'refused_before_sending',
      error,
    })
    return { send: null, settle: refused }
  }
  return { send: { id: delivery.id, event: outbound }, settle: null }
}

/** After an attempt the platform may have the event, so that one is not called unsent. */
function tooLate(delivery: ClaimedDelivery): Review {
  const wasTried = delivery.attemptCount > 1
  return wasTried
    ? settled(delivery, 'failed:unknown', 'time_used_up')
    : settled(delivery, 'expired', 'outside_window')
}

/** When the platform stops taking the event. */
export function windowEnd(
  event: Pick<StoredEvent, 'eventTime' | 'actionSource'>,
  platform: Platform,
): Date {
  return new Date(event.eventTime.getTime() + platform.windowSeconds(event.actionSource) * 1_000)
}

function settled(delivery: ClaimedDelivery, status: UnsentStatus, reason: string): Review {
  return { send: null, settle: settleUnsent(delivery, status, { reason, error: null }) }
}

function mayLeave({ consentCapturedAt }: StoredEvent, withdrawnAt: Date | null): boolean {
  const captured_at = consentCapturedAt?.toISOString() ?? null
  return checkWithdrawal({ reason: 'granted_by_consent', captured_at }, withdrawnAt).allowed
}
