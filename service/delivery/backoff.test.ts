import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { backoffSeconds } from './backoff.ts'

/** decisions section 5: 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, then every 12 h. */
const SCHEDULE = [5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 43_200, 43_200]

it('follows the schedule in the middle of its jitter', () => {
  const waits = SCHEDULE.map((_, index) =>
    backoffSeconds({ attemptsInRow: index + 1, waitSecondsMin: 0, chance: 0.5 }),
  )
  assert.deepEqual(waits, SCHEDULE)
})

it('spreads by a fifth to either side and no further', () => {
  for (const [index, seconds] of SCHEDULE.entries()) {
    const at = (chance: number) =>
      backoffSeconds({ attemptsInRow: index + 1, waitSecondsMin: 0, chance })
    assert.equal(Math.round(at(0) * 1_000), seconds * 800)
    assert.equal(Math.round(at(1) * 1_000), seconds * 1_200)
  }
})

it('never waits less than the platform asks, nor less than 4 seconds, nor without end', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -5, max: 100_000 }),
      fc.integer({ min: 0, max: 86_400 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attemptsInRow, waitSecondsMin, chance) => {
        const seconds = backoffSeconds({ attemptsInRow, waitSecondsMin, chance })
        assert.ok(seconds >= Math.max(4, waitSecondsMin))
        assert.ok(seconds <= Math.max(51_841, waitSecondsMin))
      },
    ),
  )
})
