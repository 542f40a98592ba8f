import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { CIRCUIT_TRANSITIONS, CircuitBreakers, type CircuitState } from './circuit-breaker.ts'

/** Three failures in a row, each right after the pause of the one before. Quiet until 1 + 2 + 4. */
function withOpenQueue(): CircuitBreakers {
  const queues = new CircuitBreakers()
  for (const at of [0, 1, 3]) queues.recordFailure('a', at)
  return queues
}

it('backs off from one destination for the given time and from no other', () => {
  const queues = new CircuitBreakers()
  queues.backOff('a', 60, 1_000)
  assert.deepEqual(queues.listBackingOff(1_059), ['a'])
  assert.equal(queues.isBackingOff('a', 1_059), true)
  assert.equal(queues.isBackingOff('b', 1_059), false)
  assert.equal(queues.isBackingOff('a', 1_060), false)
  assert.deepEqual(queues.listBackingOff(1_060), [])
})

it('keeps the longer of two backoffs', () => {
  const queues = new CircuitBreakers()
  queues.backOff('a', 60, 1_000)
  queues.backOff('a', 1, 1_001)
  assert.equal(queues.isBackingOff('a', 1_059), true)
})

it('doubles the backoff with each consecutive failure, up to 15 seconds', () => {
  const queues = new CircuitBreakers()
  const pauses: number[] = []
  let at = 0
  for (let failure = 0; failure < 9; failure += 1) {
    queues.recordFailure('a', at)
    const start = at
    while (queues.isBackingOff('a', at)) at += 1
    pauses.push(at - start)
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 15, 15, 15, 15, 15])
})

it('puts a failed destination on trial until a request succeeds', () => {
  const queues = new CircuitBreakers()
  assert.equal(queues.isOnTrial('a'), false)
  queues.recordFailure('a', 0)
  assert.deepEqual(queues.listBackingOff(500), [])
  assert.equal(queues.isOnTrial('a'), true)
  assert.deepEqual(queues.listOnTrial(0), [])
  assert.deepEqual(queues.listOnTrial(500), ['a'])
  queues.recordSuccess('a', 500)
  assert.equal(queues.isOnTrial('a'), false)
  assert.deepEqual(queues.listOnTrial(500), [])
  queues.recordFailure('a', 1_000)
  assert.equal(queues.isBackingOff('a', 1_001), false)
})

it('opens at the third consecutive failure and half-opens after the backoff', () => {
  const queues = new CircuitBreakers()
  queues.recordFailure('a', 0)
  assert.equal(queues.stateAt('a', 0), 'suspect')
  queues.recordFailure('a', 1)
  assert.equal(queues.stateAt('a', 2), 'suspect')
  queues.recordFailure('a', 3)
  assert.equal(queues.stateAt('a', 6), 'open')
  assert.equal(queues.stateAt('a', 7), 'half_open')
  queues.recordFailure('a', 7)
  assert.equal(queues.stateAt('a', 14), 'open')
  assert.equal(queues.stateAt('a', 15), 'half_open')
  queues.recordSuccess('a', 15)
  assert.equal(queues.stateAt('a', 15), 'closed')
})

it('stays opened until a request succeeds, however many trials fail', () => {
  const queues = new CircuitBreakers()
  const after = [0, 1, 3, 7, 15].map(at => {
    queues.recordFailure('a', at)
    return queues.hasOpened('a')
  })
  assert.deepEqual(after, [false, false, true, true, true])
  queues.recordSuccess('a', 30)
  assert.equal(queues.hasOpened('a'), false)
})

it('counts requests that fail together as one failure', () => {
  const queues = new CircuitBreakers()
  for (let request = 0; request < 16; request += 1) queues.recordFailure('a', 100)
  assert.equal(queues.stateAt('a', 100), 'suspect')
  assert.equal(queues.isBackingOff('a', 101), false)
})

it('counts destinations by circuit state', () => {
  const queues = withOpenQueue()
  queues.backOff('b', 60, 0)
  queues.backOff('c', 1, 0)
  queues.recordFailure('d', 0)
  assert.deepEqual(queues.countStates(6), { open: 1, half_open: 0, throttled: 1 })
  assert.deepEqual(queues.countStates(7), { open: 0, half_open: 1, throttled: 1 })
})

it('keeps a throttle when another request succeeds', () => {
  const queues = new CircuitBreakers()
  queues.backOff('a', 60, 0)
  queues.recordSuccess('a', 1)
  assert.equal(queues.isBackingOff('a', 59), true)
  const open = withOpenQueue()
  open.recordSuccess('a', 4)
  assert.equal(open.isBackingOff('a', 4), false)
})

it('resets the circuit of a destination with nothing to send for a day', () => {
  const queues = withOpenQueue()
  assert.deepEqual(queues.countStates(7 + 86_400), { open: 0, half_open: 1, throttled: 0 })
  assert.equal(queues.stateAt('a', 8 + 86_400), 'closed')
  assert.deepEqual(queues.listBackingOff(8 + 86_400), [])
  assert.equal(queues.isOnTrial('a'), false)
})

it('makes every transition of the table and no other', () => {
  const made = new Set<string>()
  const step = fc.record({
    act: fc.constantFrom('fail', 'work', 'ask', 'wait' as const),
    seconds: fc.constantFrom(0, 1, 5, 100),
  })
  const walk = fc.property(fc.array(step, { maxLength: 30 }), steps => {
    const queues = new CircuitBreakers()
    let at = 1
    let state: CircuitState = 'closed'
    const look = () => {
      const next = queues.stateAt('a', at)
      if (next !== state) made.add(`${state} -> ${next}`)
      state = next
    }
    for (const { act, seconds } of steps) {
      at += seconds
      look()
      if (act === 'fail') queues.recordFailure('a', at)
      if (act === 'work') queues.recordSuccess('a', at)
      if (act === 'ask') queues.backOff('a', seconds, at)
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
  const queues = new CircuitBreakers()
  queues.backOff('a', 60, 0)
  assert.equal(queues.isOnTrial('a'), false)
})

it('keeps counting failures after a throttle in between', () => {
  const queues = new CircuitBreakers()
  queues.recordFailure('a', 0)
  queues.backOff('a', 600, 0)
  assert.equal(queues.isBackingOff('a', 599), true)
  assert.equal(queues.isOnTrial('a'), true)
})

it('drops the oldest circuit beyond the limit', () => {
  const queues = new CircuitBreakers()
  for (let queue = 0; queue <= 10_000; queue += 1) queues.backOff(`queue-${queue}`, 60, 0)
  assert.equal(queues.isBackingOff('queue-0', 1), false)
  assert.equal(queues.isBackingOff('queue-1', 1), true)
  assert.equal(queues.listBackingOff(1).length, 10_000)
})
