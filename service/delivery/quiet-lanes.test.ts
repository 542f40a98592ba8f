import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { CIRCUIT_MOVES, type CircuitState } from './circuit-moves.ts'
import { QuietLanes } from './quiet-lanes.ts'

/** Three failures in a row, each right after the pause of the one before. Quiet until 1 + 2 + 4. */
function withOpenLane(): QuietLanes {
  const lanes = new QuietLanes()
  for (const at of [0, 1, 3]) lanes.failed('a', at)
  return lanes
}

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

it('doubles the pause with each failure in a row, up to a quarter of a minute', () => {
  const lanes = new QuietLanes()
  const pauses: number[] = []
  let at = 0
  for (let failure = 0; failure < 9; failure += 1) {
    lanes.failed('a', at)
    const start = at
    while (lanes.isQuiet('a', at)) at += 1
    pauses.push(at - start)
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 15, 15, 15, 15, 15])
})

it('lets one request try a lane that failed, until it works again', () => {
  const lanes = new QuietLanes()
  assert.equal(lanes.isOnTrial('a'), false)
  lanes.failed('a', 0)
  assert.deepEqual(lanes.quietAt(500), [])
  assert.equal(lanes.isOnTrial('a'), true)
  assert.deepEqual(lanes.onTrialAt(0), [])
  assert.deepEqual(lanes.onTrialAt(500), ['a'])
  lanes.works('a', 500)
  assert.equal(lanes.isOnTrial('a'), false)
  assert.deepEqual(lanes.onTrialAt(500), [])
  lanes.failed('a', 1_000)
  assert.equal(lanes.isQuiet('a', 1_001), false)
})

it('opens the circuit at the third failure in a row, and half-opens it after the pause', () => {
  const lanes = new QuietLanes()
  lanes.failed('a', 0)
  assert.equal(lanes.stateAt('a', 0), 'suspect')
  lanes.failed('a', 1)
  assert.equal(lanes.stateAt('a', 2), 'suspect')
  lanes.failed('a', 3)
  assert.equal(lanes.stateAt('a', 6), 'open')
  assert.equal(lanes.stateAt('a', 7), 'half_open')
  lanes.failed('a', 7)
  assert.equal(lanes.stateAt('a', 14), 'open')
  assert.equal(lanes.stateAt('a', 15), 'half_open')
  lanes.works('a', 15)
  assert.equal(lanes.stateAt('a', 15), 'closed')
})

it('has opened once until a request gets through, however many trials fail', () => {
  const lanes = new QuietLanes()
  const after = [0, 1, 3, 7, 15].map(at => {
    lanes.failed('a', at)
    return lanes.hasOpened('a')
  })
  assert.deepEqual(after, [false, false, true, true, true])
  lanes.works('a', 30)
  assert.equal(lanes.hasOpened('a'), false)
})

it('counts requests that fail together as one failure', () => {
  const lanes = new QuietLanes()
  for (let request = 0; request < 16; request += 1) lanes.failed('a', 100)
  assert.equal(lanes.stateAt('a', 100), 'suspect')
  assert.equal(lanes.isQuiet('a', 101), false)
})

it('counts the lanes by the states that an operator wants to see', () => {
  const lanes = withOpenLane()
  lanes.keepQuiet('b', 60, 0)
  lanes.keepQuiet('c', 1, 0)
  lanes.failed('d', 0)
  assert.deepEqual(lanes.countsAt(6), { open: 1, half_open: 0, throttled: 1 })
  assert.deepEqual(lanes.countsAt(7), { open: 0, half_open: 1, throttled: 1 })
})

it('ends no pause that the platform asked for when another request gets through', () => {
  const lanes = new QuietLanes()
  lanes.keepQuiet('a', 60, 0)
  lanes.works('a', 1)
  assert.equal(lanes.isQuiet('a', 59), true)
  const open = withOpenLane()
  open.works('a', 4)
  assert.equal(open.isQuiet('a', 4), false)
})

it('begins anew with a lane that had nothing to send for a day', () => {
  const lanes = withOpenLane()
  assert.deepEqual(lanes.countsAt(7 + 86_400), { open: 0, half_open: 1, throttled: 0 })
  assert.equal(lanes.stateAt('a', 8 + 86_400), 'closed')
  assert.deepEqual(lanes.quietAt(8 + 86_400), [])
  assert.equal(lanes.isOnTrial('a'), false)
})

it('makes every move of the table, and no other', () => {
  const made = new Set<string>()
  const step = fc.record({
    act: fc.constantFrom('fail', 'work', 'ask', 'wait' as const),
    seconds: fc.constantFrom(0, 1, 5, 100),
  })
  const walk = fc.property(fc.array(step, { maxLength: 30 }), steps => {
    const lanes = new QuietLanes()
    let at = 1
    let state: CircuitState = 'closed'
    const look = () => {
      const next = lanes.stateAt('a', at)
      if (next !== state) made.add(`${state} -> ${next}`)
      state = next
    }
    for (const { act, seconds } of steps) {
      at += seconds
      look()
      if (act === 'fail') lanes.failed('a', at)
      if (act === 'work') lanes.works('a', at)
      if (act === 'ask') lanes.keepQuiet('a', seconds, at)
      look()
    }
  })
  fc.assert(walk, { seed: 21, numRuns: 1_000 })
  const allowed = Object.entries(CIRCUIT_MOVES).flatMap(([from, nexts]) =>
    nexts.map(next => `${from} -> ${next}`),
  )
  assert.deepEqual([...made].sort(), allowed.sort())
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
