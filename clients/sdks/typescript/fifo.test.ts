import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { Fifo } from './src/fifo.ts'

it('behaves as an array of which the first item is taken', () => {
  const steps = fc.array(fc.oneof(fc.nat(200), fc.constant('shift' as const)), { maxLength: 900 })
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 300 }), steps, (start, run) => {
      const model = [...start]
      const fifo = new Fifo(start)
      for (const step of run) {
        if (step === 'shift') assert.equal(fifo.shift(), model.shift())
        else {
          fifo.push(step)
          model.push(step)
        }
        assert.deepEqual([fifo.size, fifo.first], [model.length, model[0]])
      }
      assert.deepEqual([...fifo], model)
    }),
  )
})

it('forgets what was taken, and keeps the order over many items', () => {
  const fifo = new Fifo<number>()
  for (let at = 0; at < 100_000; at += 1) {
    fifo.push(at)
    if (at % 3 === 0) fifo.shift()
  }
  const left = [...fifo]
  assert.deepEqual([left.length, left[0], left.at(-1)], [66_666, 33_334, 99_999])
  while (fifo.size > 0) assert.equal(fifo.shift(), left.shift())
  assert.deepEqual([fifo.shift(), fifo.first, [...fifo]], [undefined, undefined, []])
})
