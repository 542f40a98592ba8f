import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { bareStoredEvent } from '../../testing/bare-stored-event.ts'
import { ledgerEntry, STORED_AT, storeEntries, TRACKER_ID } from '../../testing/stored-events.ts'
import { testStore } from '../../testing/test-store.ts'
import { insertTrackerWithWorkspace } from '../../testing/tracker-fixture.ts'
import type { Database } from '../db/database.ts'
import { windowEnd } from '../delivery/review-deliveries.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { findEventsById } from '../events/store.ts'
import { metaPlatform } from '../platforms/meta/client.ts'
import { PAYLOAD_RETENTION_DAYS_MIN } from '../settings/settings.ts'
import { expirePayloads } from './expire-payloads.ts'

const DAY_MILLISECONDS = 86_400_000
const PAYLOAD_DAYS = 90
/** The last moment and the first of the day after, ninety days after `STORED_AT`. */
const LAST_MOMENT = new Date('2027-02-19T23:59:59.999Z')
const NEXT_DAY = new Date('2027-02-20T00:00:00.000Z')
const NOTHING = { partitions: 0, rows: 0, more: false, isHeld: false }

function expire(database: Database, now: Date, batchesMax = 100) {
  return expirePayloads({ database, now, payloadDays: PAYLOAD_DAYS, batchesMax })
}

/** A store with the tracker whose events and sessions are stored. */
async function storeOfTracker(test: TestContext) {
  const store = await testStore(test)
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

const MOMENTS = {
  before: new Date('2026-11-20T23:59:59.999Z'),
  first: new Date('2026-11-21T00:00:00.000Z'),
  last: new Date('2026-11-21T23:59:59.999Z'),
  next: new Date('2026-11-22T00:00:00.000Z'),
}

async function storeAtMoments(database: Database): Promise<void> {
  const entries = Object.entries(MOMENTS).map(([eventId, createdAt]) => {
    const session = { visitorId: eventId, landingSource: null, clickIds: {} }
    const payload = { visitorId: eventId, digests: {}, plain: {}, clickIds: {} }
    return ledgerEntry({ eventId, createdAt, payload, session })
  })
  await storeEntries(database, entries)
}

it('keeps the payload of a day for ninety days, to the last moment, and not a day longer', async test => {
  const { database } = await storeOfTracker(test)
  await ensurePartitions(database, MOMENTS.before, 3)
  await storeAtMoments(database)
  const ids = Object.keys(MOMENTS)

  assert.deepEqual(await expire(database, LAST_MOMENT), { ...NOTHING, partitions: 1, rows: 1 })
  assert.deepEqual(await withPayload(database, ids), ['first', 'last', 'next'])
  assert.deepEqual(await expire(database, LAST_MOMENT), NOTHING)

  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, partitions: 1, rows: 2 })
  assert.deepEqual(await withPayload(database, ids), ['next'])
  assert.deepEqual(await partitions(database), ['2026_11_22', 'default'])
})

it('keeps to the same days where there was no partition', async test => {
  const { database } = await storeOfTracker(test)
  await storeAtMoments(database)
  const ids = Object.keys(MOMENTS)
  assert.deepEqual(await expire(database, LAST_MOMENT), { ...NOTHING, rows: 2 })
  assert.deepEqual(await withPayload(database, ids), ['first', 'last', 'next'])
  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 4 })
  assert.deepEqual(await withPayload(database, ids), ['next'])
})

it('forgets a session that was not seen for as long, and no other', async test => {
  const { database } = await storeOfTracker(test)
  const session = { visitorId: 'loyal', landingSource: null, clickIds: {} }
  await storeAtMoments(database)
  await storeEntries(database, [
    ledgerEntry({ eventId: 'first-visit', session }),
    ledgerEntry({ eventId: 'second-visit', createdAt: MOMENTS.next, session }),
  ])
  await expire(database, NEXT_DAY)
  const { rows } = await database.pool.query('select visitor_id from sessions order by 1')
  assert.deepEqual(
    rows.map(({ visitor_id }) => visitor_id),
    ['loyal', 'next'],
  )
})

it('keeps what stops identity from coming back, and what the ledger says', async test => {
  const { database } = await storeOfTracker(test)
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
  it(`skips a table that is held (${mode}), and takes it up later`, async test => {
    const { database } = await storeOfTracker(test)
    await ensurePartitions(database, MOMENTS.first, 2)
    await storeAtMoments(database)
    const holder = await database.pool.connect()
    try {
      await holder.query('begin')
      await holder.query(`lock table event_payloads in ${mode} mode`)
      const { rows, ...days } = await expire(database, NEXT_DAY)
      assert.deepEqual(days, { partitions: 0, more: false, isHeld: true })
      // An event that is stored afterwards does not wait, while the holder still holds it.
      await storeEntries(database, [ledgerEntry({ eventId: 'meanwhile', createdAt: NEXT_DAY })])
      await holder.query('commit')
    } finally {
      holder.release()
    }
    assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, partitions: 1 })
    assert.deepEqual(await withPayload(database, ['first', 'last', 'meanwhile']), ['meanwhile'])
  })
}

it('makes up for missed days and goes on where it stopped', async test => {
  const { database } = await storeOfTracker(test)
  await ensurePartitions(database, MOMENTS.first, 40)
  const later = new Date(NEXT_DAY.getTime() + 60 * DAY_MILLISECONDS)
  assert.deepEqual(await expire(database, later), { ...NOTHING, partitions: 31, more: true })
  assert.deepEqual(await expire(database, later), { ...NOTHING, partitions: 9 })
  assert.deepEqual(await expire(database, later), NOTHING)
})

/** So many payloads in the default partition, and as many sessions. */
async function storeStrays({ pool }: Database, count: number): Promise<void> {
  const values = [TRACKER_ID, STORED_AT, count]
  await pool.query(
    `insert into event_payloads (tracker_id, event_id, space, created_at, received_on, user_data,
       click_ids)
     select $1, 'stray-' || number, 0, $2::timestamptz, $2::timestamptz::date, '{}', '{}'
     from generate_series(1, $3::integer) number`,
    values,
  )
  await pool.query(
    `insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
     select $1, 'visitor-' || number, $2, $2, '{}' from generate_series(1, $3::integer) number`,
    values,
  )
}

async function countLeft({ pool }: Database) {
  const { rows } = await pool.query(
    `select (select count(*) from event_payloads) as payloads,
       (select count(*) from sessions) as sessions`,
  )
  return rows[0]
}

it('goes on behind sessions that stay, tracker by tracker', async test => {
  const { database } = await storeOfTracker(test)
  const other = '0f000000-0000-4000-8000-000000000000'
  await insertTrackerWithWorkspace(database, {
    id: other,
    createdAt: STORED_AT,
  })
  // In the order of the key: 1,500 that go, 11,000 that stay, and one more that goes.
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
  assert.equal((await countLeft(database)).sessions, 22_000)
})

it('leaves strays and sessions that others hold, and takes them up later', async test => {
  const { database } = await storeOfTracker(test)
  await storeStrays(database, 10)
  const holder = await database.pool.connect()
  try {
    await holder.query('begin')
    await holder.query(`select 1 from sessions where visitor_id = 'visitor-3' for update`)
    await holder.query(`select 1 from event_payloads where event_id = 'stray-3' for update`)
    assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 18 })
    await holder.query('commit')
  } finally {
    holder.release()
  }
  assert.deepEqual(await expire(database, NEXT_DAY), { ...NOTHING, rows: 2 })
})

it('stops at its limit, says that there is more, and the next run goes on', async test => {
  const { database } = await storeOfTracker(test)
  await storeStrays(database, 2_500)
  assert.deepEqual(await expire(database, NEXT_DAY, 1), { ...NOTHING, rows: 2_000, more: true })
  assert.deepEqual(await countLeft(database), { payloads: 1_500, sessions: 1_500 })
  assert.deepEqual(await expire(database, NEXT_DAY, 2), { ...NOTHING, rows: 3_000 })
  assert.deepEqual(await expire(database, NEXT_DAY), NOTHING)
  assert.deepEqual(await countLeft(database), { payloads: 0, sessions: 0 })
})

it('lets several processes do it at the same moment', async test => {
  const { database } = await storeOfTracker(test)
  await storeStrays(database, 3_000)
  await ensurePartitions(database, MOMENTS.before, 1)
  await ensurePartitions(database, MOMENTS.next, 5)
  const later = new Date(NEXT_DAY.getTime() + 30 * DAY_MILLISECONDS)
  const runs = await Promise.all(Array.from({ length: 4 }, () => expire(database, later)))
  await expire(database, later)
  assert.ok(runs.every(({ more }) => !more))
  assert.equal(
    runs.reduce((sum, { rows }) => sum + rows, 0),
    6_000,
  )
  assert.deepEqual(await countLeft(database), { payloads: 0, sessions: 0 })
  assert.deepEqual(await partitions(database), ['default'])
})

it('is never set so short that an event loses its payload while the platform would take it', () => {
  const platform = metaPlatform({
    baseUrl: 'http://x',
    version: 'v1.0',
    timeoutMilliseconds: 1,
    now: () => new Date(),
  })
  const eventTime = new Date(STORED_AT.getTime() + 300_000)
  const event = bareStoredEvent(eventTime, { actionSource: 'physical_store' })
  const keptUntil = STORED_AT.getTime() + PAYLOAD_RETENTION_DAYS_MIN * DAY_MILLISECONDS
  assert.ok(windowEnd(event, platform).getTime() < keptUntil)
})
