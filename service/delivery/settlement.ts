import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { SendAnswer, SendError } from '../platforms/send-outcome.ts'
import { backoffSeconds } from './backoff.ts'

/** What becomes of one claimed delivery. */
export interface Settlement {
  eventId: string
  id: number
  status: DeliveryStatus
  /** Why, as a short code that the explanation turns into a sentence. */
  reason: string
  nextAttemptAt: Date | null
  /** The attempt does not count: it says nothing about the event. */
  isUnburnt: boolean
  error: SendError | null
  traceId: string | null
  attemptId: string | null
}

export interface SettledDelivery {
  eventId: string
  id: number
  attemptCount: number
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
  const base = { eventId: delivery.eventId, id: delivery.id, error, traceId, attemptId }
  const final = { ...base, nextAttemptAt: null, isUnburnt: false }
  switch (outcome) {
    case 'accepted':
      return { ...final, status: 'accepted', reason: 'accepted' }
    case 'permanent':
      return { ...final, status: 'failed:permanent', reason: 'refused_by_platform' }
    case 'auth':
    case 'config':
      return {
        ...base,
        status: 'queued',
        reason: 'destination_refused',
        nextAttemptAt: at,
        isUnburnt: true,
      }
    case 'retry':
    case 'throttle':
    case 'unknown': {
      const { attemptCount } = delivery
      const seconds = backoffSeconds({ attemptCount, waitSecondsMin: waitSeconds, chance })
      const nextAttemptAt = new Date(at.getTime() + seconds * 1_000)
      if (nextAttemptAt >= delivery.windowEndsAt) {
        return { ...final, status: 'failed:unknown', reason: 'time_used_up' }
      }
      return { ...base, status: 'retrying', reason: outcome, nextAttemptAt, isUnburnt: false }
    }
  }
}

export interface DeliveryKey {
  eventId: string
  id: number
}

export type UnsentStatus = 'expired' | 'skipped:consent' | 'failed:permanent' | 'failed:unknown'

/** The fate of a delivery that is not handed over at all. */
export function settleUnsent(
  { eventId, id }: DeliveryKey,
  status: UnsentStatus,
  { reason, error }: { reason: string; error: SendError | null },
): Settlement {
  return {
    eventId,
    id,
    status,
    reason,
    nextAttemptAt: null,
    isUnburnt: true,
    error,
    traceId: null,
    attemptId: null,
  }
}

/** Claimed and not sent after all: it waits as before, and the attempt does not count. */
export function handBack({ eventId, id }: DeliveryKey, at: Date): Settlement {
  return {
    eventId,
    id,
    status: 'queued',
    reason: 'handed_back',
    nextAttemptAt: at,
    isUnburnt: true,
    error: null,
    traceId: null,
    attemptId: null,
  }
}
