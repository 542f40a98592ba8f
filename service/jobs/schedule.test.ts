import assert from 'node:assert/strict'
import { it } from 'node:test'
import { periodSecondsOf } from './schedule.ts'

it('knows the time between two runs of every form', () => {
  assert.equal(periodSecondsOf('*/15 * * * *'), 900)
  assert.equal(periodSecondsOf('7 * * * *'), 3_600)
  assert.equal(periodSecondsOf('10 3 * * *'), 86_400)
})

for (const schedule of [
  '',
  '*/7 * * * *',
  '*/0 * * * *',
  '60 * * * *',
  '0 24 * * *',
  '0 3 * * 1',
]) {
  it(`refuses ${JSON.stringify(schedule)}`, () => {
    assert.throws(() => periodSecondsOf(schedule), RangeError)
  })
}
