import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SendAnswer, SendOutcome } from '../platforms/platform.ts'
import { assessHealth, probeWaitSeconds } from './destination-health.ts'

function answer(outcome: SendOutcome, changes: Partial<SendAnswer> = {}): SendAnswer {
  const plain = { httpStatus: 400, traceId: null, answer: null, error: null }
  return { outcome, waitSeconds: 0, ...plain, ...changes }
}

function refusal(outcome: SendOutcome, texts: { message: string; user_message: string | null }) {
  const error = { class: 'auth' as const, code: 190, subcode: 467, user_title: null }
  return answer(outcome, { error: { ...error, ...texts, http_status: 401 } })
}

it('counts a rejected event as a working destination', () => {
  assert.deepEqual(assessHealth(answer('accepted')), { kind: 'works', waitSeconds: 0 })
  assert.deepEqual(assessHealth(answer('permanent')), { kind: 'works', waitSeconds: 0 })
})

it('returns how long the platform asks to wait', () => {
  const asked = { waitSeconds: 90 }
  assert.deepEqual(assessHealth(answer('accepted', asked)), { kind: 'works', ...asked })
  assert.deepEqual(assessHealth(answer('throttle', asked)), { kind: 'throttled', ...asked })
  assert.deepEqual(assessHealth(answer('retry', asked)), { kind: 'unreachable', ...asked })
})

it('explains a rejected destination, with the user message if there is one', () => {
  const reasonOf = (sent: SendAnswer) => {
    const health = assessHealth(sent)
    return health.kind === 'refused' ? health.reason : health.kind
  }
  const spoken = { message: 'Session invalid', user_message: 'Please log in again.' }
  assert.equal(
    reasonOf(refusal('auth', spoken)),
    'The platform rejects the credential (code 190): Please log in again.',
  )
  assert.equal(
    reasonOf(refusal('config', { message: 'No permission', user_message: '' })),
    'The platform rejects the configuration (code 190): No permission',
  )
  assert.equal(reasonOf(answer('auth')), 'The platform rejects the credential: no reason given')
})

it('returns untried when nothing was sent', () => {
  assert.deepEqual(assessHealth(null), { kind: 'untried' })
})

it('doubles the delay between probes from one minute to one hour', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 7, 100].map(probeWaitSeconds)
  assert.deepEqual(waits, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600])
})
