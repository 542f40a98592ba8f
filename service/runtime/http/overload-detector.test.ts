import assert from 'node:assert/strict'
import { it } from 'node:test'
import { monitorEventLoop, OverloadDetector } from './load-shedding.ts'

function overloadUnderTest() {
  const world = { seconds: 10, delay: 0, readings: 0 }
  const overload = new OverloadDetector({
    delaySecondsMax: 1,
    monotonicSeconds: () => world.seconds,
    readDelaySeconds: () => {
      world.readings += 1
      return world.delay
    },
  })
  /** Whether it sheds one second later at this delay. */
  const secondOf = (delay: number) => {
    world.delay = delay
    world.seconds += 1
    return overload.isShedding()
  }
  return { world, overload, secondOf }
}

it('sheds after a lasting delay but not after one pause', () => {
  const { secondOf } = overloadUnderTest()
  const said = [0.1, 5, 0.1, 1, 5, 1.1, 5].map(secondOf)
  assert.deepEqual(said, [false, false, false, false, false, true, true])
})

it('sheds until the delay is well below the limit', () => {
  const { secondOf } = overloadUnderTest()
  const said = [2, 2, 0.9, 0.6, 0.5, 0.9, 0.9, 2, 2].map(secondOf)
  assert.deepEqual(said, [false, true, true, true, false, false, false, false, true])
})

it('samples once a second, however often it is called', () => {
  const { world, overload, secondOf } = overloadUnderTest()
  for (let call = 0; call < 100; call += 1) overload.isShedding()
  assert.equal(world.readings, 0)
  secondOf(0)
  for (let call = 0; call < 100; call += 1) overload.isShedding()
  assert.equal(world.readings, 1)
})

it('measures a blocked event loop', () => {
  const delay = monitorEventLoop()
  const start = performance.now()
  while (performance.now() - start < 120);
  const seconds = delay.readSeconds()
  assert.ok(seconds >= 0.09, String(seconds))
  delay.close()
})
