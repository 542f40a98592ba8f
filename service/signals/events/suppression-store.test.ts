import assert from 'node:assert/strict'
import { it } from 'node:test'
import type pg from 'pg'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import type { Database } from '../../runtime/db/database.ts'
import { insertEvents } from '../ingestion/commit-store.ts'
import {
  findSuppressedDigests,
  findTrackersWithErasures,
  findTrackersWithWithdrawals,
  suppressDigest,
  waitForPayloadWriters,
} from './suppression-store.ts'

const KEYED = 'ab'.repeat(32)
const OTHER_TRACKER = '0190aaaa-0000-7000-8000-000000000002'

function suppress(database: Database): Promise<void> {
  return suppressDigest(database, { trackerId: TRACKER_ID, keyed: KEYED, at: STORED_AT })
}

it('finds suppressed digests by tracker and accepts a repeat', async test => {
  const { database } = await createTestDatabase(test)
  assert.deepEqual(await findTrackersWithErasures(database, [TRACKER_ID]), new Set())
  await Promise.all([suppress(database), suppress(database)])
  const digests = [TRACKER_ID, OTHER_TRACKER].map(trackerId => ({ trackerId, keyed: KEYED }))
  assert.deepEqual(
    await findSuppressedDigests(database, digests),
    new Set([`${TRACKER_ID} ${KEYED}`]),
  )
  const trackers = [TRACKER_ID, OTHER_TRACKER]
  assert.deepEqual(await findTrackersWithErasures(database, trackers), new Set([TRACKER_ID]))
})

it('does not store events with a wrong assumption and returns their keys', async test => {
  const { database } = await createTestDatabase(test)
  await suppress(database)
  const events = [
    ledgerEntry({ eventId: 'a', assumedNotErased: 'all' }),
    ledgerEntry({ eventId: 'b', assumedNotErased: ['cd'.repeat(32), KEYED] }),
    ledgerEntry({ eventId: 'c', assumedNotErased: ['cd'.repeat(32)] }),
    ledgerEntry({ eventId: 'd', assumedNotErased: [] }),
  ]
  // The first event is checked by its tracker alone.
  const alone = await insertEvents(database, events.slice(0, 1), [])
  assert.deepEqual([...alone.conflictingKeys], [`${TRACKER_ID} secret a`])
  const { newKeys, conflictingKeys } = await insertEvents(database, events.slice(1), [])
  assert.deepEqual([...newKeys], [`${TRACKER_ID} secret c`, `${TRACKER_ID} secret d`])
  assert.deepEqual([...conflictingKeys], [`${TRACKER_ID} secret b`])
  const otherEvent = ledgerEntry({ trackerId: OTHER_TRACKER, assumedNotErased: 'all' })
  assert.deepEqual(await storeEntries(database, [otherEvent]), ['event-1'])
})

it('checks a tracker that should have no withdrawals as a whole, and each key once', async test => {
  const { database } = await createTestDatabase(test)
  const assuming = (
    eventId: string,
    assumedNotWithdrawn: 'all' | string[],
    trackerId = TRACKER_ID,
  ) => ledgerEntry({ trackerId, eventId, assumedNotWithdrawn })
  await storeEntries(database, [ledgerEntry({ eventId: 'bye', withdrawnKeys: ['v1'] })])
  assert.deepEqual(
    await findTrackersWithWithdrawals(database, [TRACKER_ID, OTHER_TRACKER]),
    new Set([TRACKER_ID]),
  )
  const whole = await insertEvents(
    database,
    [assuming('a', 'all'), assuming('b', 'all', OTHER_TRACKER)],
    [],
  )
  assert.deepEqual([...whole.newKeys], [`${OTHER_TRACKER} secret b`])
  assert.deepEqual([...whole.conflictingKeys], [`${TRACKER_ID} secret a`])
  const keys = [
    assuming('c', ['v1', 'v2']),
    assuming('d', ['v2']),
    assuming('e', ['v3', 'v1']),
    assuming('f', ['v1'], OTHER_TRACKER),
  ]
  const byKey = await insertEvents(database, keys, [])
  assert.deepEqual([...byKey.newKeys], [`${TRACKER_ID} secret d`, `${OTHER_TRACKER} secret f`])
  assert.deepEqual([...byKey.conflictingKeys].sort(), [
    `${TRACKER_ID} secret c`,
    `${TRACKER_ID} secret e`,
  ])
  // A withdrawal that only pages sent.
  await database.pool.query(
    `insert into page_withdrawal_keys (tracker_id, key, withdrawal_id, withdrawn_at)
     values ($1::uuid, 'v9', gen_random_uuid(), $2::timestamptz)`,
    [OTHER_TRACKER, STORED_AT],
  )
  const other = await insertEvents(database, [assuming('g', 'all', OTHER_TRACKER)], [])
  assert.deepEqual([...other.conflictingKeys], [`${OTHER_TRACKER} secret g`])
})

/** An open transaction that has stored a payload. */
async function openWriter({ pool }: Database): Promise<pg.PoolClient> {
  const writer = await pool.connect()
  await writer.query('begin')
  await writer.query(
    `insert into event_payloads
       (tracker_id, event_id, space, created_at, received_on, user_data, click_ids)
     values ($1, 'slow', 0, '2026-11-21', '2026-11-21', '{}', '{}')`,
    [TRACKER_ID],
  )
  return writer
}

/** The database, and a promise of the first check: then the earlier writers are known. */
function watchChecks(database: Database) {
  const checked = Promise.withResolvers<void>()
  const query = async (...statement: [pg.QueryConfig]) => {
    const result = await database.pool.query(...statement)
    if (statement[0].name === 'payload-writers') checked.resolve()
    return result
  }
  const pool = { query } as unknown as pg.Pool
  return { watched: { ...database, pool }, firstCheck: checked.promise }
}

it('waits for current payload writers and not for later ones', async test => {
  const { database } = await createTestDatabase(test)
  const writer = await openWriter(database)
  let isDone = false
  const { watched, firstCheck } = watchChecks(database)
  const waiting = waitForPayloadWriters(watched).then(result => {
    isDone = result
  })
  await firstCheck
  assert.equal(isDone, false)

  const later = await database.pool.connect()
  await later.query('begin')
  await later.query('lock table event_payloads in row exclusive mode')
  await writer.query('commit')
  await waiting
  assert.equal(isDone, true)
  await later.query('commit')
  writer.release()
  later.release()
})

it('returns false when a writer takes too long', async test => {
  const { database } = await createTestDatabase(test)
  const writer = await openWriter(database)
  assert.equal(await waitForPayloadWriters(database, 0.2), false)
  await writer.query('commit')
  writer.release()
  assert.equal(await waitForPayloadWriters(database, 0.2), true)
})

it('does not wait for backups, reports and reads', async test => {
  const { database } = await createTestDatabase(test)
  const backup = await database.pool.connect()
  await backup.query('begin isolation level repeatable read')
  await backup.query('lock table event_payloads in access share mode')
  await backup.query('select from event_payloads')
  assert.equal(await waitForPayloadWriters(database), true)
  await backup.query('commit')
  backup.release()
})
