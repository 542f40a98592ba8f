import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { sampleStoredEvent } from '../../../testing/fixtures/sample-events.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import type { Database } from '../../runtime/db/database.ts'
import { PAYLOAD_RETENTION_DAYS_MIN } from '../../runtime/settings/settings.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { windowEnd } from '../delivery/review-deliveries.ts'
import { findEventsById } from '../events/event-store.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { metaPlatform } from '../platforms/meta/client.ts'
import { expirePayloads } from './expire-payloads.ts'

const PAYLOAD_DAYS = 90
/** The last millisecond of the ninetieth day after `STORED_AT`, and the start of the next day. */
const LAST_MOMENT = new Date('2027-02-19T23:59:59.999Z')
const NEXT_DAY = new Date('2027-02-20T00:00:00.000Z')
const NOTHING = { partitions: 0, rows: 0, more: false, isLocked: false }

function expire(database: Database, now: Date, batchesMax = 100) {
  return expirePayloads({ database, now, payloadDays: PAYLOAD_DAYS, batchesMax })
}

/** A store with one tracker. */
async function storeWithTracker(test: TestContext) {
  const store = await createTestDatabase(test)
  await insertTrackerWithWorkspace(store.database, { id: TRACKER_ID, createdAt: STORED_AT })
  return store
}

async function partitions({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'event_payloads'::regclass order by 1`,
  )
  return rows.map(({ name }) => name.replace('event_payloads_', ''))
}

async function withPayload(database: Database, ids: readonly string[]): Promise<string[]> {
  const events = await findEventsById(database, TRACKER_ID, ids)
  assert.equal(events.length, ids.length)
  return events.flatMap(({ eventId, payload }) => (payload ? [eventId] : [])).sort()
}

const TIMES = {
  before: new Date('2026-11-20T23:59:59.999Z'),
  first: new Date('2026-11-21T00:00:00.000Z'),
  last: new Date('2026-11-21T23:59:59.999Z'),
  next: new Date('2026-11-22T00:00:00.000Z'),
}

async function storeEventsAtTimes(database: Database): Promise<void> {
  const entries = Object.entries(TIMES).map(([eventId, createdAt]) => {
    const session = { visitorId: eventId, landingSource: null, clickIds: {} }
    const payload = { visitorId: eventId, identityMark: 'm', digests: {}, plain: {}, clickIds: {} }
    return ledgerEntry({ eventId, createdAt, payload, session })
  })
  await storeEntries(database, entries)
}

it('keeps payloads for exactly ninety days', async test => {
  const { database } = await storeWithTracker(test)
  await ensurePartitions(database, TIMES.before, 3)
  await storeEventsAtTimes(database)
  const ids = Object.keys(TIMES)

  assert.deepEqual(await expire(database, LAST_MOMENT), { ...NOTHING, partitions: 1, rows: 1 })
  assert.deepEqual(await withPayload(database, ids), ['first', 'last', 'next'])
  assert.deepEqual(await expire(database, LAST_MOMENT), NOTHING)

  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, partitions: 1, rows: 2 })
  assert.deepEqual(await withPayload(database, ids), ['next'])
  assert.deepEqual(await partitions(database), ['2026_11_22', 'default'])
})

it('keeps payloads in the default partition for the same ninety days', async test => {
  const { database } = await storeWithTracker(test)
  await storeEventsAtTimes(database)
  const ids = Object.keys(TIMES)
  assert.deepEqual(await expire(database, LAST_MOMENT), { ...NOTHING, rows: 2 })
  assert.deepEqual(await withPayload(database, ids), ['first', 'last', 'next'])
  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 4 })
  assert.deepEqual(await withPayload(database, ids), ['next'])
})

it('deletes only sessions without a visit in that time', async test => {
  const { database } = await storeWithTracker(test)
  const session = { visitorId: 'loyal', landingSource: null, clickIds: {} }
  await storeEventsAtTimes(database)
  await storeEntries(database, [
    ledgerEntry({ eventId: 'first-visit', session }),
    ledgerEntry({ eventId: 'second-visit', createdAt: TIMES.next, session }),
  ])
  await expire(database, NEXT_DAY)
  const { rows } = await database.pool.query('select visitor_id from sessions order by 1')
  assert.deepEqual(
    rows.map(({ visitor_id }) => visitor_id),
    ['loyal', 'next'],
  )
})

it('keeps withdrawals, erased identifiers and the event itself', async test => {
  const { database } = await storeWithTracker(test)
  await storeEntries(database, [ledgerEntry({ withdrawnKeys: ['visitor-1'] })])
  await database.pool.query(`insert into erased_identifiers values ($1, '\\x01', $2)`, [
    TRACKER_ID,
    STORED_AT,
  ])
  await expire(database, new Date(NEXT_DAY.getTime() + 1_000 * DAY_MILLISECONDS))
  const { rows } = await database.pool.query(
    `select (select count(*) from consent_withdrawals) as withdrawals,
       (select count(*) from erased_identifiers) as erased`,
  )
  assert.deepEqual(rows, [{ withdrawals: 1, erased: 1 }])
  const [event] = await findEventsById(database, TRACKER_ID, ['event-1'])
  assert.equal(event?.payload, null)
  assert.equal(event?.valueAmount, '19.90')
})

for (const mode of ['access share', 'row exclusive']) {
  it(`skips a locked table (${mode}) until the next run`, async test => {
    const { database } = await storeWithTracker(test)
    await ensurePartitions(database, TIMES.first, 2)
    await storeEventsAtTimes(database)
    const holder = await database.pool.connect()
    try {
      await holder.query('begin')
      await holder.query(`lock table event_payloads in ${mode} mode`)
      const { rows, ...days } = await expire(database, NEXT_DAY)
      assert.deepEqual(days, { partitions: 0, more: false, isLocked: true })
      // A new event is stored without waiting while the lock is still held.
      await storeEntries(database, [ledgerEntry({ eventId: 'concurrent', createdAt: NEXT_DAY })])
      await holder.query('commit')
    } finally {
      holder.release()
    }
    assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, partitions: 1 })
    assert.deepEqual(await withPayload(database, ['first', 'last', 'concurrent']), ['concurrent'])
  })
}

it('catches up on missed days over several runs', async test => {
  const { database } = await storeWithTracker(test)
  await ensurePartitions(database, TIMES.first, 40)
  const later = new Date(NEXT_DAY.getTime() + 60 * DAY_MILLISECONDS)
  assert.deepEqual(await expire(database, later), { ...NOTHING, partitions: 31, more: true })
  assert.deepEqual(await expire(database, later), { ...NOTHING, partitions: 9 })
  assert.deepEqual(await expire(database, later), NOTHING)
})

/** Stores `count` payloads in the default partition, and as many sessions. */
async function storeDefaultPartitionPayloads({ pool }: Database, count: number): Promise<void> {
  const values = [TRACKER_ID, STORED_AT, count]
  await pool.query(
    `insert into event_payloads (tracker_id, event_id, space, created_at, received_on, user_data,
       click_ids)
     select $1, 'default-' || number, 0, $2::timestamptz, $2::timestamptz::date, '{}', '{}'
     from generate_series(1, $3::integer) number`,
    values,
  )
  await pool.query(
    `insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
     select $1, 'visitor-' || number, $2, $2, '{}' from generate_series(1, $3::integer) number`,
    values,
  )
}

async function countRemaining({ pool }: Database) {
  const { rows } = await pool.query(
    `select (select count(*) from event_payloads) as payloads,
       (select count(*) from sessions) as sessions`,
  )
  return rows[0]
}

it('continues past sessions to keep, tracker by tracker', async test => {
  const { database } = await storeWithTracker(test)
  const other = '0f000000-0000-4000-8000-000000000000'
  await insertTrackerWithWorkspace(database, {
    id: other,
    createdAt: STORED_AT,
  })
  // In key order: 1,500 expired sessions, 11,000 to keep, and one more expired session.
  for (const trackerId of [TRACKER_ID, other]) {
    await database.pool.query(
      `insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
       select $1::uuid, to_char(number, 'FM00000'), $2::timestamptz,
         case when number <= 1500 or number = 12501 then $2::timestamptz else $3::timestamptz end,
         '{}'
       from generate_series(1, 12501) number`,
      [trackerId, STORED_AT, NEXT_DAY],
    )
  }
  assert.deepEqual(await expire(database, NEXT_DAY, 2), { ...NOTHING, rows: 1_500, more: true })
  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 1_502 })
  assert.deepEqual(await expire(database, NEXT_DAY), NOTHING)
  assert.equal((await countRemaining(database)).sessions, 22_000)
})

it('skips locked payloads and sessions until the next run', async test => {
  const { database } = await storeWithTracker(test)
  await storeDefaultPartitionPayloads(database, 10)
  const holder = await database.pool.connect()
  try {
    await holder.query('begin')
    await holder.query(`select 1 from sessions where visitor_id = 'visitor-3' for update`)
    await holder.query(`select 1 from event_payloads where event_id = 'default-3' for update`)
    assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 18 })
    await holder.query('commit')
  } finally {
    holder.release()
  }
  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 2 })
})

it('stops at its batch limit, reports more, and continues in the next run', async test => {
  const { database } = await storeWithTracker(test)
  await storeDefaultPartitionPayloads(database, 2_500)
  assert.deepEqual(await expire(database, NEXT_DAY, 1), { ...NOTHING, rows: 2_000, more: true })
  assert.deepEqual(await countRemaining(database), { payloads: 1_500, sessions: 1_500 })
  assert.deepEqual(await expire(database, NEXT_DAY, 2), { ...NOTHING, rows: 3_000 })
  assert.deepEqual(await expire(database, NEXT_DAY), NOTHING)
  assert.deepEqual(await countRemaining(database), { payloads: 0, sessions: 0 })
})

it('runs in several processes concurrently', async test => {
  const { database } = await storeWithTracker(test)
  await storeDefaultPartitionPayloads(database, 3_000)
  await ensurePartitions(database, TIMES.before, 1)
  await ensurePartitions(database, TIMES.next, 5)
  const later = new Date(NEXT_DAY.getTime() + 30 * DAY_MILLISECONDS)
  const runs = await Promise.all(Array.from({ length: 4 }, () => expire(database, later)))
  await expire(database, later)
  assert.ok(runs.every(({ more }) => !more))
  assert.equal(
    runs.reduce((sum, { rows }) => sum + rows, 0),
    6_000,
  )
  assert.deepEqual(await countRemaining(database), { payloads: 0, sessions: 0 })
  assert.deepEqual(await partitions(database), ['default'])
})

it('has a minimum retention that covers the delivery window of the platform', () => {
  const platform = metaPlatform({
    baseUrl: 'http://x',
    version: 'v1.0',
    timeoutMilliseconds: 1,
    now: () => new Date(),
  })
  const eventTime = new Date(STORED_AT.getTime() + 300_000)
  const event = sampleStoredEvent(eventTime, { actionSource: 'physical_store' })
  const keptUntil = STORED_AT.getTime() + PAYLOAD_RETENTION_DAYS_MIN * DAY_MILLISECONDS
  assert.ok(windowEnd(event, platform).getTime() < keptUntil)
})
