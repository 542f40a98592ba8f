import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { findWithdrawals } from './withdrawal-store.ts'

const OTHER_TRACKER_ID = '0190aaaa-0000-7000-8000-000000000002'

function withdrawal(eventId: string, seconds: number, keys: string[], trackerId = TRACKER_ID) {
  const createdAt = new Date(STORED_AT.getTime() + seconds * 1_000)
  return ledgerEntry({ trackerId, eventId, createdAt, payload: null, withdrawnKeys: keys })
}

it('returns the latest withdrawal under any key of a person', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [
    withdrawal('w1', 10, ['a']),
    withdrawal('w2', 20, ['b']),
    withdrawal('w3', 30, ['other'], OTHER_TRACKER_ID),
  ])
  const visitors = ['a', 'b', 'c', 'other'].map(visitorId => ({
    trackerId: TRACKER_ID,
    visitorId,
  }))
  const latest = await findWithdrawals(database, visitors)
  assert.deepEqual(latest(TRACKER_ID, ['a']).bySecret, new Date(STORED_AT.getTime() + 10_000))
  assert.deepEqual(
    latest(TRACKER_ID, ['b', 'a', 'c']).bySecret,
    new Date(STORED_AT.getTime() + 20_000),
  )
  assert.equal(latest(TRACKER_ID, ['c']).bySecret, null)
  assert.equal(latest(TRACKER_ID, []).bySecret, null)
  assert.equal(latest(TRACKER_ID, ['other']).bySecret, null)
  assert.equal(latest(OTHER_TRACKER_ID, ['a']).bySecret, null)
})

it('returns null without keys', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [withdrawal('w1', 10, ['a'])])
  const latest = await findWithdrawals(database, [])
  assert.equal(latest(TRACKER_ID, ['a']).bySecret, null)
})

it('accepts any text as a key', async test => {
  const { database } = await createTestDatabase(test)
  const key = 'odd "visitor" \\ {id}, NULL'
  await storeEntries(database, [withdrawal('w1', 10, [key])])
  const latest = await findWithdrawals(database, [{ trackerId: TRACKER_ID, visitorId: key }])
  assert.deepEqual(latest(TRACKER_ID, [key]).bySecret, new Date(STORED_AT.getTime() + 10_000))
})

it('applies withdrawals and sessions of earlier versions to the trimmed visitor ID', async test => {
  const { database } = await createTestDatabase(test)
  const { pool } = database
  await storeEntries(database, [
    withdrawal('w1', 10, [' V1 ']),
    withdrawal('w2', 30, ['V1\t']),
    withdrawal('w3', 20, ['V1', 'v2']),
  ])
  await pool.query(
    `insert into sessions values ($1, ' V1 ', $2, $2, null, '{"fbc": "fb.1.1.a"}')`,
    [TRACKER_ID, STORED_AT],
  )
  const path = join(import.meta.dirname, '../../migrations/0024-trimmed-visitor-ids.sql')
  const migration = await readFile(path, 'utf8')
  // Safe to repeat.
  for (let run = 0; run < 2; run += 1) await pool.query(migration)
  const visitors = ['V1', 'v2'].map(visitorId => ({ trackerId: TRACKER_ID, visitorId }))
  const latest = await findWithdrawals(database, visitors)
  assert.deepEqual(latest(TRACKER_ID, ['V1']).bySecret, new Date(STORED_AT.getTime() + 30_000))
  assert.deepEqual(latest(TRACKER_ID, ['v2']).bySecret, new Date(STORED_AT.getTime() + 20_000))
  const { rows } = await pool.query(`select click_ids from sessions where visitor_id = 'V1'`)
  assert.deepEqual(rows, [{ click_ids: { fbc: 'fb.1.1.a' } }])
})
