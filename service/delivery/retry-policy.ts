import type { SendAnswer, SendError } from '../platforms/platform.ts'
import type { StatusAfterSent } from './delivery-status.ts'

/** Why a claimed delivery was not handed over after all. */
export type UnsentReason = 'handed_back' | 'credential_unreadable'

interface UnsentContext {
  at: Date
  reason: UnsentReason
}

type UnsentDelivery = Pick<SettledDelivery, 'id' | 'windowEndsAt'>

/** How claimed deliveries are settled: by the platform's answer, or because there was none. */
export interface RetryPolicy {
  onAnswer: (delivery: SettledDelivery, answer: SendAnswer, moment: AnswerContext) => Settlement
  onUnsent: (delivery: UnsentDelivery, moment: UnsentContext) => Settlement
}

/** The fates of a lane: patient, because a worker comes back for what waits. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = { onAnswer: settleByAnswer, onUnsent: handBack }

/**
 * The fates of a test purchase, whose caller waits for the answer: what the platform does not
 * accept has failed. Nothing of it goes out later, after the caller has gone, but by a replay.
 */
export const NO_RETRY_POLICY: RetryPolicy = {
  onAnswer(delivery, answer, moment) {
    const settled = settleByAnswer(delivery, answer, moment)
    const failed = { nextAttemptAt: null, replayableUntil: delivery.windowEndsAt }
    switch (answer.outcome) {
      case 'accepted':
      case 'permanent':
        return settled
      case 'auth':
      case 'config':
        return {
          ...settled,
          ...failed,
          status: 'failed:auth',
          reason: 'destination_refused',
          isUncounted: false,
        }
      case 'retry':
      case 'throttle':
      case 'unknown':
        return { ...settled, ...failed, status: 'failed:unknown', reason: 'single_attempt' }
    }
  },
  onUnsent({ id, windowEndsAt }, moment) {
    const isUnreadable = moment.reason === 'credential_unreadable'
    return {
      ...handBack({ id }, moment),
      nextAttemptAt: null,
      replayableUntil: windowEndsAt,
      status: isUnreadable ? 'failed:auth' : 'failed:unknown',
      reason: moment.reason,
    }
  },
}

/** The outcome of one claimed delivery. */
export interface Settlement {
  id: number
  status: StatusAfterSent
  /** Why, as a short code that the explanation turns into a sentence. */
  reason: string
  nextAttemptAt: Date | null
  /** Until when a replay may take a failure up; null for what did not fail. */
  replayableUntil: Date | null
  /** The attempt does not count: it says nothing about the event. */
  isUncounted: boolean
  error: SendError | null
  traceId: string | null
  attemptId: string | null
}

interface SettledDelivery {
  id: number
  /** Attempts since it was planned or last replayed: where it stands in the retry schedule. */
  attemptNumber: number
  /** When the platform stops taking the event. */
  windowEndsAt: Date
}

interface AnswerContext {
  at: Date
  attemptId: string
  /** From 0 to 1, for the jitter of a retry. */
  random: number
}

/** Turns the platform's answer into the fate of one delivery that was in the request. */
export function settleByAnswer(
  delivery: SettledDelivery,
  { outcome, waitSeconds, error, traceId }: SendAnswer,
  { at, attemptId, random: chance }: AnswerContext,
): Settlement {
  const base = { id: delivery.id, error, traceId, attemptId }
  const over = { ...base, nextAttemptAt: null, isUncounted: false }
  const failed = { ...over, replayableUntil: delivery.windowEndsAt }
  switch (outcome) {
    case 'accepted':
      return { ...over, status: 'accepted', reason: 'accepted', replayableUntil: null }
    case 'permanent':
      return { ...failed, status: 'failed:permanent', reason: 'refused_by_platform' }
    case 'auth':
    case 'config':
      return {
        ...base,
        status: 'queued',
        reason: 'destination_refused',
        nextAttemptAt: at,
        replayableUntil: null,
        isUncounted: true,
      }
    case 'retry':
    case 'throttle':
    case 'unknown': {
      const { attemptNumber: attemptsInRow } = delivery
      const seconds = backoffSeconds({
        attemptNumber: attemptsInRow,
        waitSecondsMin: waitSeconds,
        random: chance,
      })
      const nextAttemptAt = new Date(at.getTime() + seconds * 1_000)
      if (nextAttemptAt >= delivery.windowEndsAt) {
        return { ...failed, status: 'failed:unknown', reason: 'time_used_up' }
      }
      return { ...over, status: 'retrying', reason: outcome, nextAttemptAt, replayableUntil: null }
    }
  }
}

export type UnsentStatus = 'expired' | 'skipped:consent' | 'failed:permanent' | 'failed:unknown'

export interface UnsentInput {
  reason: string
  error: SendError | null
  /** The end of the platform's window, when it failed and may be replayed. */
  replayableUntil: Date | null
}

/** The fate of a delivery that is not handed over at all. */
export function settleUnsent(
  { id }: Pick<Settlement, 'id'>,
  status: UnsentStatus,
  { reason, error, replayableUntil }: UnsentInput,
): Settlement {
  return {
    id,
    status,
    reason,
    nextAttemptAt: null,
    replayableUntil,
    isUncounted: true,
    error,
    traceId: null,
    attemptId: null,
  }
}

/** Claimed and not sent after all: it waits as before, and the attempt does not count. */
export function handBack({ id }: Pick<Settlement, 'id'>, { at }: { at: Date }): Settlement {
  return {
    id,
    status: 'queued',
    reason: 'handed_back',
    nextAttemptAt: at,
    replayableUntil: null,
    isUncounted: true,
    error: null,
    traceId: null,
    attemptId: null,
  }
}

const MINUTE = 60
const HOUR = 3_600

/** Waits after the first, second, ... attempt that failed (decisions section 5). */
const SCHEDULE_SECONDS = [
  5,
  30,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
]
const JITTER = 0.2

interface BackoffInput {
  /** Attempts since it was planned or last replayed, this one included. */
  attemptNumber: number
  /** What the platform itself asked for, in seconds; 0 when it asked for nothing. */
  waitSecondsMin: number
  /** From 0 to 1; spreads the retries of a batch, so that they do not come back as one wave. */
  random: number
}

/** How long to wait before the next attempt, in seconds. */
export function backoffSeconds({
  attemptNumber: attemptsInRow,
  waitSecondsMin,
  random: chance,
}: BackoffInput): number {
  const step = Math.min(Math.max(attemptsInRow, 1), SCHEDULE_SECONDS.length) - 1
  const planned = (SCHEDULE_SECONDS[step] ?? 0) * (1 - JITTER + 2 * JITTER * chance)
  return Math.max(planned, waitSecondsMin)
}
