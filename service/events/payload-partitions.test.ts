import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ledgerEntry, STORED_AT, storeEntries, TRACKER_ID } from '../../testing/stored-events.ts'
import { testStore } from '../../testing/test-store.ts'
import type { Database } from '../db/database.ts'
import { ensurePartitions } from './partition-store.ts'
import { findEventsById } from './store.ts'

const DAY_MILLISECONDS = 86_400_000

async function partitions({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'event_payloads'::regclass order by 1`,
  )
  return rows.map(row => row.name)
}

async function homeOf({ pool }: Database, eventId: string): Promise<string> {
  const { rows } = await pool.query(
    'select tableoid::regclass::text as name from event_payloads where event_id = $1',
    [eventId],
  )
  return rows[0].name
}

it('makes one partition a day, also across the end of a month, and makes it once', async test => {
  const { database } = await testStore(test)
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

it('lets several processes do it at the same moment', async test => {
  const { database } = await testStore(test)
  const calls = Array.from({ length: 4 }, () => ensurePartitions(database, STORED_AT, 5))
  await Promise.all(calls)
  assert.equal((await partitions(database)).length, 6)
})

it('keeps each payload in the partition of the UTC day on which it came', async test => {
  const { database } = await testStore(test)
  await ensurePartitions(database, STORED_AT, 2)
  const lastMoment = new Date('2026-11-21T23:59:59.999Z')
  const nextMoment = new Date('2026-11-22T00:00:00.000Z')
  await storeEntries(database, [
    ledgerEntry({ eventId: 'late', createdAt: lastMoment }),
    ledgerEntry({ eventId: 'early', createdAt: nextMoment }),
    ledgerEntry({ eventId: 'next-month', createdAt: new Date('2026-12-24T00:00:00Z') }),
  ])
  assert.equal(await homeOf(database, 'late'), 'event_payloads_2026_11_21')
  assert.equal(await homeOf(database, 'early'), 'event_payloads_2026_11_22')
  assert.equal(await homeOf(database, 'next-month'), 'event_payloads_default')
  const found = await findEventsById(database, TRACKER_ID, ['late', 'early', 'next-month'])
  assert.deepEqual(
    found.map(({ payload }) => payload?.digests),
    Array.from({ length: 3 }, () => ({ em: ['e'.repeat(64)] })),
  )
})

it('leaves a day alone whose rows already lie in the default partition', async test => {
  const { database } = await testStore(test)
  await storeEntries(database, [ledgerEntry({ eventId: 'stray' })])
  await ensurePartitions(database, STORED_AT, 2)
  assert.deepEqual(await partitions(database), [
    'event_payloads_2026_11_22',
    'event_payloads_default',
  ])
  await storeEntries(database, [ledgerEntry({ eventId: 'second' })])
  assert.equal(await homeOf(database, 'stray'), 'event_payloads_default')
  assert.equal(await homeOf(database, 'second'), 'event_payloads_default')
  assert.equal((await findEventsById(database, TRACKER_ID, ['stray', 'second'])).length, 2)
})

it('waits for no backup: what cannot be locked is made by a later call', async test => {
  const { database } = await testStore(test)
  const backup = await database.pool.connect()
  try {
    await backup.query('begin')
    await backup.query('lock table event_payloads, event_payloads_default in access share mode')
    await ensurePartitions(database, STORED_AT, 2)
    assert.deepEqual(await partitions(database), ['event_payloads_default'])
    await storeEntries(database, [ledgerEntry({ eventId: 'meanwhile' })])
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

it('gives a dropped day back as events without identity', async test => {
  const { database } = await testStore(test)
  await ensurePartitions(database, STORED_AT, 1)
  await storeEntries(database, [ledgerEntry()])
  await database.pool.query('drop table event_payloads_2026_11_21')
  const [event] = await findEventsById(database, TRACKER_ID, ['event-1'])
  assert.equal(event?.payload, null)
  assert.equal(event?.valueAmount, '19.90')
})
