import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { GroupCommit } from './group-commit.ts'

it('commits a single item immediately', async () => {
  const { commits, batches } = recorded()
  assert.equal(await commits.submit('a'), 'A')
  assert.deepEqual(batches, [['a']])
})

it('commits the items of one event loop iteration together and returns each outcome', async () => {
  const { commits, batches } = recorded()
  const outcomes = await Promise.all(['a', 'b', 'c'].map(item => commits.submit(item)))
  assert.deepEqual(outcomes, ['A', 'B', 'C'])
  assert.deepEqual(batches, [['a', 'b', 'c']])
})

it('collects items during a commit, in order, up to the batch size', async () => {
  const gate = Promise.withResolvers<void>()
  const { commits, batches } = recorded({ itemsMax: 2, before: () => gate.promise })
  const first = commits.submit('a')
  await turn()
  const others = ['b', 'c', 'd'].map(item => commits.submit(item))
  await turn()
  assert.deepEqual(batches, [['a']])
  assert.equal(commits.queued, 3)
  gate.resolve()
  assert.deepEqual(await Promise.all([first, ...others]), ['A', 'B', 'C', 'D'])
  assert.deepEqual(batches, [['a'], ['b', 'c'], ['d']])
  assert.equal(commits.queued, 0)
})

it('runs one commit at a time', async () => {
  let inFlight = 0
  let most = 0
  const before = async () => {
    inFlight += 1
    most = Math.max(most, inFlight)
    await turn()
    inFlight -= 1
  }
  const { commits } = recorded({ itemsMax: 3, before })
  await Promise.all(Array.from({ length: 20 }, (_, index) => commits.submit(`item-${index}`)))
  assert.equal(most, 1)
})

it('throws 503 with Retry-After when the queue is full and accepts items later', async () => {
  const gate = Promise.withResolvers<void>()
  const { commits, batches } = recorded({ queueMax: 2, before: () => gate.promise })
  const first = commits.submit('a')
  await turn()
  const waiting = [commits.submit('b'), commits.submit('c')]
  assert.throws(
    () => commits.submit('d'),
    (refusal: Refusal) => refusal.status === 503 && refusal.headers['retry-after'] === '1',
  )
  gate.resolve()
  await Promise.all([first, ...waiting])
  assert.equal(await commits.submit('d'), 'D')
  assert.deepEqual(batches, [['a'], ['b', 'c'], ['d']])
})

it('throws 503 when the pending bytes exceed the limit, until others are durable', async () => {
  const gate = Promise.withResolvers<void>()
  const { commits } = recorded({ pendingBytesMax: 100, before: () => gate.promise })
  const first = commits.submit('a', 60)
  await turn()
  assert.throws(
    () => commits.submit('b', 41),
    (refusal: Refusal) => refusal.status === 503,
  )
  const second = commits.submit('c', 40)
  assert.throws(
    () => commits.submit('d', 1),
    (refusal: Refusal) => refusal.status === 503,
  )
  assert.equal(commits.refusals, 2)
  gate.resolve()
  await Promise.all([first, second])
  await turn()
  assert.equal(await commits.submit('b', 100), 'B')
})

it('releases the bytes of a failed commit', async () => {
  const { commits } = recorded({
    pendingBytesMax: 100,
    before: async items => {
      if (items.includes('bad')) throw new Error('no')
    },
  })
  await assert.rejects(commits.submit('bad', 100))
  await turn()
  assert.equal(await commits.submit('good', 100), 'GOOD')
})

it('isolates the items that fail a batch and commits the others', async () => {
  const bad = new Set(['item-3', 'item-11'])
  const poison = new Error('no')
  const committed: string[] = []
  const { commits, batches } = recorded({
    before: async items => {
      if (items.some(item => bad.has(item))) throw poison
      committed.push(...items)
    },
  })
  const items = Array.from({ length: 16 }, (_, index) => `item-${index}`)
  const results = await Promise.allSettled(items.map(item => commits.submit(item)))
  for (const [index, result] of results.entries()) {
    const item = items[index] as string
    if (bad.has(item)) assert.deepEqual(result, { status: 'rejected', reason: poison })
    else assert.deepEqual(result, { status: 'fulfilled', value: item.toUpperCase() })
  }
  const good = items.filter(item => !bad.has(item))
  assert.deepEqual(committed, good)
  // Two searches of a tree with 16 leaves, which share the root.
  assert.ok(batches.length <= 2 * 8 + 1)
})

it('rejects the whole batch immediately while the database is unavailable, and recovers', async () => {
  let isDown = true
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const { commits, batches } = recorded({
    before: async () => {
      if (isDown) throw refused
    },
  })
  const results = await Promise.allSettled(['a', 'b', 'c'].map(item => commits.submit(item)))
  for (const result of results) {
    assert.deepEqual(result, { status: 'rejected', reason: refused })
  }
  assert.equal(batches.length, 1)
  isDown = false
  assert.equal(await commits.submit('a'), 'A')
})

it('settles every submitted item before it is drained', async () => {
  const { commits, batches } = recorded({ itemsMax: 2, before: turn })
  const settled: string[] = []
  for (const item of ['a', 'b', 'c', 'd', 'e']) {
    commits.submit(item).then(outcome => settled.push(outcome))
  }
  await commits.drain()
  await turn()
  assert.deepEqual(settled, ['A', 'B', 'C', 'D', 'E'])
  assert.equal(batches.length, 3)
  await commits.drain()
})

interface Recording {
  itemsMax?: number
  queueMax?: number
  pendingBytesMax?: number
  before?: (items: readonly string[]) => Promise<void>
}

/** Commits by writing each item in capitals; `batches` holds what each commit was given. */
function recorded({ before = async () => {}, ...limits }: Recording = {}) {
  const batches: string[][] = []
  const commits = new GroupCommit<string, string>({
    itemsMax: 100,
    queueMax: 100,
    ...limits,
    commit: async items => {
      batches.push([...items])
      await before(items)
      return items.map(item => item.toUpperCase())
    },
  })
  return { commits, batches }
}

function turn(): Promise<void> {
  return new Promise(resolve => void setImmediate(() => setImmediate(resolve)))
}
