// Full run only: runs measurements.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { replayFailed } from '../../service/signals/delivery/replay-store.ts'
import { findEventsByRef } from '../../service/signals/events/event-store.ts'
import { listEventRefs } from '../../service/signals/events/list-store.ts'
import { searchOrderRefs } from '../../service/signals/events/page-match-store.ts'
import { findPayloadsByDigest } from '../../service/signals/events/payload-search-store.ts'
import { createTestDatabase } from '../fixtures/database.ts'
import { createTrackers, LARGE_TRACKER as trackerId } from '../performance/large-store.ts'
import { type CopiedRows, storeFailures, storeHistory, storePatternRows } from './growth-history.ts'
import { createGrowthLoad, GROWTH_NOW } from './growth-load.ts'

const COUNT = 300
const HISTORY: CopiedRows = {
  trackerId,
  count: COUNT,
  from: new Date(GROWTH_NOW.getTime() - 3 * DAY_MILLISECONDS),
  until: GROWTH_NOW,
  salt: 'history',
  firstDeliveryId: 1_000_000_000,
}

it('copies rows that the service can read, and rebuilds every index', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await createTrackers(database)
  const load = createGrowthLoad(database)
  const { events } = await load.accept(accepted => accepted.events > 0)
  assert.equal(await load.deliver(events), events)
  await storePatternRows(database, trackerId)
  // The partitions exist first, so that the same indexes are compared.
  const made = { count: 1, salt: 'partitions', firstDeliveryId: 900_000_000 }
  await storeHistory(connectionString, { ...HISTORY, ...made })
  const indexes = await findIndexes(database)
  await storeHistory(connectionString, HISTORY)
  assert.deepEqual(await findIndexes(database), indexes)
  assert.ok(indexes.some(({ definition }) => definition.includes('gin')))

  const limit = events + COUNT + 1
  const { total, events: places } = await listEventRefs(database, { trackerId, offset: 0, limit })
  assert.equal(total, limit)
  assert.equal(new Set(places.map(({ eventId }) => eventId)).size, limit)
  const stored = await findEventsByRef(database, trackerId, places)
  assert.equal(stored.filter(({ payload }) => payload?.digests.em).length, limit)

  const orderIds = stored.flatMap(({ orderId }) => orderId ?? [])
  assert.equal(new Set(orderIds).size, limit)
  for (const orderId of orderIds.slice(0, 5).concat(orderIds.slice(-5))) {
    const found = await searchOrderRefs(database, { trackerId, orderId, limit: 2 })
    assert.equal(found.length, 1)
  }

  await storeFailures(connectionString, {
    ...HISTORY,
    count: 20,
    salt: 'failures',
    firstDeliveryId: 950_000_000,
  })
  const window = { at: GROWTH_NOW, windowEndsAfter: GROWTH_NOW }
  const replay = { trackerId, deliveryIds: null, eventName: 'Purchase', limit: 15, ...window }
  const counts = await database.query
    .transaction()
    .execute(query => replayFailed({ query }, replay))
  assert.deepEqual(counts, {
    queued: 15,
    expired: 0,
    payloadExpired: 0,
    mayCountTwice: 2,
    unknownOutcome: 0,
    isCapped: true,
  })
  assert.equal(await load.deliver(100), 15)

  const [named] = stored
  const digest = named?.payload?.digests.em?.[0] as string
  const found = await findPayloadsByDigest(database, { trackerId, digest, limit: 10 })
  assert.ok(found.some(({ eventId }) => eventId === named?.eventId))
})

async function findIndexes({ pool }: Awaited<ReturnType<typeof createTestDatabase>>['database']) {
  const { rows } = await pool.query(
    `select tablename || ' ' || indexname as name, indexdef as definition
     from pg_indexes where schemaname <> 'patterns' order by 1, 2`,
  )
  return rows as { name: string; definition: string }[]
}
