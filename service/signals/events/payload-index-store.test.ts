import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sharedCluster } from '../../../testing/citus/cluster.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { ledgerEntry, storeEntries } from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Database } from '../../runtime/db/database.ts'
import { mergePayloadIndex, PayloadIndexMerger } from './payload-index-store.ts'

/** Merges the pending lists and returns the pages they had. */
async function mergePendingPages({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    `select sum(gin_clean_pending_list(inhrelid)) as pages from pg_inherits
     where inhparent = 'event_payloads_by_identifier'::regclass`,
  )
  return Number(rows[0].pages)
}

// event-lifecycle.on-cluster.ts has the test for a cluster.
const options = {
  skip: sharedCluster() !== null && 'on a cluster the pending lists are those of the shards',
}
it('merges the pending list of every daily partition', options, async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [ledgerEntry()])
  await mergePayloadIndex(database)
  assert.equal(await mergePendingPages(database), 0)
  await storeEntries(database, [ledgerEntry({ eventId: 'event-2' })])
  assert.equal(await mergePendingPages(database), 1)
})

it('merges once per twenty thousand events and never concurrently', async test => {
  const { database } = await createTestDatabase(test)
  let merges = 0
  const query = (text: string) => {
    if (text.includes('gin_clean_pending_list')) merges += 1
    return database.pool.query(text)
  }
  const pool = { query } as unknown as Database['pool']
  const merger = new PayloadIndexMerger({ ...database, pool })
  await storeEntries(database, [ledgerEntry()])
  merger.recordStored(19_999)
  assert.equal(merges, 0)
  merger.recordStored(1)
  merger.recordStored(50_000)
  await waitUntil('a merge started', async () => merges > 0)
  assert.equal(merges, 1)
  await waitUntil('the merge finished', async () => {
    merger.recordStored(0)
    return merges === 2
  })
})

it('ignores database errors', async test => {
  const { database } = await createTestDatabase(test)
  await database.pool.query('alter index event_payloads_by_identifier rename to another')
  const merger = new PayloadIndexMerger(database)
  merger.recordStored(20_000)
  await storeEntries(database, [ledgerEntry()])
  await database.ping()
})
