import assert from 'node:assert/strict'
import { it } from 'node:test'
import { TtlCache } from './ttl-cache.ts'

/** Long enough to last through a test, so that no test waits for a clock. */
const LASTING = { ttlMilliseconds: 3_600_000, entriesMax: 3 }

function counted(answer: (key: string, call: number) => Promise<string>) {
  const calls: string[] = []
  const load = (key: string) => {
    calls.push(key)
    return answer(key, calls.length)
  }
  return { calls, load }
}

it('asks once while the answer is fresh, and again when it is not', async () => {
  const { calls, load } = counted(async (key, call) => `${key}${call}`)
  const fresh = new TtlCache(load, LASTING)
  assert.equal(await fresh.get('a'), 'a1')
  assert.equal(await fresh.get('a'), 'a1')
  const stale = new TtlCache(load, { ...LASTING, ttlMilliseconds: 0 })
  assert.equal(await stale.get('a'), 'a2')
  assert.equal(await stale.get('a'), 'a3')
  assert.deepEqual(calls, ['a', 'a', 'a'])
})

it('shares a look-up with all who ask while it runs', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const { calls, load } = counted(() => promise)
  const cache = new TtlCache(load, LASTING)
  const answers = Promise.all([cache.get('a'), cache.get('a'), cache.get('a')])
  resolve('found')
  assert.deepEqual(await answers, ['found', 'found', 'found'])
  assert.deepEqual(calls, ['a'])
})

it('tells all who waited that a look-up failed, and asks anew for the next', async () => {
  const { load } = counted(async (key, call) => {
    if (call === 1) throw new Error('the store is away')
    return key
  })
  const cache = new TtlCache(load, LASTING)
  const both = await Promise.allSettled([cache.get('a'), cache.get('a')])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await cache.get('a'), 'a')
})

it('looks everything up again after it was told to forget', async () => {
  const { calls, load } = counted(async key => key)
  const cache = new TtlCache(load, LASTING)
  await cache.get('a')
  cache.clear()
  await cache.get('a')
  assert.deepEqual(calls, ['a', 'a'])
})

it('holds no more entries than its limit and drops the oldest first', async () => {
  const { calls, load } = counted(async key => key)
  const cache = new TtlCache(load, LASTING)
  for (const key of ['a', 'b', 'c', 'd']) await cache.get(key)
  for (const key of ['d', 'c', 'b']) await cache.get(key)
  assert.deepEqual(calls, ['a', 'b', 'c', 'd'])
  await cache.get('a')
  assert.deepEqual(calls, ['a', 'b', 'c', 'd', 'a'])
})

it('does not let an old failure throw away a newer answer', async () => {
  const first = Promise.withResolvers<string>()
  const { calls, load } = counted((key, call) =>
    call === 1 ? first.promise : Promise.resolve(key),
  )
  const cache = new TtlCache(load, LASTING)
  const failing = cache.get('a')
  cache.clear()
  assert.equal(await cache.get('a'), 'a')
  first.reject(new Error('too late'))
  await assert.rejects(failing, /too late/)
  assert.equal(await cache.get('a'), 'a')
  assert.deepEqual(calls, ['a', 'a'])
})
