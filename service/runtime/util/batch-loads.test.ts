import assert from 'node:assert/strict'
import { it } from 'node:test'
import { batchLoads } from './load-cache.ts'

it('looks up all keys of the same moment at once', async () => {
  const batches: string[][] = []
  const load = batchLoads(async keys => {
    batches.push([...keys])
    return keys.map(key => key.toUpperCase())
  })
  assert.equal(await load('first'), 'FIRST')
  assert.deepEqual(await Promise.all(['a', 'b', 'a'].map(load)), ['A', 'B', 'A'])
  assert.deepEqual(batches, [['first'], ['a', 'b', 'a']])
})

it('limits the keys of one lookup', async () => {
  const sizes: number[] = []
  const load = batchLoads(async keys => {
    sizes.push(keys.length)
    return keys
  })
  await Promise.all(Array.from({ length: 2_500 }, (_, index) => load(String(index))))
  assert.deepEqual(sizes, [1_000, 1_000, 500])
})
