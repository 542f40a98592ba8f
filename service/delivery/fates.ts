import type { SendAnswer } from '../platforms/send-outcome.ts'
import {
  handBack,
  type SettledDelivery,
  type Settlement,
  type SettlementMoment,
  settleByAnswer,
} from './settlement.ts'

/** Why a claimed delivery was not handed over after all. */
export type UnsentReason = 'handed_back' | 'credential_unreadable'

export interface UnsentMoment {
  at: Date
  reason: UnsentReason
}

export type UnsentDelivery = Pick<SettledDelivery, 'id' | 'windowEndsAt'>

/** How claimed deliveries are settled: by the platform's answer, or because there was none. */
export interface Fates {
  answered: (delivery: SettledDelivery, answer: SendAnswer, moment: SettlementMoment) => Settlement
  unsent: (delivery: UnsentDelivery, moment: UnsentMoment) => Settlement
}

/** The fates of a lane: patient, because a worker comes back for what waits. */
export const LANE_FATES: Fates = { answered: settleByAnswer, unsent: handBack }

/**
 * The fates of a test purchase, whose caller waits for the answer: what the platform does not
 * accept has failed. Nothing of it goes out later, after the caller has gone, but by a replay.
 */
export const SINGLE_ATTEMPT_FATES: Fates = {
  answered(delivery, answer, moment) {
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
          isUnburnt: false,
        }
      case 'retry':
      case 'throttle':
      case 'unknown':
        return { ...settled, ...failed, status: 'failed:unknown', reason: 'single_attempt' }
    }
  },
  unsent({ id, windowEndsAt }, moment) {
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
