import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SendAnswer, SendOutcome } from '../platforms/send-outcome.ts'
import { SINGLE_ATTEMPT_FATES } from './fates.ts'
import { nextStatuses } from './status-moves.ts'

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
    const moment = { at: AT, attemptId: 'attempt-1', chance: 0.5 }
    const settled = SINGLE_ATTEMPT_FATES.answered({ ...KEY, attemptsInRow: 1 }, answer, moment)
    assert.equal(settled.status, status)
    assert.ok(nextStatuses('sent').includes(settled.status))
    assert.deepEqual([settled.nextAttemptAt, settled.isUnburnt], [null, false])
    const isFailed = status.startsWith('failed:')
    assert.deepEqual(settled.replayableUntil, isFailed ? WINDOW_END : null)
  })
}

it('fails a single attempt whose credential cannot be opened, or that was interrupted', () => {
  const moment = (reason: 'credential_unreadable' | 'handed_back') => ({ at: AT, reason })
  const unreadable = SINGLE_ATTEMPT_FATES.unsent(KEY, moment('credential_unreadable'))
  assert.deepEqual([unreadable.status, unreadable.reason], ['failed:auth', 'credential_unreadable'])
  const interrupted = SINGLE_ATTEMPT_FATES.unsent(KEY, moment('handed_back'))
  assert.equal(interrupted.status, 'failed:unknown')
  for (const { isUnburnt, nextAttemptAt, replayableUntil } of [unreadable, interrupted]) {
    assert.deepEqual([isUnburnt, nextAttemptAt, replayableUntil], [true, null, WINDOW_END])
  }
})
