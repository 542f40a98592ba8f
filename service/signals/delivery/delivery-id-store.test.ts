import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import type { Database } from '../../runtime/db/database.ts'
import { readLastDeliveryId } from './backlog-store.ts'
import { DeliveryIdAllocator, reserveDeliveryIds } from './plan-store.ts'

const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'
const OTHER_TRACKER_ID = '0190aaaa-0000-7000-8000-000000000002'

async function storeWithTrackers(test: TestContext): Promise<Database> {
  const { database } = await createTestDatabase(test)
  for (const id of [TRACKER_ID, OTHER_TRACKER_ID]) {
    const createdAt = new Date('2026-11-21T12:00:00Z')
    await insertTrackerWithWorkspace(database, { id, createdAt })
  }
  return database
}

it('counts from one for each tracker, without a gap', async test => {
  const ids = new DeliveryIdAllocator(await storeWithTrackers(test))
  await ids.reserve(new Map([[TRACKER_ID, 3]]))
  await ids.reserve(new Map([[OTHER_TRACKER_ID, 1]]))
  assert.deepEqual(
    [1, 2, 3].map(() => ids.take(TRACKER_ID)),
    [1, 2, 3],
  )
  assert.equal(ids.take(OTHER_TRACKER_ID), 1)
})

it('reserves the ids of many trackers in one statement', async test => {
  const database = await storeWithTrackers(test)
  const ids = new DeliveryIdAllocator(database)
  const query = test.mock.method(database.pool, 'query')
  const counts = new Map([
    [TRACKER_ID, 1_200],
    [OTHER_TRACKER_ID, 1],
  ])
  await ids.reserve(counts)
  await ids.reserve(new Map([[OTHER_TRACKER_ID, 999]]))
  assert.equal(query.mock.callCount(), 1)
  assert.equal(ids.take(TRACKER_ID), 1)
  assert.equal(ids.take(OTHER_TRACKER_ID), 1)
})

it('takes ids from one block until it is used up', async test => {
  const database = await storeWithTrackers(test)
  const ids = new DeliveryIdAllocator(database)
  const taken: number[] = []
  for (let round = 0; round < 1_001; round += 1) {
    await ids.reserve(new Map([[TRACKER_ID, 1]]))
    taken.push(ids.take(TRACKER_ID))
  }
  assert.deepEqual(
    taken,
    Array.from({ length: 1_001 }, (_, index) => index + 1),
  )
  assert.equal(await reserveDeliveryIds(database, TRACKER_ID, 1), 2_001)
})

it('serves a request larger than a block', async test => {
  const ids = new DeliveryIdAllocator(await storeWithTrackers(test))
  await ids.reserve(new Map([[TRACKER_ID, 2_500]]))
  const taken = Array.from({ length: 2_500 }, () => ids.take(TRACKER_ID))
  assert.equal(taken.at(-1), 2_500)
})

it('throws when no id was reserved', async test => {
  const ids = new DeliveryIdAllocator(await storeWithTrackers(test))
  assert.throws(() => ids.take(TRACKER_ID), /no delivery id was reserved/)
  await ids.reserve(new Map([[TRACKER_ID, 1_000]]))
  for (let count = 0; count < 1_000; count += 1) ids.take(TRACKER_ID)
  assert.throws(() => ids.take(TRACKER_ID), /no delivery id was reserved/)
})

it('gives no id to two concurrent processes', async test => {
  const database = await storeWithTrackers(test)
  const work = async () => {
    const ids = new DeliveryIdAllocator(database)
    const taken: number[] = []
    for (let round = 0; round < 5; round += 1) {
      await ids.reserve(new Map([[TRACKER_ID, 700]]))
      for (let count = 0; count < 700; count += 1) taken.push(ids.take(TRACKER_ID))
    }
    return taken
  }
  const taken = (await Promise.all([work(), work(), work(), work()])).flat()
  assert.equal(new Set(taken).size, 4 * 5 * 700)
})

it('keeps blocks of ten thousand trackers and drops the least recently used one', async test => {
  const { database } = await createTestDatabase(test)
  const { rows } = await database.pool.query(
    `with workspace as (
       insert into workspaces (name, created_at) values ('Many', now()) returning id
     )
     insert into trackers (id, workspace_id, name, created_at)
     select gen_random_uuid(), workspace.id, 'one of many', now()
     from workspace, generate_series(1, 10001) returning id`,
  )
  const [first, ...others] = rows.map(({ id }) => id as string)
  const last = others.pop()
  const recent = others.at(-1) ?? ''
  assert.ok(first !== undefined && last !== undefined)
  const ids = new DeliveryIdAllocator(database)
  await ids.reserve(new Map([[first, 1]]))
  while (others.length > 0) {
    await Promise.all(
      others.splice(0, 100).map(trackerId => ids.reserve(new Map([[trackerId, 1]]))),
    )
  }
  await ids.reserve(new Map([[last, 1]]))
  assert.equal(ids.take(last), 1)
  assert.equal(ids.take(recent), 1)
  assert.throws(() => ids.take(first), /no delivery id was reserved/)
  // A new block: what was left of the old one is not used.
  await ids.reserve(new Map([[first, 1]]))
  assert.equal(ids.take(first), 1_001)
})

it('reads the highest delivery id, far beyond 32 bits', async test => {
  const database = await storeWithTrackers(test)
  assert.equal(await readLastDeliveryId(database), 0)
  const last = 2 ** 52
  assert.equal(await reserveDeliveryIds(database, TRACKER_ID, last), last)
  assert.equal(await readLastDeliveryId(database), last)
})
