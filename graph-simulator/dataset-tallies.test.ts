import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DatasetTallies } from './dataset-tallies.ts'

it('counts the 10,001st dataset in the total only', () => {
  const tallies = new DatasetTallies()
  for (let dataset = 1; dataset <= 10_001; dataset++) tallies.countRefused(String(dataset))
  assert.equal(tallies.summary('10000').requests, 1)
  assert.equal(tallies.summary('10001').requests, 0)
  assert.equal(tallies.summary(undefined).requests, 10_001)
})

it('forgets the datasets with the counts', () => {
  const tallies = new DatasetTallies()
  tallies.countAccepted('1', [{ isTest: false, deduplicated: false }])
  tallies.forget()
  assert.equal(tallies.summary('1').receipts, 0)
  assert.equal(tallies.summary(undefined).receipts, 0)
})
