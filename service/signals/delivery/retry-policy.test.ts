import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { SendAnswer, SendOutcome } from '../platforms/platform.ts'
import { nextStatuses } from './delivery-status.ts'
import {
  backoffSeconds,
  handBack,
  NO_RETRY_POLICY,
  settleByAnswer,
  settleUnsent,
} from './retry-policy.ts'

const AT = new Date('2026-11-21T12:00:00.000Z')
const WINDOW_END = new Date('2026-11-28T12:00:00.000Z')
const KEY = { id: 1, windowEndsAt: WINDOW_END }

const ENDS: Record<SendOutcome, string> = {
  accepted: 'accepted',
  permanent: 'failed:permanent',
  auth: 'failed:auth',
  config: 'failed:auth',
  retry: 'failed:unknown',
  throttle: 'failed:unknown',
  unknown: 'failed:unknown',
}

for (const [outcome, status] of Object.entries(ENDS) as [SendOutcome, string][]) {
  it(`ends a single attempt that is answered "${outcome}" as ${status}`, () => {
    const answer: SendAnswer = {
      outcome,
      waitSeconds: 60,
      httpStatus: 200,
      traceId: 'A1',
      answer: null,
      error: null,
    }
    const moment = { at: AT, attemptId: 'attempt-1', random: 0.5 }
    const settled = NO_RETRY_POLICY.onAnswer(
      { ...KEY, attemptNumber: 1, isDeduplicated: true },
      answer,
      moment,
    )
    assert.equal(settled.status, status)
    assert.ok(nextStatuses('sent').includes(settled.status))
    assert.deepEqual([settled.nextAttemptAt, settled.isUncounted], [null, false])
    const isFailed = status.startsWith('failed:')
    assert.deepEqual(settled.replayableUntil, isFailed ? WINDOW_END : null)
  })
}

it('fails a single attempt that was interrupted or whose credential cannot be opened', () => {
  const moment = (reason: 'credential_unreadable' | 'handed_back') => ({ at: AT, reason })
  const unreadable = NO_RETRY_POLICY.onUnsent(KEY, moment('credential_unreadable'))
  assert.deepEqual([unreadable.status, unreadable.reason], ['failed:auth', 'credential_unreadable'])
  const interrupted = NO_RETRY_POLICY.onUnsent(KEY, moment('handed_back'))
  assert.equal(interrupted.status, 'failed:unknown')
  for (const { isUncounted, nextAttemptAt, replayableUntil } of [unreadable, interrupted]) {
    assert.deepEqual([isUncounted, nextAttemptAt, replayableUntil], [true, null, WINDOW_END])
  }
})

const MOMENT = { at: AT, attemptId: 'attempt-1', random: 0.5 }
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

function delivery(attemptNumber: number, windowSeconds = 86_400) {
  return { id: 1, attemptNumber, windowEndsAt: after(windowSeconds), isDeduplicated: true }
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

it('maps every outcome to a status that may follow sent', () => {
  for (const outcome of OUTCOMES) {
    for (const windowSeconds of [1, 86_400]) {
      const { status } = settleByAnswer(delivery(1, windowSeconds), answer(outcome), MOMENT)
      assert.ok(nextStatuses('sent').includes(status), `${outcome} leads to ${status}`)
    }
  }
})

it('ends after an acceptance or a rejection, without another attempt', () => {
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
      isUncounted: false,
      error: answer(outcome).error,
      traceId: 'A1',
      attemptId: 'attempt-1',
    })
  }
})

it('queues a delivery without counting the attempt when the destination is rejected', () => {
  for (const outcome of ['auth', 'config'] as const) {
    const settled = settleByAnswer(delivery(1), answer(outcome), MOMENT)
    assert.equal(settled.status, 'queued')
    assert.equal(settled.reason, 'destination_refused')
    assert.equal(settled.isUncounted, true)
    assert.deepEqual(settled.nextAttemptAt, AT)
  }
})

it('retries after the backoff or after the wait that the platform asks for', () => {
  for (const [attemptNumber, waitSeconds, seconds] of [
    [1, 0, 5],
    [2, 0, 30],
    [3, 0, 120],
    [1, 60, 60],
    [3, 60, 120],
  ] as const) {
    for (const outcome of ['retry', 'throttle', 'unknown'] as const) {
      const settled = settleByAnswer(delivery(attemptNumber), answer(outcome, waitSeconds), MOMENT)
      assert.deepEqual([settled.status, settled.reason], ['retrying', outcome])
      assert.deepEqual(settled.nextAttemptAt, after(seconds))
      assert.equal(settled.isUncounted, false)
    }
  }
})

it('fails when the next attempt would be after the window', () => {
  const ends = settleByAnswer(delivery(1, 5), answer('retry'), MOMENT)
  assert.deepEqual([ends.status, ends.reason], ['failed:unknown', 'time_used_up'])
  assert.deepEqual([ends.nextAttemptAt, ends.replayableUntil], [null, after(5)])
  const goesOn = settleByAnswer(delivery(1, 6), answer('retry'), MOMENT)
  assert.equal(goesOn.status, 'retrying')
})

it('counts no attempt for an unsent delivery', () => {
  const unsent = settleUnsent(
    { id: 1 },
    { status: 'expired', reason: 'outside_window' },
    { error: null, replayableUntil: null },
  )
  assert.deepEqual([unsent.isUncounted, unsent.nextAttemptAt], [true, null])
  const back = handBack({ id: 1 }, { at: AT })
  assert.deepEqual([back.status, back.isUncounted, back.nextAttemptAt], ['queued', true, AT])
})

/** The documented schedule: 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, then every 12 h. */
const SCHEDULE = [5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 43_200, 43_200]

it('follows the schedule at the middle of the jitter', () => {
  const waits = SCHEDULE.map((_, index) =>
    backoffSeconds({ attemptNumber: index + 1, waitSecondsMin: 0, random: 0.5 }),
  )
  assert.deepEqual(waits, SCHEDULE)
})

it('adds jitter of at most a fifth to either side', () => {
  for (const [index, seconds] of SCHEDULE.entries()) {
    const at = (chance: number) =>
      backoffSeconds({ attemptNumber: index + 1, waitSecondsMin: 0, random: chance })
    assert.equal(Math.round(at(0) * 1_000), seconds * 800)
    assert.equal(Math.round(at(1) * 1_000), seconds * 1_200)
  }
})

it('waits at least as long as the platform asks, at least 4 seconds, and not forever', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -5, max: 100_000 }),
      fc.integer({ min: 0, max: 86_400 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attemptsInRow, waitSecondsMin, chance) => {
        const seconds = backoffSeconds({
          attemptNumber: attemptsInRow,
          waitSecondsMin,
          random: chance,
        })
        assert.ok(seconds >= Math.max(4, waitSecondsMin))
        assert.ok(seconds <= Math.max(51_841, waitSecondsMin))
      },
    ),
  )
})

it('sends an event that the platform cannot deduplicate once, unless nothing was taken', () => {
  const once = { ...delivery(1), isDeduplicated: false }
  for (const settle of [settleByAnswer, NO_RETRY_POLICY.onAnswer]) {
    const settled = settle(once, answer('unknown'), MOMENT)
    assert.deepEqual([settled.status, settled.reason], ['failed:unknown', 'not_deduplicated'])
    assert.deepEqual([settled.nextAttemptAt, settled.replayableUntil], [null, null])
  }
  for (const outcome of ['retry', 'throttle'] as const) {
    assert.equal(settleByAnswer(once, answer(outcome), MOMENT).status, 'retrying')
  }
  assert.equal(settleByAnswer(once, answer('accepted'), MOMENT).status, 'accepted')
})
