import type { DeliveryOutcome, WarningReason } from '@signalbox/contract/reasons.ts'
import { HOUR_SECONDS, MINUTE_SECONDS } from '../../runtime/util/time.ts'
import type { SendAnswer, SendError } from '../platforms/platform.ts'
import type { StatusAfterSent } from './delivery-status.ts'

/** How a claimed delivery ends: by the platform's answer, or because it was not sent. */
export interface RetryPolicy {
  onAnswer: (delivery: AnsweredDelivery, answer: SendAnswer, context: AnswerContext) => Settlement
  onUnsent: (delivery: UnsentDelivery, context: UnsentContext) => Settlement
}

/** The policy of the worker: deliveries wait in the queue until an attempt succeeds. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = { onAnswer: settleByAnswer, onUnsent: handBack }

/**
 * The policy of a test purchase, whose caller waits for the result: what the platform does not
 * accept has failed. Only a replay can send it later.
 */
export const NO_RETRY_POLICY: RetryPolicy = {
  onAnswer(delivery, answer, context) {
    const settlement = settleByAnswer(delivery, answer, context)
    if (settlement.reason === 'not_deduplicated') return settlement
    const failed = { nextAttemptAt: null, replayableUntil: delivery.windowEndsAt }
    switch (answer.outcome) {
      case 'accepted':
      case 'permanent':
        return settlement
      case 'auth':
      case 'config':
        return {
          ...settlement,
          ...failed,
          status: 'failed:auth',
          reason: 'destination_refused',
          isUncounted: false,
        }
      case 'retry':
      case 'throttle':
      case 'unknown':
        return { ...settlement, ...failed, status: 'failed:unknown', reason: 'single_attempt' }
    }
  },
  onUnsent({ id, windowEndsAt }, { reason }) {
    const failed = { ...uncounted(id), replayableUntil: windowEndsAt }
    return reason === 'credential_unreadable'
      ? { ...failed, status: 'failed:auth', reason }
      : { ...failed, status: 'failed:unknown', reason }
  },
}

/** The outcome of one claimed delivery: a status with one of its reasons. */
export type Settlement = DeliveryOutcome<StatusAfterSent> & SettlementDetails

interface SettlementDetails {
  id: number
  nextAttemptAt: Date | null
  /** Until when a failure can be replayed; null for everything else. */
  replayableUntil: Date | null
  /** The attempt does not count, because it proves nothing about the event. */
  isUncounted: boolean
  error: SendError | null
  traceId: string | null
  attemptId: string | null
  /** What issues count if it is accepted. */
  warning?: WarningReason | undefined
}

/**
 * The cause under which a settlement is counted: class, code, subcode and reason, with -1 for no
 * code. Null when nothing went wrong.
 */
export function describeIssue({
  status,
  reason,
  error,
  warning,
}: Pick<Settlement, 'status' | 'reason' | 'error' | 'warning'>): string | null {
  if (error && error.class !== 'local') {
    return `${error.class} ${toIssueCode(error.code)} ${toIssueCode(error.subcode)} `
  }
  if (status.startsWith('failed:')) return `local -1 -1 ${reason}`
  return status === 'accepted' && warning ? `local -1 -1 ${warning}` : null
}

const INTEGER_MAX = 2 ** 31 - 1

function toIssueCode(code: number | null): number {
  return Number.isInteger(code) && Math.abs(Number(code)) <= INTEGER_MAX ? Number(code) : -1
}

interface AnsweredDelivery {
  id: number
  /** Attempts since it was planned or last replayed: its position in the retry schedule. */
  attemptNumber: number
  /** When the platform stops accepting the event. */
  windowEndsAt: Date
  /** The platform counts a copy of the event once. */
  isDeduplicated: boolean
}

interface AnswerContext {
  at: Date
  attemptId: string
  /** From 0 to 1, for the jitter of a retry. */
  random: number
}

type UnsentDelivery = Pick<AnsweredDelivery, 'id' | 'windowEndsAt'>

/** It cannot be replayed either: the replay would be the copy. */
export const NOT_DEDUPLICATED = { status: 'failed:unknown', reason: 'not_deduplicated' } as const

/** Why a claimed delivery was not sent. */
export type UnsentReason = 'handed_back' | 'credential_unreadable'

interface UnsentContext {
  at: Date
  reason: UnsentReason
}

/** Settles one delivery of a request by the platform's answer. */
export function settleByAnswer(
  { id, attemptNumber, windowEndsAt, isDeduplicated }: AnsweredDelivery,
  { outcome, waitSeconds, error, traceId }: SendAnswer,
  { at, attemptId, random }: AnswerContext,
): Settlement {
  const answered = { ...uncounted(id), error, traceId, attemptId }
  const counted = { ...answered, isUncounted: false }
  const failed = { ...counted, replayableUntil: windowEndsAt }
  if (outcome === 'unknown' && !isDeduplicated) return { ...counted, ...NOT_DEDUPLICATED }
  switch (outcome) {
    case 'accepted':
      return { ...counted, status: 'accepted', reason: 'accepted' }
    case 'permanent':
      // The plug-in found it, for this destination, and left the event out of its request.
      if (error?.class === 'local') {
        const unsent = { ...answered, replayableUntil: windowEndsAt }
        return { ...unsent, status: 'failed:permanent', reason: 'refused_before_sending' }
      }
      return { ...failed, status: 'failed:permanent', reason: 'refused_by_platform' }
    case 'auth':
    case 'config':
      return { ...answered, status: 'queued', reason: 'destination_refused', nextAttemptAt: at }
    case 'retry':
    case 'throttle':
    case 'unknown': {
      const seconds = backoffSeconds({ attemptNumber, waitSecondsMin: waitSeconds, random })
      const nextAttemptAt = new Date(at.getTime() + seconds * 1_000)
      if (nextAttemptAt >= windowEndsAt) {
        return { ...failed, status: 'failed:unknown', reason: 'time_used_up' }
      }
      return { ...counted, status: 'retrying', reason: outcome, nextAttemptAt }
    }
  }
}

export type UnsentStatus =
  | 'expired'
  | 'skipped:consent'
  | 'skipped:no_destination'
  | 'skipped:duplicate'
  | 'skipped:not_selected'
  | 'failed:permanent'
  | 'failed:unknown'

export interface UnsentInput {
  error: SendError | null
  /** The end of the platform's window, when it failed and can be replayed. */
  replayableUntil: Date | null
}

/** Settles a delivery that ends without being sent. */
export function settleUnsent(
  { id }: Pick<Settlement, 'id'>,
  outcome: DeliveryOutcome<UnsentStatus>,
  { error, replayableUntil }: UnsentInput,
): Settlement {
  return { ...uncounted(id), ...outcome, replayableUntil, error }
}

/** Returns a claimed delivery to the queue as it was, without counting the attempt. */
export function handBack({ id }: Pick<Settlement, 'id'>, { at }: { at: Date }): Settlement {
  return { ...uncounted(id), status: 'queued', reason: 'handed_back', nextAttemptAt: at }
}

/** Returns a claimed delivery to the queue, where it waits for another event. */
export function holdUntil(
  { id }: Pick<Settlement, 'id'>,
  nextAttemptAt: Date,
  reason: 'held_for_secret' | 'waiting_for_purchase',
): Settlement {
  return { ...uncounted(id), status: 'queued', reason, nextAttemptAt }
}

function uncounted(id: number): SettlementDetails {
  return {
    id,
    nextAttemptAt: null,
    replayableUntil: null,
    isUncounted: true,
    error: null,
    traceId: null,
    attemptId: null,
  }
}

/** The delays after the first, second, ... failed attempt. */
const SCHEDULE_SECONDS = [
  5,
  30,
  2 * MINUTE_SECONDS,
  10 * MINUTE_SECONDS,
  30 * MINUTE_SECONDS,
  HOUR_SECONDS,
  3 * HOUR_SECONDS,
  6 * HOUR_SECONDS,
  12 * HOUR_SECONDS,
]
const JITTER = 0.2

interface BackoffInput {
  /** Attempts since it was planned or last replayed, including this one. */
  attemptNumber: number
  /** The delay that the platform asked for, in seconds; 0 when it asked for none. */
  waitSecondsMin: number
  /** From 0 to 1; spreads retries, so that they do not all arrive together. */
  random: number
}

/** The delay before the next attempt, in seconds. */
export function backoffSeconds({ attemptNumber, waitSecondsMin, random }: BackoffInput): number {
  const step = Math.min(Math.max(attemptNumber, 1), SCHEDULE_SECONDS.length) - 1
  const scheduled = (SCHEDULE_SECONDS[step] ?? 0) * (1 - JITTER + 2 * JITTER * random)
  return Math.max(scheduled, waitSecondsMin)
}
