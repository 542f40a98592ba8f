import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sharedCluster } from '../../../testing/citus/cluster.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { indexDay, storeEventRun } from '../../../testing/fixtures/event-lists.ts'
import { TRACKER_ID } from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { recordPlans } from '../../../testing/performance/query-plans.ts'
import { POSITION_INTERVAL } from './list-position-store.ts'
import { listEventRefs } from './list-store.ts'

const DAY = '2026-11-21'
const EVENTS = 60_000
const PER_PAGE = 100
const BUFFERS_MAX = 500

it('reads at most 500 buffers for any page of a large day, even without vacuum', {
  skip: sharedCluster() !== null && 'a plan on a cluster does not include the buffers of its nodes',
}, async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await database.pool.query('alter table events_default set (autovacuum_enabled = off)')
  const from = new Date(`${DAY}T01:00:00.000Z`)
  await storeEventRun(database, { prefix: '', count: EVENTS, from, stepMilliseconds: 1 })
  // A run skips what is left of the day while an autovacuum holds the lock of the counts.
  let written = 0
  await waitUntil('all positions are written', async () => {
    written += await indexDay(database, { trackerId: TRACKER_ID, day: DAY })
    return written >= Math.floor(EVENTS / POSITION_INTERVAL)
  })
  const newest = new Date(from.getTime() + EVENTS)
  await storeEventRun(database, { prefix: 'new-', count: 500, from: newest, stepMilliseconds: 1 })

  const session = recordPlans(connectionString)
  test.after(() => session.database.close())
  const buffers: number[] = []
  for (let page = 0; page * PER_PAGE < EVENTS + 500; page += page < 10 ? 1 : 7) {
    session.takePlans()
    const range = { trackerId: TRACKER_ID, offset: page * PER_PAGE, limit: PER_PAGE }
    const { total, events } = await listEventRefs(session.database, range)
    assert.deepEqual([total, events.length], [EVENTS + 500, PER_PAGE])
    for (const plan of session.takePlans()) buffers.push(plan.buffers)
  }
  assert.ok(buffers.length > 80)
  assert.ok(Math.max(...buffers) <= BUFFERS_MAX, `${Math.max(...buffers)} buffers`)
})
