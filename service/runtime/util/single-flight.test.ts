import assert from 'node:assert/strict'
import { it } from 'node:test'
import { singleFlight } from './load-cache.ts'

it('runs once for concurrent callers and again for later ones', async () => {
  const ends: ((value: number) => void)[] = []
  const run = singleFlight(() => new Promise<number>(resolve => ends.push(resolve)))
  const [first, second] = [run(), run()]
  assert.equal(ends.length, 1)
  ends[0]?.(1)
  assert.deepEqual([await first, await second], [1, 1])
  const third = run()
  assert.equal(ends.length, 2)
  ends[1]?.(2)
  assert.equal(await third, 2)
})

it('rejects for every concurrent caller and runs again for the next', async () => {
  let isFailing = true
  const run = singleFlight(async () => {
    if (isFailing) throw new Error('failed')
    return 'whole'
  })
  const calls = [run(), run()]
  for (const answer of calls) await assert.rejects(answer, /failed/)
  isFailing = false
  assert.equal(await run(), 'whole')
})
