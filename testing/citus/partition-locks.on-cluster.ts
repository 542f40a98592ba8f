import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'
import { dropPayloadPartition } from '../../service/signals/events/payload-expiry-store.ts'
import { detachWeek } from '../../service/signals/retention/retention-store.ts'
import { startTestService } from '../fixtures/service.ts'
import { findCitusObstacle } from './cluster.ts'
import { createTrackersOnEachNode } from './tracker-placement.ts'

const skip = findCitusObstacle() ?? false
const DAY = '2026-11-21'
const WEEK = '2026-11-16'

it('does not wait long for a reader on another node that holds a partition', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const { database, delivery } = service
  await ensurePartitions(database, new Date(`${DAY}T12:00:00.000Z`), 1)
  for (const { trackerId } of await createTrackersOnEachNode(service, 1)) {
    const node = (await delivery.nodes?.findNode(trackerId)) ?? database
    const reader = await node.pool.connect()
    await reader.query('begin')
    for (const table of ['event_payloads', 'events']) {
      await reader.query(`select 1 from ${table} where tracker_id = $1::uuid`, [trackerId])
    }
    assert.equal(
      await dropPayloadPartition(database, `event_payloads_${DAY.replaceAll('-', '_')}`),
      false,
    )
    assert.equal(await detachWeek(database, WEEK), false)
    await reader.query('rollback')
    reader.release()
  }
  assert.equal(
    await dropPayloadPartition(database, `event_payloads_${DAY.replaceAll('-', '_')}`),
    true,
  )
  assert.equal(await detachWeek(database, WEEK), true)
})
