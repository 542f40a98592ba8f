import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { CIRCUIT_TRANSITIONS, CircuitBreakers, type CircuitState } from './circuit-breaker.ts'

/** Three failures in a row, each right after the pause of the one before. Quiet until 1 + 2 + 4. */
function withOpenLane(): CircuitBreakers {
  const lanes = new CircuitBreakers()
  for (const at of [0, 1, 3]) lanes.recordFailure('a', at)
  return lanes
}

it('backs off from one destination for the given time and from no other', () => {
  const lanes = new CircuitBreakers()
  lanes.backOff('a', 60, 1_000)
  assert.deepEqual(lanes.listBackingOff(1_059), ['a'])
  assert.equal(lanes.isBackingOff('a', 1_059), true)
  assert.equal(lanes.isBackingOff('b', 1_059), false)
  assert.equal(lanes.isBackingOff('a', 1_060), false)
  assert.deepEqual(lanes.listBackingOff(1_060), [])
})

it('keeps the longer of two backoffs', () => {
  const lanes = new CircuitBreakers()
  lanes.backOff('a', 60, 1_000)
  lanes.backOff('a', 1, 1_001)
  assert.equal(lanes.isBackingOff('a', 1_059), true)
})

it('doubles the backoff with each consecutive failure, up to 15 seconds', () => {
  const lanes = new CircuitBreakers()
  const pauses: number[] = []
  let at = 0
  for (let failure = 0; failure < 9; failure += 1) {
    lanes.recordFailure('a', at)
    const start = at
    while (lanes.isBackingOff('a', at)) at += 1
    pauses.push(at - start)
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 15, 15, 15, 15, 15])
})

it('puts a failed destination on trial until a request succeeds', () => {
  const lanes = new CircuitBreakers()
  assert.equal(lanes.isOnTrial('a'), false)
  lanes.recordFailure('a', 0)
  assert.deepEqual(lanes.listBackingOff(500), [])
  assert.equal(lanes.isOnTrial('a'), true)
  assert.deepEqual(lanes.listOnTrial(0), [])
  assert.deepEqual(lanes.listOnTrial(500), ['a'])
  lanes.recordSuccess('a', 500)
  assert.equal(lanes.isOnTrial('a'), false)
  assert.deepEqual(lanes.listOnTrial(500), [])
  lanes.recordFailure('a', 1_000)
  assert.equal(lanes.isBackingOff('a', 1_001), false)
})

it('opens at the third consecutive failure and half-opens after the backoff', () => {
  const lanes = new CircuitBreakers()
  lanes.recordFailure('a', 0)
  assert.equal(lanes.stateAt('a', 0), 'suspect')
  lanes.recordFailure('a', 1)
  assert.equal(lanes.stateAt('a', 2), 'suspect')
  lanes.recordFailure('a', 3)
  assert.equal(lanes.stateAt('a', 6), 'open')
  assert.equal(lanes.stateAt('a', 7), 'half_open')
  lanes.recordFailure('a', 7)
  assert.equal(lanes.stateAt('a', 14), 'open')
  assert.equal(lanes.stateAt('a', 15), 'half_open')
  lanes.recordSuccess('a', 15)
  assert.equal(lanes.stateAt('a', 15), 'closed')
})

it('stays opened until a request succeeds, however many trials fail', () => {
  const lanes = new CircuitBreakers()
  const after = [0, 1, 3, 7, 15].map(at => {
    lanes.recordFailure('a', at)
    return lanes.hasOpened('a')
  })
  assert.deepEqual(after, [false, false, true, true, true])
  lanes.recordSuccess('a', 30)
  assert.equal(lanes.hasOpened('a'), false)
})

it('counts requests that fail together as one failure', () => {
  const lanes = new CircuitBreakers()
  for (let request = 0; request < 16; request += 1) lanes.recordFailure('a', 100)
  assert.equal(lanes.stateAt('a', 100), 'suspect')
  assert.equal(lanes.isBackingOff('a', 101), false)
})

it('counts destinations by circuit state', () => {
  const lanes = withOpenLane()
  lanes.backOff('b', 60, 0)
  lanes.backOff('c', 1, 0)
  lanes.recordFailure('d', 0)
  assert.deepEqual(lanes.countStates(6), { open: 1, half_open: 0, throttled: 1 })
  assert.deepEqual(lanes.countStates(7), { open: 0, half_open: 1, throttled: 1 })
})

it('keeps a throttle when another request succeeds', () => {
  const lanes = new CircuitBreakers()
  lanes.backOff('a', 60, 0)
  lanes.recordSuccess('a', 1)
  assert.equal(lanes.isBackingOff('a', 59), true)
  const open = withOpenLane()
  open.recordSuccess('a', 4)
  assert.equal(open.isBackingOff('a', 4), false)
})

it('resets the circuit of a destination with nothing to send for a day', () => {
  const lanes = withOpenLane()
  assert.deepEqual(lanes.countStates(7 + 86_400), { open: 0, half_open: 1, throttled: 0 })
  assert.equal(lanes.stateAt('a', 8 + 86_400), 'closed')
  assert.deepEqual(lanes.listBackingOff(8 + 86_400), [])
  assert.equal(lanes.isOnTrial('a'), false)
})

it('makes every transition of the table and no other', () => {
  const made = new Set<string>()
  const step = fc.record({
    act: fc.constantFrom('fail', 'work', 'ask', 'wait' as const),
    seconds: fc.constantFrom(0, 1, 5, 100),
  })
  const walk = fc.property(fc.array(step, { maxLength: 30 }), steps => {
    const lanes = new CircuitBreakers()
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
      if (act === 'fail') lanes.recordFailure('a', at)
      if (act === 'work') lanes.recordSuccess('a', at)
      if (act === 'ask') lanes.backOff('a', seconds, at)
      look()
    }
  })
  fc.assert(walk, { seed: 21, numRuns: 1_000 })
  const allowed = Object.entries(CIRCUIT_TRANSITIONS).flatMap(([from, nexts]) =>
    nexts.map(next => `${from} -> ${next}`),
  )
  assert.deepEqual([...made].sort(), allowed.sort())
})

it('puts no throttled destination on trial', () => {
  const lanes = new CircuitBreakers()
  lanes.backOff('a', 60, 0)
  assert.equal(lanes.isOnTrial('a'), false)
})

it('keeps counting failures after a throttle in between', () => {
  const lanes = new CircuitBreakers()
  lanes.recordFailure('a', 0)
  lanes.backOff('a', 600, 0)
  assert.equal(lanes.isBackingOff('a', 599), true)
  assert.equal(lanes.isOnTrial('a'), true)
})

it('drops the oldest circuit beyond the limit', () => {
  const lanes = new CircuitBreakers()
  for (let lane = 0; lane <= 10_000; lane += 1) lanes.backOff(`lane-${lane}`, 60, 0)
  assert.equal(lanes.isBackingOff('lane-0', 1), false)
  assert.equal(lanes.isBackingOff('lane-1', 1), true)
  assert.equal(lanes.listBackingOff(1).length, 10_000)
})
