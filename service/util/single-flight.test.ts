import assert from 'node:assert/strict'
import { it } from 'node:test'
import { singleFlight } from './single-flight.ts'

it('works once for all who ask meanwhile, and anew for who asks later', async () => {
  const ends: ((value: number) => void)[] = []
  const ask = singleFlight(() => new Promise<number>(resolve => ends.push(resolve)))
  const [first, second] = [ask(), ask()]
  assert.equal(ends.length, 1)
  ends[0]?.(1)
  assert.deepEqual([await first, await second], [1, 1])
  const third = ask()
  assert.equal(ends.length, 2)
  ends[1]?.(2)
  assert.equal(await third, 2)
})

it('fails for all who asked, and tries again for the next', async () => {
  let isBroken = true
  const ask = singleFlight(async () => {
    if (isBroken) throw new Error('broken')
    return 'whole'
  })
  const asked = [ask(), ask()]
  for (const answer of asked) await assert.rejects(answer, /broken/)
  isBroken = false
  assert.equal(await ask(), 'whole')
})
