import assert from 'node:assert/strict'
import { it } from 'node:test'
import { eventually } from '../../testing/program-under-test.ts'
import { ledgerEntry, storeEntries } from '../../testing/stored-events.ts'
import { testStore } from '../../testing/test-store.ts'
import type { Database } from '../db/database.ts'
import { mergePayloadIndex, PayloadIndexMerger } from './payload-index-store.ts'

/** Merges what is left, and says how much that was. */
async function pendingPages({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    `select sum(gin_clean_pending_list(inhrelid)) as pages from pg_inherits
     where inhparent = 'event_payloads_by_identifier'::regclass`,
  )
  return Number(rows[0].pages)
}

it('merges what was stored into the index of every day', async test => {
  const { database } = await testStore(test)
  await storeEntries(database, [ledgerEntry()])
  await mergePayloadIndex(database)
  assert.equal(await pendingPages(database), 0)
  await storeEntries(database, [ledgerEntry({ eventId: 'event-2' })])
  assert.equal(await pendingPages(database), 1)
})

it('has it merged once for twenty thousand events, and never twice at once', async test => {
  const { database } = await testStore(test)
  let merges = 0
  const query = (text: string) => {
    if (text.includes('gin_clean_pending_list')) merges += 1
    return database.pool.query(text)
  }
  const pool = { query } as unknown as Database['pool']
  const index = new PayloadIndexMerger({ ...database, pool })
  await storeEntries(database, [ledgerEntry()])
  index.recordStored(19_999)
  assert.equal(merges, 0)
  index.recordStored(1)
  index.recordStored(50_000)
  await eventually('it is being merged', async () => merges > 0)
  assert.equal(merges, 1)
  await eventually('it is merged', async () => {
    index.recordStored(0)
    return merges === 2
  })
})

it('is no reason to fail when the store refuses it', async test => {
  const { database } = await testStore(test)
  await database.pool.query('alter index event_payloads_by_identifier rename to another')
  const index = new PayloadIndexMerger(database)
  index.recordStored(20_000)
  await storeEntries(database, [ledgerEntry()])
  await database.ping()
})
