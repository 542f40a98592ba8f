import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { GroupCommitPerNode } from './event-commit-queue.ts'

interface Item {
  trackerId: string
  name: string
}

const A = { name: 'a' } as unknown as Database
const B = { name: 'b' } as unknown as Database

interface Recording {
  queueMax?: number
  itemsMax?: number
  pendingBytesMax?: number
  before?: (node: Database) => Promise<void>
  nodeOf?: (trackerId: string) => Promise<Database>
}

/** Trackers are on the node of their first letter; each commit is recorded with its node. */
function recorded({ before, ...options }: Recording = {}) {
  const batches: [string, ...string[]][] = []
  const commits = new GroupCommitPerNode<Item, string>({
    nodeOf: async trackerId => (trackerId.startsWith('a') ? A : B),
    committerOf: node => async items => {
      await before?.(node)
      const { name } = node as unknown as { name: string }
      batches.push([name, ...items.map(item => item.name)])
      return items.map(item => item.name.toUpperCase())
    },
    itemsMax: 100,
    queueMax: 100,
    ...options,
  })
  const submit = (trackerId: string, name: string, bytes?: number) =>
    commits.submit({ trackerId, name }, bytes)
  return { commits, batches, submit }
}

const isFull = (error: unknown) =>
  error instanceof Refusal && error.status === 503 && /Too many events/.test(error.message)

it('commits the items of one event loop iteration once per node', async () => {
  const { submit, batches } = recorded()
  const outcomes = await Promise.all([
    submit('a1', 'one'),
    submit('b1', 'two'),
    submit('a2', 'three'),
    submit('b1', 'four'),
  ])
  assert.deepEqual(outcomes, ['ONE', 'TWO', 'THREE', 'FOUR'])
  assert.deepEqual(batches.toSorted(), [
    ['a', 'one', 'three'],
    ['b', 'two', 'four'],
  ])
})

it('keeps committing on one node while another hangs', async () => {
  const gate = Promise.withResolvers<void>()
  const { submit, batches } = recorded({ before: node => (node === A ? gate.promise : wait()) })
  const stuck = submit('a1', 'stuck')
  for (const name of ['one', 'two', 'three']) await submit('b1', name)
  assert.deepEqual(batches, [
    ['b', 'one'],
    ['b', 'two'],
    ['b', 'three'],
  ])
  gate.resolve()
  assert.equal(await stuck, 'STUCK')
})

it('limits waiting items across all nodes and leaves half of the capacity to the others', async () => {
  const gate = Promise.withResolvers<void>()
  const before = (node: Database) => (node === A ? gate.promise : wait())
  const { commits, submit } = recorded({ queueMax: 10, itemsMax: 1, before })
  const first = submit('a1', 'in flight')
  await wait()
  await wait()
  const waiting: Promise<string>[] = []
  for (let item = 0; item < 5; item += 1) waiting.push(submit('a1', `item-${item}`))
  await wait()
  assert.equal(commits.queued, 5)
  await assert.rejects(submit('a1', 'too many for one node'), isFull)
  assert.equal(commits.refusals, 1)
  assert.equal(await submit('b1', 'of another node'), 'OF ANOTHER NODE')
  gate.resolve()
  await Promise.all([first, ...waiting])
  assert.equal(commits.queued, 0)
  assert.equal(await submit('a1', 'later'), 'LATER')
})

it('limits pending bytes across all nodes', async () => {
  const gate = Promise.withResolvers<void>()
  const { commits, submit } = recorded({ pendingBytesMax: 100, before: () => gate.promise })
  const first = submit('a1', 'a', 50)
  await wait()
  await assert.rejects(submit('a1', 'b', 10), isFull)
  const second = submit('b1', 'c', 25)
  await wait()
  assert.throws(() => submit('b1', 'd', 26), isFull)
  assert.equal(commits.refusals, 2)
  gate.resolve()
  await Promise.all([first, second])
  assert.equal(await submit('a1', 'e', 50), 'E')
})

it('counts items whose node lookup is running and rejects only those whose lookup fails', async () => {
  const places = new Map([
    ['a1', Promise.withResolvers<Database>()],
    ['b1', Promise.withResolvers<Database>()],
  ])
  const nodeOf = (trackerId: string) =>
    places.get(trackerId)?.promise ?? Promise.reject(new Error('no such tracker'))
  const { commits, submit, batches } = recorded({ nodeOf, queueMax: 3 })
  const lost = assert.rejects(submit('a1', 'lost'), /the catalogue is away/)
  const found = submit('b1', 'found')
  assert.equal(commits.queued, 2)
  const third = assert.rejects(submit('c1', 'third'), /no such tracker/)
  assert.throws(() => submit('a1', 'fourth'), isFull)
  places.get('a1')?.reject(new Error('the catalogue is away'))
  places.get('b1')?.resolve(B)
  await Promise.all([lost, third])
  assert.equal(await found, 'FOUND')
  assert.deepEqual(batches, [['b', 'found']])
  assert.equal(commits.queued, 0)
})

it('drains after every item is settled, including those in node lookup', async () => {
  const place = Promise.withResolvers<Database>()
  const { commits, submit } = recorded({ nodeOf: () => place.promise })
  const settled: string[] = []
  for (const name of ['one', 'two']) submit('a1', name).then(outcome => settled.push(outcome))
  const drained = commits.drain()
  place.resolve(A)
  await drained
  assert.deepEqual(settled, ['ONE', 'TWO'])
  await commits.drain()
})

function wait(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
