import { isRecognized } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_REASONS, type ReasonOf } from '@signalbox/contract/reasons.ts'
import type { StoredDelivery } from '../signals/delivery/delivery-store.ts'
import { WINDOW_MARGIN_SECONDS } from '../signals/delivery/review-deliveries.ts'
import type { StoredEvent } from '../signals/events/event-store.ts'

type FailedStatus = 'failed:auth' | 'failed:permanent' | 'failed:unknown'
type FailedReason = ReasonOf<FailedStatus>

/** What to do about a failure besides a replay, or instead of one; null where it can help. */
const ADVICE: Record<FailedReason, string | null> = {
  destination_refused: null,
  credential_unreadable: null,
  request_failed: null,
  purchase_failed: null,
  no_test_code: null,
  time_used_up: null,
  single_attempt: null,
  handed_back: null,
  refused_by_platform:
    'A replay sends what was refused: it helps only if the cause was at the platform and is ' +
    'gone. If the event is wrong, correct it and send it under a new event ID.',
  refused_before_sending:
    'A replay cannot change the event. Correct it, and send it under a new event ID.',
  no_platform_identity:
    'It was accepted without an identifier that this platform takes, which a replay cannot add. ' +
    'Send it under a new event ID, with one.',
  payload_expired: 'Its identity was deleted. Send it under a new event ID, with its own time.',
  not_deduplicated:
    'The platform may have it and would count a copy, so it is not sent again. Look for it ' +
    'there; only if it is missing, send it under a new event ID.',
}

/** A replay may succeed all the same. */
const MAY_SUCCEED: readonly FailedReason[] = ['refused_by_platform']

interface ReplayContext {
  event: StoredEvent
  windowEndsAt: Date | null
  at: Date
}

export interface ReplayAdvice {
  /** A replay would queue it now, and may succeed. */
  canReplay: boolean
  /** What to do instead of a replay, or before one; null where a replay is all. */
  advice: string | null
}

/** Whether to offer a replay of a delivery, and what to do where it cannot help. */
export function adviseReplay(
  { status, statusReason, attemptIds }: StoredDelivery,
  { event, windowEndsAt, at }: ReplayContext,
): ReplayAdvice {
  if (!isRecognized(status) || !isFailed(status)) return { canReplay: false, advice: null }
  const endsAfter = at.getTime() + WINDOW_MARGIN_SECONDS * 1_000
  const isOpen = windowEndsAt === null || windowEndsAt.getTime() > endsAfter
  if (!isOpen) return { canReplay: false, advice: TOO_OLD }
  if (event.payload === null) return { canReplay: false, advice: ADVICE.payload_expired }
  if (!isFailedReason(statusReason)) return { canReplay: true, advice: null }
  // Decided in an attempt, it is about this destination.
  if (statusReason === 'refused_before_sending' && attemptIds.length > 0) {
    return { canReplay: true, advice: OF_DESTINATION }
  }
  const advice = ADVICE[statusReason]
  return { canReplay: advice === null || MAY_SUCCEED.includes(statusReason), advice }
}

const OF_DESTINATION =
  'A replay helps once the destination can send it. Else correct the event, and send it under a ' +
  'new event ID.'

const TOO_OLD =
  'The event is older than the platform accepts, so neither a replay nor a new event can help.'

function isFailed(status: string): status is FailedStatus {
  return status.startsWith('failed:')
}

function isFailedReason(reason: unknown): reason is FailedReason {
  const reasons: readonly string[] = [
    ...DELIVERY_REASONS['failed:auth'],
    ...DELIVERY_REASONS['failed:permanent'],
    ...DELIVERY_REASONS['failed:unknown'],
  ]
  return typeof reason === 'string' && reasons.includes(reason)
}
