import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SendAnswer, SendOutcome } from '../platforms/send-outcome.ts'
import { handBack, settleByAnswer, settleUnsent } from './settlement.ts'
import { nextStatuses } from './status-moves.ts'

const AT = new Date('2026-11-21T12:00:00.000Z')
const MOMENT = { at: AT, attemptId: 'attempt-1', chance: 0.5 }
const OUTCOMES: SendOutcome[] = [
  'accepted',
  'retry',
  'throttle',
  'auth',
  'config',
  'permanent',
  'unknown',
]

function after(seconds: number): Date {
  return new Date(AT.getTime() + seconds * 1_000)
}

function delivery(attemptsInRow: number, windowSeconds = 86_400) {
  return { id: 1, attemptsInRow, windowEndsAt: after(windowSeconds) }
}

function answer(outcome: SendOutcome, waitSeconds = 0): SendAnswer {
  const error =
    outcome === 'accepted'
      ? null
      : {
          class: outcome,
          code: 1,
          subcode: null,
          message: 'm',
          user_title: null,
          user_message: null,
          http_status: 400,
        }
  return { outcome, waitSeconds, httpStatus: 400, traceId: 'A1', answer: null, error }
}

it('moves every outcome to a status that may follow sent', () => {
  for (const outcome of OUTCOMES) {
    for (const windowSeconds of [1, 86_400]) {
      const { status } = settleByAnswer(delivery(1, windowSeconds), answer(outcome), MOMENT)
      assert.ok(nextStatuses('sent').includes(status), `${outcome} leads to ${status}`)
    }
  }
})

it('ends with an acceptance or a refusal, and nothing is due any more', () => {
  for (const [outcome, status, reason] of [
    ['accepted', 'accepted', 'accepted'],
    ['permanent', 'failed:permanent', 'refused_by_platform'],
  ] as const) {
    const settled = settleByAnswer(delivery(1), answer(outcome), MOMENT)
    assert.deepEqual(settled, {
      id: 1,
      status,
      reason,
      nextAttemptAt: null,
      replayableUntil: outcome === 'permanent' ? after(86_400) : null,
      isUnburnt: false,
      error: answer(outcome).error,
      traceId: 'A1',
      attemptId: 'attempt-1',
    })
  }
})

it('gives a delivery back unburnt when the destination is refused', () => {
  for (const outcome of ['auth', 'config'] as const) {
    const settled = settleByAnswer(delivery(1), answer(outcome), MOMENT)
    assert.equal(settled.status, 'queued')
    assert.equal(settled.reason, 'destination_refused')
    assert.equal(settled.isUnburnt, true)
    assert.deepEqual(settled.nextAttemptAt, AT)
  }
})

it('tries again after the backoff of the attempt, or after what the platform asks', () => {
  for (const [attemptsInRow, waitSeconds, seconds] of [
    [1, 0, 5],
    [2, 0, 30],
    [3, 0, 120],
    [1, 60, 60],
    [3, 60, 120],
  ] as const) {
    for (const outcome of ['retry', 'throttle', 'unknown'] as const) {
      const settled = settleByAnswer(delivery(attemptsInRow), answer(outcome, waitSeconds), MOMENT)
      assert.deepEqual([settled.status, settled.reason], ['retrying', outcome])
      assert.deepEqual(settled.nextAttemptAt, after(seconds))
      assert.equal(settled.isUnburnt, false)
    }
  }
})

it('gives up when the next attempt would come after the window', () => {
  const ends = settleByAnswer(delivery(1, 5), answer('retry'), MOMENT)
  assert.deepEqual([ends.status, ends.reason], ['failed:unknown', 'time_used_up'])
  assert.deepEqual([ends.nextAttemptAt, ends.replayableUntil], [null, after(5)])
  const goesOn = settleByAnswer(delivery(1, 6), answer('retry'), MOMENT)
  assert.equal(goesOn.status, 'retrying')
})

it('burns no attempt for what was not handed over', () => {
  const unsent = settleUnsent({ id: 1 }, 'expired', {
    reason: 'outside_window',
    error: null,
    replayableUntil: null,
  })
  assert.deepEqual([unsent.isUnburnt, unsent.nextAttemptAt], [true, null])
  const back = handBack({ id: 1 }, { at: AT })
  assert.deepEqual([back.status, back.isUnburnt, back.nextAttemptAt], ['queued', true, AT])
})
