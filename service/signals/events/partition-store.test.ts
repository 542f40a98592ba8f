import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { STORED_AT } from '../../../testing/fixtures/stored-events.ts'
import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { detachWeek } from '../retention/retention-store.ts'
import { changePartitions, ensurePartitions } from './partition-store.ts'
import { dropPayloadPartition } from './payload-expiry-store.ts'

const WEEK_MILLISECONDS = 7 * DAY_MILLISECONDS
const NEXT_WEEK = new Date(STORED_AT.getTime() + WEEK_MILLISECONDS)

async function partitionsOf({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
     where relkind = 'r' and relname !~ '_default$' order by 1`,
  )
  return rows.map(({ name }) => name)
}

it('lets one process at a time create, drop and detach partitions', async test => {
  const { database } = await createTestDatabase(test)
  await ensurePartitions(database, STORED_AT, 1)
  const before = await partitionsOf(database)
  assert.deepEqual(before, [
    'deliveries_2026_11_16',
    'event_payloads_2026_11_21',
    'events_2026_11_16',
  ])

  const isChanged = await changePartitions(database, async () => {
    await ensurePartitions(database, NEXT_WEEK, 1)
    assert.equal(await dropPayloadPartition(database, 'event_payloads_2026_11_21'), false)
    assert.equal(await detachWeek(database, '2026-11-16'), false)
  })
  assert.equal(isChanged, true)
  assert.deepEqual(await partitionsOf(database), before)

  await ensurePartitions(database, NEXT_WEEK, 1)
  assert.equal(await dropPayloadPartition(database, 'event_payloads_2026_11_21'), true)
  assert.equal(await detachWeek(database, '2026-11-16'), true)
  assert.deepEqual(await partitionsOf(database), [
    'deliveries_2026_11_23',
    'event_payloads_2026_11_28',
    'events_2026_11_23',
  ])
})
