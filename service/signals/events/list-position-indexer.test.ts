import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { assertExactPages, storeEventRun } from '../../../testing/fixtures/event-lists.ts'
import { TRACKER_ID } from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Database } from '../../runtime/db/database.ts'
import {
  findUnindexedDays,
  indexListPositions,
  ListPositionIndexer,
} from './list-position-store.ts'

const NOON = new Date('2026-11-21T12:00:00.000Z')
const YESTERDAY = new Date('2026-11-20T12:00:00.000Z')

function accepted(count: number) {
  return Array.from({ length: count }, () => ({ trackerId: TRACKER_ID, createdAt: NOON }))
}

async function positionsOf({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select count(*) as positions from list_positions')
  return rows[0].positions
}

it('writes positions after 500 new events of a tracker, at most every two seconds', async test => {
  const { database } = await createTestDatabase(test)
  let seconds = 100
  let runs = 0
  const counting = {
    query: {
      transaction: () => {
        runs += 1
        return database.query.transaction()
      },
    } as Database['query'],
  }
  const indexer = new ListPositionIndexer(counting, () => seconds)
  await storeEventRun(database, { prefix: '', count: 1_000, from: NOON, stepMilliseconds: 1 })
  indexer.recordStored(accepted(499))
  assert.equal(runs, 0)
  indexer.recordStored(accepted(1))
  indexer.recordStored(accepted(600))
  assert.equal(runs, 1)
  await waitUntil('positions are written', async () => (await positionsOf(database)) === 4)
  seconds += 1.9
  indexer.recordStored(accepted(1))
  assert.equal(runs, 1)
  await storeEventRun(database, { prefix: 'more', count: 500, from: NOON, stepMilliseconds: 2 })
  seconds += 0.1
  indexer.recordStored(accepted(1))
  assert.equal(runs, 2)
  await waitUntil('more positions are written', async () => (await positionsOf(database)) === 6)
  await assertExactPages(database, { perPage: 25 })
})

it('ignores database errors and retries in the next run', async test => {
  const { database } = await createTestDatabase(test)
  await database.pool.query('alter table event_counts rename to another')
  let seconds = 100
  const indexer = new ListPositionIndexer(database, () => seconds)
  indexer.recordStored(accepted(500))
  await database.ping()
  await database.pool.query('alter table another rename to event_counts')
  await storeEventRun(database, { prefix: '', count: 1_000, from: NOON, stepMilliseconds: 1 })
  await waitUntil('the next run writes all positions', async () => {
    seconds += 2
    indexer.recordStored(accepted(500))
    return (await positionsOf(database)) === 4
  })
})

it('writes the missing positions of all days in the job and stops when aborted', async test => {
  const { database } = await createTestDatabase(test)
  await storeEventRun(database, { prefix: 'a', count: 6_000, from: YESTERDAY, stepMilliseconds: 1 })
  await storeEventRun(database, { prefix: 'b', count: 700, from: NOON, stepMilliseconds: 1 })
  await indexListPositions({ database, signal: AbortSignal.abort() })
  assert.equal(await positionsOf(database), 0)
  const { signal } = new AbortController()
  await indexListPositions({ database, signal })
  assert.equal(await positionsOf(database), 26)
  assert.deepEqual(await findUnindexedDays(database), [])
  await assertExactPages(database, { perPage: 100 })
})
