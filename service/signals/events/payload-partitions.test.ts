import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { findEventsById } from './event-store.ts'
import { ensurePartitions } from './partition-store.ts'

async function partitions({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'event_payloads'::regclass order by 1`,
  )
  return rows.map(row => row.name)
}

async function findPartition({ pool }: Database, eventId: string): Promise<string> {
  const { rows } = await pool.query(
    'select tableoid::regclass::text as name from event_payloads where event_id = $1',
    [eventId],
  )
  return rows[0].name
}

it('creates one partition per day once, also across the end of a month', async test => {
  const { database } = await createTestDatabase(test)
  const from = new Date('2026-11-29T23:59:59.999Z')
  const expected = [
    'event_payloads_2026_11_29',
    'event_payloads_2026_11_30',
    'event_payloads_2026_12_01',
    'event_payloads_default',
  ]
  await ensurePartitions(database, from, 3)
  assert.deepEqual(await partitions(database), expected)
  await ensurePartitions(database, from, 3)
  assert.deepEqual(await partitions(database), expected)
})

it('runs in several processes concurrently', async test => {
  const { database } = await createTestDatabase(test)
  const calls = Array.from({ length: 4 }, () => ensurePartitions(database, STORED_AT, 5))
  await Promise.all(calls)
  assert.equal((await partitions(database)).length, 6)
})

it('stores each payload in the partition of its UTC day of receipt', async test => {
  const { database } = await createTestDatabase(test)
  await ensurePartitions(database, STORED_AT, 2)
  const endOfDay = new Date('2026-11-21T23:59:59.999Z')
  const startOfNextDay = new Date('2026-11-22T00:00:00.000Z')
  await storeEntries(database, [
    ledgerEntry({ eventId: 'late', createdAt: endOfDay }),
    ledgerEntry({ eventId: 'early', createdAt: startOfNextDay }),
    ledgerEntry({ eventId: 'next-month', createdAt: new Date('2026-12-24T00:00:00Z') }),
  ])
  assert.equal(await findPartition(database, 'late'), 'event_payloads_2026_11_21')
  assert.equal(await findPartition(database, 'early'), 'event_payloads_2026_11_22')
  assert.equal(await findPartition(database, 'next-month'), 'event_payloads_default')
  const found = await findEventsById(database, TRACKER_ID, ['late', 'early', 'next-month'])
  assert.deepEqual(
    found.map(({ payload }) => payload?.digests),
    Array.from({ length: 3 }, () => ({ em: ['e'.repeat(64)] })),
  )
})

it('creates no partition for a day with rows in the default partition', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [ledgerEntry({ eventId: 'first' })])
  await ensurePartitions(database, STORED_AT, 2)
  assert.deepEqual(await partitions(database), [
    'event_payloads_2026_11_22',
    'event_payloads_default',
  ])
  await storeEntries(database, [ledgerEntry({ eventId: 'second' })])
  assert.equal(await findPartition(database, 'first'), 'event_payloads_default')
  assert.equal(await findPartition(database, 'second'), 'event_payloads_default')
  assert.equal((await findEventsById(database, TRACKER_ID, ['first', 'second'])).length, 2)
})

it('leaves partitions of a table that a backup locks to a later call', async test => {
  const { database } = await createTestDatabase(test)
  const backup = await database.pool.connect()
  try {
    await backup.query('begin')
    await backup.query('lock table event_payloads, event_payloads_default in access share mode')
    await ensurePartitions(database, STORED_AT, 2)
    assert.deepEqual(await partitions(database), ['event_payloads_default'])
    await storeEntries(database, [ledgerEntry({ eventId: 'concurrent' })])
    await backup.query('commit')
  } finally {
    backup.release()
  }

  const tomorrow = new Date(STORED_AT.getTime() + DAY_MILLISECONDS)
  await ensurePartitions(database, tomorrow, 1)
  assert.deepEqual(await partitions(database), [
    'event_payloads_2026_11_22',
    'event_payloads_default',
  ])
})

it('returns events of a dropped partition without identity', async test => {
  const { database } = await createTestDatabase(test)
  await ensurePartitions(database, STORED_AT, 1)
  await storeEntries(database, [ledgerEntry()])
  await database.pool.query('drop table event_payloads_2026_11_21')
  const [event] = await findEventsById(database, TRACKER_ID, ['event-1'])
  assert.equal(event?.payload, null)
  assert.equal(event?.valueAmount, '19.90')
})
