import assert from 'node:assert/strict'
import { it } from 'node:test'
import { waitUntil } from './postmaster.ts'

it('stops polling when the condition is true', async () => {
  let polls = 0
  const thirdTime = () => {
    polls += 1
    return polls === 3
  }
  assert.equal(await waitUntil(thirdTime, { timeoutSeconds: 1, intervalMilliseconds: 1 }), true)
  assert.equal(polls, 3)
})

it('returns false at the timeout, after one last poll', async () => {
  let polls = 0
  const never = () => {
    polls += 1
    return false
  }
  assert.equal(await waitUntil(never, { timeoutSeconds: 0.01, intervalMilliseconds: 5 }), false)
  assert.equal(polls, 3)
})
