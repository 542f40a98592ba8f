import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parsePeriodSeconds } from './job.ts'

it('returns the interval of every form of schedule', () => {
  assert.equal(parsePeriodSeconds('*/15 * * * *'), 900)
  assert.equal(parsePeriodSeconds('7 * * * *'), 3_600)
  assert.equal(parsePeriodSeconds('10 3 * * *'), 86_400)
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
    assert.throws(() => parsePeriodSeconds(schedule), RangeError)
  })
}
