import { isRecognized } from '@signalbox/contract/closed-set.ts'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { SendOutcome } from '@signalbox/contract/reasons.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { StoredAttempt } from './attempt-store.ts'
import type { StoredDelivery } from './delivery-store.ts'
import { DEDUPLICATION_MILLISECONDS } from './replay-store.ts'

/** The platform rejected the destination, so these answers count as no attempt of the event. */
const UNCOUNTED_OUTCOMES: readonly SendOutcome[] = ['auth', 'config']

/**
 * How many attempts may have reached the platform without a known answer: requests without a usable
 * answer, and claims of workers that were lost. A lost worker leaves a counted attempt without a
 * stored request. Never more than there were: a stored request that has expired counts as answered.
 * A lease that still runs is not counted.
 */
export function countUnknownAttempts(
  { status, attemptCount, attemptIds, leaseSecondsLeft }: StoredDelivery,
  { eventClass }: StoredEvent,
  attempts: readonly StoredAttempt[],
): number {
  const own = attempts.filter(({ id }) => attemptIds.includes(id))
  const withoutAnswer = own.filter(({ outcome }) => outcome === 'unknown').length
  // A test purchase has one attempt, which counts with any answer of the platform.
  const isUncounted = ({ outcome }: StoredAttempt) => UNCOUNTED_OUTCOMES.includes(outcome)
  const uncounted = eventClass === 'test' ? 0 : own.filter(isUncounted).length
  const inFlight = status === 'sent' && (leaseSecondsLeft ?? 0) > 0 ? 1 : 0
  const lost = attemptCount - inFlight - (attemptIds.length - uncounted)
  return withoutAnswer + Math.max(0, lost)
}

/**
 * Whether the platform may have received the event before, and may count it twice: after a replay,
 * and after attempts whose answer is not known.
 */
export function repeatSentence(delivery: StoredDelivery, unknown: number, at: Date): string {
  const { status, replayedAt, firstSentAt, updatedAt } = delivery
  const isOver = !(isRecognized(status) && UNFINISHED.includes(status))
  const isLateReplay = replayedAt && isLate(firstSentAt, replayedAt)
  if (isLateReplay && (!isOver || status === 'accepted')) {
    return (
      `It was replayed at ${replayedAt.toISOString()}, and first sent more than 48 hours before, ` +
      'so the platform may count it twice.'
    )
  }
  if (unknown === 0) return ''
  const attempts = unknown === 1 ? 'One attempt' : `${unknown} attempts`
  if (isOver && status !== 'accepted') {
    return `${attempts} ended without a known answer, so the platform may have received the event.`
  }
  const sentAt = status === 'accepted' ? (updatedAt ?? at) : at
  const count = isLate(firstSentAt, sentAt)
    ? 'and may count it twice, because more than 48 hours have passed since the first'
    : 'and ignores a repeat of its ID within 48 hours'
  const times = status === 'accepted' ? ' more than once' : ''
  return `${attempts} ended without a known answer, so the platform may have it${times}, ${count}.`
}

/** The statuses that are not final. */
const UNFINISHED: readonly DeliveryStatus[] = ['queued', 'retrying', 'sent']

function isLate(firstSentAt: Date | null, sentAt: Date): boolean {
  return firstSentAt !== null && Number(sentAt) - Number(firstSentAt) > DEDUPLICATION_MILLISECONDS
}
