import assert from 'node:assert/strict'
import { it } from 'node:test'
import type pg from 'pg'
import { ledgerEntry, STORED_AT, storeEntries, TRACKER_ID } from '../../testing/stored-events.ts'
import { testStore } from '../../testing/test-store.ts'
import type { Database } from '../db/database.ts'
import { insertEvents } from '../ingestion/store.ts'
import {
  findSuppressedDigests,
  findTrackersWithErasures,
  suppressDigest,
  waitForPayloadWriters,
} from './suppression-store.ts'

const KEYED = 'ab'.repeat(32)
const OTHER_TRACKER = '0190aaaa-0000-7000-8000-000000000002'

function suppress(database: Database): Promise<void> {
  return suppressDigest(database, { trackerId: TRACKER_ID, keyed: KEYED, at: STORED_AT })
}

it('knows what was suppressed, by tracker, and takes it twice', async test => {
  const { database } = await testStore(test)
  assert.deepEqual(await findTrackersWithErasures(database, [TRACKER_ID]), new Set())
  await Promise.all([suppress(database), suppress(database)])
  const asked = [TRACKER_ID, OTHER_TRACKER].map(trackerId => ({ trackerId, keyed: KEYED }))
  assert.deepEqual(
    await findSuppressedDigests(database, asked),
    new Set([`${TRACKER_ID} ${KEYED}`]),
  )
  const trackers = [TRACKER_ID, OTHER_TRACKER]
  assert.deepEqual(await findTrackersWithErasures(database, trackers), new Set([TRACKER_ID]))
})

it('leaves an entry out that presumes too much, and says which', async test => {
  const { database } = await testStore(test)
  await suppress(database)
  const entries = [
    ledgerEntry({ eventId: 'a', assumedNotErased: 'all' }),
    ledgerEntry({ eventId: 'b', assumedNotErased: ['cd'.repeat(32), KEYED] }),
    ledgerEntry({ eventId: 'c', assumedNotErased: ['cd'.repeat(32)] }),
    ledgerEntry({ eventId: 'd', assumedNotErased: [] }),
  ]
  // The first one is asked for by its tracker, and the others are of the same one.
  const alone = await insertEvents(database, entries.slice(0, 1), [])
  assert.deepEqual([...alone.conflictingKeys], [`${TRACKER_ID} secret a`])
  const { newKeys: inserted, conflictingKeys: misjudged } = await insertEvents(
    database,
    entries.slice(1),
    [],
  )
  assert.deepEqual([...inserted], [`${TRACKER_ID} secret c`, `${TRACKER_ID} secret d`])
  assert.deepEqual([...misjudged], [`${TRACKER_ID} secret b`])
  const elsewhere = ledgerEntry({ trackerId: OTHER_TRACKER, assumedNotErased: 'all' })
  assert.deepEqual(await storeEntries(database, [elsewhere]), ['event-1'])
})

/** A transaction that has stored a payload and is not committed. */
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

/** The same store, and when it is first asked to pause: those before are known by then. */
function watchedPauses(database: Database) {
  const paused = Promise.withResolvers<void>()
  const query = (...statement: unknown[]) => {
    if (String(statement[0]).includes('pg_sleep')) paused.resolve()
    return database.pool.query(...(statement as [string]))
  }
  const pool = { query } as unknown as pg.Pool
  return { watched: { ...database, pool }, firstPause: paused.promise }
}

it('waits for writers of payloads at that moment, and for none that begins later', async test => {
  const { database } = await testStore(test)
  const writer = await openWriter(database)
  let isOver = false
  const { watched, firstPause } = watchedPauses(database)
  const waiting = waitForPayloadWriters(watched).then(result => {
    isOver = result
  })
  await firstPause
  assert.equal(isOver, false)

  const later = await database.pool.connect()
  await later.query('begin')
  await later.query('lock table event_payloads in row exclusive mode')
  await writer.query('commit')
  await waiting
  assert.equal(isOver, true)
  await later.query('commit')
  writer.release()
  later.release()
})

it('gives up waiting for a writer that takes too long', async test => {
  const { database } = await testStore(test)
  const writer = await openWriter(database)
  assert.equal(await waitForPayloadWriters(database, 0.2), false)
  await writer.query('commit')
  writer.release()
  assert.equal(await waitForPayloadWriters(database, 0.2), true)
})

it('does not wait for backups, reports and reads', async test => {
  const { database } = await testStore(test)
  const backup = await database.pool.connect()
  await backup.query('begin isolation level repeatable read')
  await backup.query('lock table event_payloads in access share mode')
  await backup.query('select from event_payloads')
  assert.equal(await waitForPayloadWriters(database), true)
  await backup.query('commit')
  backup.release()
})
