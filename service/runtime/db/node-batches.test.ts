import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { type Database, openDatabase } from './database.ts'
import { isStoreUnavailable } from './database-errors.ts'
import { batchLoadsByNode, forEachNode, type StoreNodes, singleNode } from './store-nodes.ts'

const HEALTHY = ['healthy-1', 'healthy-2']
const AFFECTED = ['affected-1', 'affected-2']

/** A server that is up, one that is down, and trackers of both, in turn. */
async function twoNodes(test: TestContext) {
  const { database: up } = await createTestDatabase(test)
  const down = openDatabase({
    connectionString: `postgres://postgres@127.0.0.1:${await findFreePort()}/signalbox`,
    connectionsMax: 1,
    applicationName: 'node batches test',
    onIdleError: () => {},
  })
  test.after(() => down.close())
  const nodes: StoreNodes = {
    ...singleNode(up),
    isCluster: true,
    findNode: async trackerId => (AFFECTED.includes(trackerId) ? down : up),
    all: () => [up, down],
  }
  const trackerIds = HEALTHY.flatMap((id, index) => [id, AFFECTED[index] as string])
  return { nodes, up, down, trackerIds }
}

/** Looks trackers up with one statement, which is noted with its node. */
function noteLoads() {
  const loads: { node: Database; trackerIds: readonly string[] }[] = []
  const load = async (node: Database, trackerIds: readonly string[]) => {
    loads.push({ node, trackerIds })
    const { rows } = await node.pool.query('select unnest($1::text[]) as id', [trackerIds])
    return rows.map(({ id }) => `found ${id}`)
  }
  return { loads, load }
}

it('looks up trackers with one statement per node, and fails only those of its node', async test => {
  const { nodes, up, down, trackerIds } = await twoNodes(test)
  const { loads, load } = noteLoads()
  const results = await Promise.allSettled(trackerIds.map(batchLoadsByNode(nodes, load)))
  assert.deepEqual(
    results.map(result =>
      result.status === 'fulfilled' ? result.value : isStoreUnavailable(result.reason),
    ),
    ['found healthy-1', true, 'found healthy-2', true],
  )
  assert.deepEqual(loads, [
    { node: up, trackerIds: HEALTHY },
    { node: down, trackerIds: AFFECTED },
  ])
})

it('does not wait for a node that does not answer', async test => {
  const { nodes, down } = await twoNodes(test)
  const silent = Promise.withResolvers<string[]>()
  const load = batchLoadsByNode(nodes, async (node, ids) => (node === down ? silent.promise : ids))
  let isAnswered = false
  const affected = load('affected-1').finally(() => {
    isAnswered = true
  })
  assert.equal(await load('healthy-1'), 'healthy-1')
  assert.equal(isAnswered, false)
  silent.resolve(['at last'])
  assert.equal(await affected, 'at last')
})

it('looks up all trackers of one PostgreSQL with one statement', async test => {
  const { up, trackerIds } = await twoNodes(test)
  const { loads, load } = noteLoads()
  await Promise.all(trackerIds.map(batchLoadsByNode(singleNode(up), load)))
  assert.deepEqual(loads, [{ node: up, trackerIds }])
})

it('fails only the tracker whose node cannot be found', async test => {
  const { nodes } = await twoNodes(test)
  const findNode = async (trackerId: string) => {
    if (trackerId === 'unknown') throw new Error('the coordinator is down')
    return nodes.findNode(trackerId)
  }
  const done: string[] = []
  const items = ['unknown', 'healthy-1'].map(trackerId => ({ trackerId }))
  await assert.rejects(
    forEachNode({ ...nodes, findNode }, items, async (_, own) => {
      done.push(...own.map(({ trackerId }) => trackerId))
    }),
    /the coordinator is down/,
  )
  assert.deepEqual(done, ['healthy-1'])
})

it('does the work of the other nodes before it throws', async test => {
  const { nodes, up, down, trackerIds } = await twoNodes(test)
  const items = trackerIds.map(trackerId => ({ trackerId }))
  const done: Database[] = []
  await assert.rejects(
    forEachNode(nodes, items, async (node, own) => {
      assert.equal(own.length, 2)
      await node.ping()
      done.push(node)
    }),
    isStoreUnavailable,
  )
  assert.deepEqual(done, [up])
  assert.notEqual(up, down)
})
