import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type pg from 'pg'
import { countLockWaiters, runSimultaneously } from '../../../testing/concurrency/lock-barrier.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  assertExactPages,
  assertExactPagesNow,
  indexDay,
  storeEventRun,
} from '../../../testing/fixtures/event-lists.ts'
import { ledgerEntry, storeEntries, TRACKER_ID } from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { type Database, openDatabase } from '../../runtime/db/database.ts'
import { deleteCounts, deleteEventBatch } from '../retention/retention-store.ts'
import {
  countInsertedEvents,
  findUnindexedDays,
  indexPositions,
  POSITION_INTERVAL,
} from './list-position-store.ts'

const DAY = '2026-11-21'
const TRACKER_DAY = { trackerId: TRACKER_ID, day: DAY }
const NOON = new Date(`${DAY}T12:00:00.000Z`)

function minutes(count: number): Date {
  return new Date(NOON.getTime() + count * 60_000)
}

/** Stores a large day, which gets positions, between two small ones. */
async function storeDays(database: Database, count: number): Promise<void> {
  const days = [
    { prefix: 'a', count: 40, from: minutes(-24 * 60) },
    { prefix: 'b', count, from: NOON },
    { prefix: 'c', count: 30, from: minutes(24 * 60) },
  ]
  for (const day of days) await storeEventRun(database, { ...day, stepMilliseconds: 5 })
}

async function readPositions({ pool }: Database): Promise<number[]> {
  const { rows } = await pool.query('select position from list_positions order by position')
  return rows.map(({ position }) => position)
}

function multiples(count: number): number[] {
  return Array.from({ length: count }, (_, index) => (index + 1) * POSITION_INTERVAL)
}

it('lists exact pages of every size with no, some and all positions', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 3_333)
  const assertPages = async () => {
    for (const page of [{ perPage: 7 }, { perPage: 25 }, { perPage: 100 }]) {
      await assertExactPages(database, page)
    }
    await assertExactPages(database, { perPage: 1, every: 61 })
  }
  await assertPages()
  assert.deepEqual(await indexPositions(database, TRACKER_DAY, 4), { positions: 4, hasMore: true })
  await assertPages()
  assert.equal(await indexDay(database, TRACKER_DAY, 2), 9)
  assert.deepEqual(await readPositions(database), multiples(13))
  await assertPages()
  await storeEventRun(database, { prefix: 'd', count: 700, from: minutes(1), stepMilliseconds: 1 })
  await assertPages()
})

it('stores positions that match a count from the oldest event', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 2_000)
  await indexDay(database, TRACKER_DAY, 2)
  const { rows } = await database.pool.query(
    `select position, kept.event_id, sorted.event_id as expected
     from list_positions kept join (
       select event_id, row_number() over (order by created_at, event_id) as position
       from events where created_at::date = $1::date
     ) sorted using (position)`,
    [DAY],
  )
  assert.equal(rows.length, 8)
  for (const { event_id, expected } of rows) assert.equal(event_id, expected)
})

it('lists exact pages when an older event is committed after positions were written', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 2_600)
  await indexDay(database, TRACKER_DAY)
  const late = ledgerEntry({ eventId: 'late', createdAt: new Date(NOON.getTime() + 5_000) })
  assert.deepEqual(await storeEntries(database, [late]), ['late'])
  await assertExactPages(database, { perPage: 25 })
  // Positions before the late event stay valid: 1,000 events precede it.
  assert.equal(await indexDay(database, TRACKER_DAY), 6)
  assert.deepEqual(await readPositions(database), multiples(10))
  await assertExactPages(database, { perPage: 25 })
})

/** A counter shard without a count of the day. */
const UNUSED_SHARD = 20

async function storeEvent(client: pg.PoolClient, eventId: string, createdAt: Date): Promise<void> {
  await client.query(
    `insert into events select (event).* from (
       select jsonb_populate_record(
         events, jsonb_build_object('event_id', $1::text, 'created_at', $2::timestamptz)) as event
       from events limit 1
     ) copied`,
    [eventId, createdAt],
  )
}

async function countEvent(client: pg.PoolClient, eventId: string): Promise<void> {
  await client.query(
    `with accepted as (select tracker_id, event_id, created_at from events where event_id = $1),
       counted as (${countInsertedEvents('accepted')}) select 1 as done`,
    [eventId],
  )
}

it('invalidates positions when an event is stored before and counted after they are written', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 1_000)
  await indexDay(database, TRACKER_DAY)
  const client = await database.pool.connect()
  await client.query('begin')
  await storeEvent(client, 'late', NOON)
  await indexDay(database, TRACKER_DAY)
  await countEvent(client, 'late')
  await client.query('commit')
  client.release()
  await assertExactPages(database, { perPage: 25 })
  await indexDay(database, TRACKER_DAY)
  await assertExactPages(database, { perPage: 25 })
})

it('does not reset a count inserted after the counts were locked', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await storeDays(database, 1_000)
  await indexDay(database, TRACKER_DAY)
  const writer = pausedDatabase(test, connectionString, 'delete from list_positions')
  const indexed = indexDay(writer.database, TRACKER_DAY)
  await writer.reached

  const client = await database.pool.connect()
  for (const [eventId, createdAt] of [
    ['first of its shard', minutes(1)],
    ['late', NOON],
  ] as const) {
    await client.query('begin')
    await storeEvent(client, eventId, createdAt)
    await client.query(
      `insert into event_counts (tracker_id, received_on, slot, events, unindexed_since)
       values ($1, $2, $3, 1, $4) on conflict (tracker_id, received_on, slot) do update
         set events = 2, unindexed_since = excluded.unindexed_since`,
      [TRACKER_ID, DAY, UNUSED_SHARD, createdAt],
    )
    if (eventId !== 'late') await client.query('commit')
  }
  writer.resume()
  let hasEnded = false
  void indexed.finally(() => (hasEnded = true))
  await waitUntil('the run waits or has ended', async () => {
    return hasEnded || (await countLockWaiters(database)) > 0
  })
  await client.query('commit')
  client.release()
  await indexed
  await assertExactPages(database, { perPage: 25 })
})

/** A database with one connection that pauses before a statement until `resume` is called. */
function pausedDatabase(test: TestContext, connectionString: string, statement: string) {
  const database = openDatabase({
    connectionString,
    connectionsMax: 1,
    applicationName: 'paused',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  const reached = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  database.pool.on('connect', client => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    const waiting = async (text: unknown, ...values: unknown[]) => {
      if (String(text).includes(statement)) {
        reached.resolve()
        await gate.promise
      }
      return query(text, ...values)
    }
    client.query = waiting as typeof client.query
  })
  return { database, reached: reached.promise, resume: gate.resolve }
}

it('waits for uncommitted counts and skips the day when that takes too long', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 1_000)
  const client = await database.pool.connect()
  await client.query('begin')
  await storeEventRun(
    { pool: client as unknown as pg.Pool },
    { prefix: 'late', count: 3, from: NOON, stepMilliseconds: 1 },
  )
  assert.deepEqual(await indexPositions(database, TRACKER_DAY), { positions: 0, hasMore: false })
  const waiting = indexPositions(database, TRACKER_DAY)
  await client.query('commit')
  client.release()
  assert.deepEqual(await waiting, { positions: 4, hasMore: false })
  await assertExactPages(database, { perPage: 25 })
})

it('writes each position once when several processes run concurrently', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 2_600)
  const calls = Array.from({ length: 4 }, () => () => indexPositions(database, TRACKER_DAY))
  const written = await runSimultaneously(database, 'event_counts', calls)
  assert.equal(
    written.reduce((sum, { positions }) => sum + positions, 0),
    10,
  )
  assert.deepEqual(await readPositions(database), multiples(10))
  await assertExactPages(database, { perPage: 25 })
})

it('lists exact pages during acceptance and concurrent indexing', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 1_000)
  let accepting = 4
  const accept = async (process: number) => {
    for (let group = 0; group < 15; group += 1) {
      // Each group starts before the last group of the others, as after a delay.
      const from = new Date(NOON.getTime() + (process + group) * 400)
      const prefix = `${process}-${group}-`
      await storeEventRun(database, { prefix, count: 60, from, stepMilliseconds: 20 })
    }
    accepting -= 1
  }
  const index = async () => {
    while (accepting > 0) await indexPositions(database, TRACKER_DAY, 2)
  }
  const list = async () => {
    while (accepting > 0) await assertExactPagesNow(database, { perPage: 25, every: 5 })
  }
  await Promise.all([...[0, 1, 2, 3].map(accept), index(), index(), list(), list()])
  await assertExactPages(database, { perPage: 25 })
  await indexDay(database, TRACKER_DAY)
  await assertExactPages(database, { perPage: 25 })
  assert.deepEqual(await readPositions(database), multiples(Math.floor(4_600 / POSITION_INTERVAL)))
})

it('lists exact pages after each expired batch and leaves no positions', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 2_600)
  await indexDay(database, TRACKER_DAY)
  const cutoffDay = '2026-11-22'
  const batch = { trackerId: TRACKER_ID, cutoffDay, after: null }
  for (const expired of [1_000, 1_000, 640]) {
    assert.equal((await deleteEventBatch(database, 'events_default', batch)).events, expired)
    await assertExactPages(database, { perPage: 25 })
  }
  await deleteCounts(database, TRACKER_ID, cutoffDay)
  assert.deepEqual(await readPositions(database), [])
})

it('finds days with new events until their positions are written', async test => {
  const { database } = await createTestDatabase(test)
  await storeDays(database, 2_600)
  assert.deepEqual(await findUnindexedDays(database), [TRACKER_DAY])
  await indexPositions(database, TRACKER_DAY, 4)
  assert.deepEqual(await findUnindexedDays(database), [TRACKER_DAY])
  await indexDay(database, TRACKER_DAY)
  assert.deepEqual(await findUnindexedDays(database), [])
  await storeEventRun(database, { prefix: 'd', count: 1, from: minutes(1), stepMilliseconds: 1 })
  assert.deepEqual(await findUnindexedDays(database), [TRACKER_DAY])
})
