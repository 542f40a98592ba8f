import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { TtlCache } from './load-cache.ts'

/** A cache of three entries and 500 ms on a clock that the test sets. */
function setUp(answer: (key: string, call: number) => Promise<string> = async key => key) {
  const calls: string[] = []
  const clock = { milliseconds: 1_000, now: () => clock.milliseconds }
  const load = (key: string) => {
    calls.push(key)
    return answer(key, calls.length)
  }
  const limits = { ttlMilliseconds: 500, entriesMax: 3, perf: clock }
  return { cache: new TtlCache(load, limits), calls, clock }
}

it('looks a key up again only after its TTL', async () => {
  const { cache, clock, calls } = setUp(async (key, call) => `${key}${call}`)
  assert.equal(await cache.get('a'), 'a1')
  clock.milliseconds += 499
  assert.equal(await cache.get('a'), 'a1')
  assert.equal(cache.has('a'), true)
  clock.milliseconds += 2
  assert.equal(cache.has('a'), false)
  assert.equal(await cache.get('a'), 'a2')
  assert.deepEqual(calls, ['a', 'a'])
})

it('counts the TTL from the start of the lookup', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const { cache, clock, calls } = setUp(() => promise)
  const first = cache.get('a')
  clock.milliseconds += 501
  resolve('found')
  await first
  await cache.get('a')
  assert.deepEqual(calls, ['a', 'a'])
})

it('shares a lookup among concurrent callers', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const { cache, calls } = setUp(() => promise)
  const answers = Promise.all([cache.get('a'), cache.get('a'), cache.get('a')])
  resolve('found')
  assert.deepEqual(await answers, ['found', 'found', 'found'])
  assert.deepEqual(calls, ['a'])
})

it('rejects for every waiting caller when a lookup fails, and looks up again', async () => {
  const { cache } = setUp(async (key, call) => {
    if (call === 1) throw new Error('the store is unavailable')
    return key
  })
  const both = await Promise.allSettled([cache.get('a'), cache.get('a')])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await cache.get('a'), 'a')
})

it('looks everything up again after clear', async () => {
  const { cache, calls } = setUp()
  await cache.get('a')
  cache.clear()
  await cache.get('a')
  assert.deepEqual(calls, ['a', 'a'])
})

it('evicts the least recently used entry beyond its limit', async () => {
  const { cache, calls } = setUp()
  for (const key of ['a', 'b', 'c', 'a', 'd']) await cache.get(key)
  for (const key of ['d', 'a', 'c']) await cache.get(key)
  assert.deepEqual(calls, ['a', 'b', 'c', 'd'])
  await cache.get('b')
  assert.deepEqual(calls, ['a', 'b', 'c', 'd', 'b'])
})

it('keeps a newer result when an older lookup fails late', async () => {
  const first = Promise.withResolvers<string>()
  const { cache, calls } = setUp((key, call) => (call === 1 ? first.promise : Promise.resolve(key)))
  const failing = cache.get('a')
  await nextIteration()
  cache.clear()
  assert.equal(await cache.get('a'), 'a')
  first.reject(new Error('too late'))
  await assert.rejects(failing, /too late/)
  assert.equal(await cache.get('a'), 'a')
  assert.deepEqual(calls, ['a', 'a'])
})
