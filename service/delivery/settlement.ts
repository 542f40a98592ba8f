import type { SendAnswer, SendError } from '../platforms/send-outcome.ts'
import { backoffSeconds } from './backoff.ts'
import type { StatusAfterSent } from './status-moves.ts'

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
  isUnburnt: boolean
  error: SendError | null
  traceId: string | null
  attemptId: string | null
}

export interface SettledDelivery {
  id: number
  /** Attempts since it was planned or last replayed: where it stands in the retry schedule. */
  attemptsInRow: number
  /** When the platform stops taking the event. */
  windowEndsAt: Date
}

export interface SettlementMoment {
  at: Date
  attemptId: string
  /** From 0 to 1, for the jitter of a retry. */
  chance: number
}

/** Turns the platform's answer into the fate of one delivery that was in the request. */
export function settleByAnswer(
  delivery: SettledDelivery,
  { outcome, waitSeconds, error, traceId }: SendAnswer,
  { at, attemptId, chance }: SettlementMoment,
): Settlement {
  const base = { id: delivery.id, error, traceId, attemptId }
  const over = { ...base, nextAttemptAt: null, isUnburnt: false }
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
        isUnburnt: true,
      }
    case 'retry':
    case 'throttle':
    case 'unknown': {
      const { attemptsInRow } = delivery
      const seconds = backoffSeconds({ attemptsInRow, waitSecondsMin: waitSeconds, chance })
      const nextAttemptAt = new Date(at.getTime() + seconds * 1_000)
      if (nextAttemptAt >= delivery.windowEndsAt) {
        return { ...failed, status: 'failed:unknown', reason: 'time_used_up' }
      }
      return { ...over, status: 'retrying', reason: outcome, nextAttemptAt, replayableUntil: null }
    }
  }
}

export type UnsentStatus = 'expired' | 'skipped:consent' | 'failed:permanent' | 'failed:unknown'

export interface UnsentGrounds {
  reason: string
  error: SendError | null
  /** The end of the platform's window, when it failed and may be replayed. */
  replayableUntil: Date | null
}

/** The fate of a delivery that is not handed over at all. */
export function settleUnsent(
  { id }: Pick<Settlement, 'id'>,
  status: UnsentStatus,
  { reason, error, replayableUntil }: UnsentGrounds,
): Settlement {
  return {
    id,
    status,
    reason,
    nextAttemptAt: null,
    replayableUntil,
    isUnburnt: true,
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
    isUnburnt: true,
    error: null,
    traceId: null,
    attemptId: null,
  }
}
