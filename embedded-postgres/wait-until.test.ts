import assert from 'node:assert/strict'
import { it } from 'node:test'
import { waitUntil } from './postmaster.ts'

it('stops asking at the first yes', async () => {
  let asked = 0
  const thirdTime = () => {
    asked += 1
    return asked === 3
  }
  assert.equal(await waitUntil(thirdTime, { timeoutSeconds: 1, intervalMilliseconds: 1 }), true)
  assert.equal(asked, 3)
})

it('gives up after its time, with one last look', async () => {
  let asked = 0
  const never = () => {
    asked += 1
    return false
  }
  assert.equal(await waitUntil(never, { timeoutSeconds: 0.01, intervalMilliseconds: 5 }), false)
  assert.equal(asked, 3)
})
