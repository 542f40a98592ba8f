import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../testing/fixtures/stored-events.ts'
import { findWithdrawals } from './suppression-store.ts'

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
  assert.deepEqual(latest(TRACKER_ID, ['a']), new Date(STORED_AT.getTime() + 10_000))
  assert.deepEqual(latest(TRACKER_ID, ['b', 'a', 'c']), new Date(STORED_AT.getTime() + 20_000))
  assert.equal(latest(TRACKER_ID, ['c']), null)
  assert.equal(latest(TRACKER_ID, []), null)
  assert.equal(latest(TRACKER_ID, ['other']), null)
  assert.equal(latest(OTHER_TRACKER_ID, ['a']), null)
})

it('returns null without keys', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [withdrawal('w1', 10, ['a'])])
  const latest = await findWithdrawals(database, [])
  assert.equal(latest(TRACKER_ID, ['a']), null)
})

it('accepts any text as a key', async test => {
  const { database } = await createTestDatabase(test)
  const key = 'odd "visitor" \\ {id}, NULL'
  await storeEntries(database, [withdrawal('w1', 10, [key])])
  const latest = await findWithdrawals(database, [{ trackerId: TRACKER_ID, visitorId: key }])
  assert.deepEqual(latest(TRACKER_ID, [key]), new Date(STORED_AT.getTime() + 10_000))
})
