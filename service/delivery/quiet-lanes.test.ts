import assert from 'node:assert/strict'
import { it } from 'node:test'
import { QuietLanes } from './quiet-lanes.ts'

it('leaves a lane alone as long as it was told, and the others not at all', () => {
  const lanes = new QuietLanes()
  lanes.keepQuiet('a', 60, 1_000)
  assert.deepEqual(lanes.quietAt(1_059), ['a'])
  assert.equal(lanes.isQuiet('a', 1_059), true)
  assert.equal(lanes.isQuiet('b', 1_059), false)
  assert.equal(lanes.isQuiet('a', 1_060), false)
  assert.deepEqual(lanes.quietAt(1_060), [])
})

it('keeps the longer of two waits', () => {
  const lanes = new QuietLanes()
  lanes.keepQuiet('a', 60, 1_000)
  lanes.keepQuiet('a', 1, 1_001)
  assert.equal(lanes.isQuiet('a', 1_059), true)
})

it('doubles the pause with each failure in a row, up to a minute', () => {
  const lanes = new QuietLanes()
  const pauses: number[] = []
  let at = 0
  for (let failure = 0; failure < 9; failure += 1) {
    lanes.failed('a', at)
    const start = at
    while (lanes.isQuiet('a', at)) at += 1
    pauses.push(at - start)
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60])
})

it('lets one request try a lane that failed, until it works again', () => {
  const lanes = new QuietLanes()
  assert.equal(lanes.isOnTrial('a'), false)
  lanes.failed('a', 0)
  assert.deepEqual(lanes.quietAt(500), [])
  assert.equal(lanes.isOnTrial('a'), true)
  lanes.works('a')
  assert.equal(lanes.isOnTrial('a'), false)
  lanes.failed('a', 1_000)
  assert.equal(lanes.isQuiet('a', 1_001), false)
})

it('puts nobody on trial for a wait that the platform asked for', () => {
  const lanes = new QuietLanes()
  lanes.keepQuiet('a', 60, 0)
  assert.equal(lanes.isOnTrial('a'), false)
})

it('still counts failures after a wait that came between', () => {
  const lanes = new QuietLanes()
  lanes.failed('a', 0)
  lanes.keepQuiet('a', 600, 0)
  assert.equal(lanes.isQuiet('a', 599), true)
  assert.equal(lanes.isOnTrial('a'), true)
})

it('forgets the lane that has been quiet longest when there are far too many', () => {
  const lanes = new QuietLanes()
  for (let lane = 0; lane <= 10_000; lane += 1) lanes.keepQuiet(`lane-${lane}`, 60, 0)
  assert.equal(lanes.isQuiet('lane-0', 1), false)
  assert.equal(lanes.isQuiet('lane-1', 1), true)
  assert.equal(lanes.quietAt(1).length, 10_000)
})
