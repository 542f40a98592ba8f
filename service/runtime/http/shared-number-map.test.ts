import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { RateLimiter } from './rate-limit.ts'
import { SharedNumberMap } from './shared-number-map.ts'

const KEYS = 500
const UPDATES_EACH = 40

it("returns 0 for an unknown key and each key's own number", () => {
  const map = new SharedNumberMap(SharedNumberMap.allocate(10_000))
  for (let key = 1; key <= KEYS; key += 1) map.update(`key-${key}`, () => key)
  for (let key = 1; key <= KEYS; key += 1) assert.equal(map.get(`key-${key}`), key)
  assert.equal(map.get('unknown'), 0)
})

it('evicts old keys when the map is full', () => {
  const map = new SharedNumberMap(SharedNumberMap.allocate(100))
  for (let key = 0; key < 5_000; key += 1) map.update(`key-${key}`, () => 1)
  const known = Array.from({ length: 5_000 }, (_, key) => map.get(`key-${key}`))
  const count = known.reduce((sum, value) => sum + value, 0)
  assert.ok(count >= 100 && count <= 128, `${count} keys`)
  assert.equal(known.at(-1), 1)
})

it('loses no update of any thread', async () => {
  const memory = SharedNumberMap.allocate(10_000)
  await inThreads(
    3,
    memory,
    `const map = new SharedNumberMap(workerData)
     for (let update = 0; update < ${KEYS * UPDATES_EACH}; update += 1)
       map.update('key-' + (update % ${KEYS}), before => before + 1)`,
  )
  const map = new SharedNumberMap(memory)
  for (let key = 0; key < KEYS; key += 1) assert.equal(map.get(`key-${key}`), 3 * UPDATES_EACH)
})

it('recovers when a thread ends while it holds a lock', async () => {
  const memory = SharedNumberMap.allocate(1)
  await inThreads(1, memory, "new SharedNumberMap(workerData).update('key', () => process.exit())")
  const map = new SharedNumberMap(memory)
  assert.equal(
    map.update('key', before => before + 1),
    1,
  )
  assert.equal(map.get('key'), 1)
})

it('allows the burst once, however many threads take from it', async () => {
  const memory = RateLimiter.allocateMemory()
  const taken = new Int32Array(new SharedArrayBuffer(4))
  await inThreads(
    3,
    { memory, taken },
    `const limiter = new RateLimiter({
       perSecond: 1, burst: 10_000, monotonicSeconds: () => 1_000, memory: workerData.memory,
     })
     for (let request = 0; request < 8_000; request += 1)
       if (limiter.take('one').waitSeconds === 0) Atomics.add(workerData.taken, 0, 1)`,
  )
  assert.equal(taken[0], 10_000)
})

/** Runs the lines in `count` threads, each with `workerData`. */
async function inThreads(count: number, workerData: unknown, lines: string): Promise<void> {
  const program = `
    const { workerData } = await import('node:worker_threads')
    const { SharedNumberMap } = await import('${import.meta.resolve('./shared-number-map.ts')}')
    const { RateLimiter } = await import('${import.meta.resolve('./rate-limit.ts')}')
    ${lines}`
  const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`)
  const threads = Array.from({ length: count }, () => new Worker(url, { workerData }))
  await Promise.all(threads.map(thread => once(thread, 'exit')))
}
