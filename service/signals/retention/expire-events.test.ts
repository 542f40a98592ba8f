import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { finishDeliveries } from '../../../testing/fixtures/deliveries.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  ledgerEntry,
  plannedDelivery,
  storeEntries,
} from '../../../testing/fixtures/stored-events.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import type { EventRecord } from '../events/event-record.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { expireOldEvents } from './expire-events.ts'
import { detachWeek } from './retention-store.ts'

const LEDGER_MONTHS = 25
/** Twenty-five months later: December 1, 2026 is the first day to keep. */
const NOW = '2029-01-01T12:00:00.000Z'
const OLD_DAYS = ['2026-11-28', '2026-11-29', '2026-11-30'].map(day => new Date(`${day}T23:00:00Z`))
const LAST_MOMENT = new Date('2026-11-30T23:59:59.999Z')
const FIRST_KEPT = new Date('2026-12-01T00:00:00.000Z')
const NOTHING = {
  weeks: 0,
  events: 0,
  deliveries: 0,
  reports: 0,
  more: false,
  isLocked: false,
}

function expire({ database, clock }: TestService, batchesMax = 100) {
  return expireOldEvents({ database, now: clock.now(), ledgerMonths: LEDGER_MONTHS, batchesMax })
}

/** Stores events of the first tracker, one delivery each, spread over the days. */
async function storeEventsOn(
  { database, tracker }: TestService,
  { count, days, prefix = 'old' }: { count: number; days: readonly Date[]; prefix?: string },
): Promise<void> {
  const { trackerId, destinationId } = tracker
  const { rows } = await database.pool.query(
    'select coalesce(max(id), 0) as id from all_deliveries',
  )
  const events: EventRecord[] = []
  const deliveries: PlannedDelivery[] = []
  for (let number = 0; number < count; number += 1) {
    const createdAt = days[number % days.length] as Date
    const base = { trackerId, eventId: `${prefix}-${number}`, createdAt }
    const id = rows[0].id + number + 1
    events.push(ledgerEntry({ ...base, payload: null }))
    deliveries.push(plannedDelivery({ ...base, id, destinationId }))
  }
  await storeEntries(database, events, deliveries)
}

/** The counters and the actual rows, in one snapshot. */
const COUNTS = `
  select
    (select coalesce(sum(events), 0) from event_counts) as counted,
    (select count(*) from events) as events,
    (select coalesce(sum(planned), 0) from delivery_counts) as planned,
    (select count(*) from all_deliveries
     where not is_test and status not like 'skipped:%') as deliveries,
    (select coalesce(sum(accepted), 0) from delivery_counts) as counted_accepted,
    (select count(*) from all_deliveries where not is_test and status = 'accepted') as accepted`

async function assertCountersMatchRows({ database }: TestService): Promise<number> {
  const { rows } = await database.pool.query(COUNTS)
  const [{ counted, events, planned, deliveries, counted_accepted, accepted }] = rows
  assert.deepEqual([counted, planned, counted_accepted], [events, deliveries, accepted])
  return events
}

/** All events of the list, page by page, with the total of each page. */
async function listAll(service: TestService): Promise<{ ids: string[]; totals: number[] }> {
  const ids: string[] = []
  const totals: number[] = []
  for (let page = 1; ; page += 1) {
    const path = `/api/v1/dashboard/events?per_page=100&page=${page}`
    const { body } = await service.request('GET', path)
    ids.push(...body.events.data.map(({ id }: { id: string }) => id))
    totals.push(body.events.total)
    if (page >= body.events.last_page) return { ids, totals }
  }
}

async function agedService(test: TestContext): Promise<TestService> {
  return startTestService(test, { startAt: NOW })
}

it('keeps an event in the default partition for exactly twenty-five months', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 1, days: [LAST_MOMENT], prefix: 'last' })
  await storeEventsOn(service, { count: 1, days: [FIRST_KEPT], prefix: 'first' })
  assert.deepEqual(await expire(service), { ...NOTHING, events: 1, deliveries: 1 })
  assert.equal((await service.read('last-0')).status, 404)
  assert.equal((await service.read('first-0')).status, 200)
  service.clock.advance(11 * 3_600 + 3_599)
  assert.deepEqual(await expire(service), NOTHING)
  service.clock.advance(3_600)
  assert.deepEqual(await expire(service), { ...NOTHING, events: 1, deliveries: 1 })
})

it('keeps lists and totals exact after every batch and leaves no counters of expired days', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 2_300, days: OLD_DAYS })
  await storeEventsOn(service, { count: 150, days: [FIRST_KEPT], prefix: 'kept' })
  const remaining: number[] = []
  for (let more = true; more; ) {
    more = (await expire(service, 1)).more
    remaining.push(await assertCountersMatchRows(service))
    const { ids, totals } = await listAll(service)
    assert.deepEqual(new Set(totals), new Set([remaining.at(-1)]))
    assert.equal(new Set(ids).size, remaining.at(-1))
  }
  assert.deepEqual(remaining, [1_450, 450, 150, 150])
  const { rows } = await service.database.pool.query(
    `select received_on::text as day from event_counts
     union select planned_on::text from delivery_counts`,
  )
  assert.deepEqual(rows, [{ day: '2026-12-01' }])
  assert.deepEqual(await expire(service), NOTHING)
})

it('keeps counters correct while events arrive during expiry', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 3_000, days: OLD_DAYS })
  let isDone = false
  const expiring = expire(service).finally(() => {
    isDone = true
  })
  for (let order = 0; !isDone; order += 1) {
    const { status } = await service.submit(samplePurchase({ event_id: `new-${order}` }))
    assert.equal(status, 202)
    await assertCountersMatchRows(service)
  }
  assert.equal((await expiring).events, 3_000)
  await assertCountersMatchRows(service)
})

it('skips rows that another transaction has locked until the next run', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 1_200, days: OLD_DAYS })
  const holder = await service.database.pool.connect()
  try {
    await holder.query('begin')
    await holder.query(`select from events where event_id in ('old-0', 'old-7') for update`)
    assert.equal((await expire(service)).events, 1_198)
    assert.equal(await assertCountersMatchRows(service), 2)
    await holder.query('rollback')
  } finally {
    holder.release()
  }
  assert.equal((await expire(service)).events, 2)
  assert.equal(await assertCountersMatchRows(service), 0)
})

it('rolls back a batch that fails and continues from there in the next run', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 1_200, days: OLD_DAYS })
  const { pool } = service.database
  await pool.query(
    `create function broken() returns trigger language plpgsql as
     $$ begin raise exception 'connection lost'; end $$`,
  )
  await pool.query(
    `create trigger broken before delete on delivery_queue for each row
     when (old.event_id = 'old-998') execute function broken()`,
  )
  await assert.rejects(expire(service), /connection lost/)
  assert.equal(await assertCountersMatchRows(service), 200)
  await pool.query('drop trigger broken on delivery_queue')
  assert.equal((await expire(service)).events, 200)
  assert.equal(await assertCountersMatchRows(service), 0)
})

describe('events in weekly partitions', () => {
  /** The week of November 23 to 29, and the week that has the first day to keep. */
  const WEEKS = [new Date('2026-11-29T23:59:59.999Z'), new Date('2026-11-30T00:00:00.000Z')]

  async function serviceWithWeeks(test: TestContext): Promise<TestService> {
    const service = await agedService(test)
    await ensurePartitions(service.database, WEEKS[0] as Date, 14)
    await storeEventsOn(service, { count: 20, days: WEEKS })
    await finishDeliveries(service.database, ['old-0', 'old-1'], { status: 'accepted' })
    await service.database.pool.query('update delivery_counts set accepted = accepted + 1')
    return service
  }

  it('drops a weekly partition after its last day expires and deletes its keys', async test => {
    const service = await serviceWithWeeks(test)
    const { pool } = service.database
    await pool.query(`update events set order_id = event_id`)
    await pool.query(
      `insert into order_keys (created_at, tracker_id, order_digest, space)
       select created_at, tracker_id, event_id_digest(event_name || E'\n' || order_id), space
       from events`,
    )
    assert.deepEqual(await expire(service), { ...NOTHING, weeks: 1 })
    assert.equal(await assertCountersMatchRows(service), 10)
    const orders = await pool.query('select count(*) as orders from order_keys')
    assert.deepEqual(orders.rows, [{ orders: 10 }])
    assert.equal((await service.read('old-0')).status, 404)
    assert.equal((await service.read('old-1')).status, 200)
    const { rows } = await service.database.pool.query(
      `select (select count(*) from event_keys) as keys, (select count(*) from pg_class
         where relname like 'expired\\_%' or relname like '%\\_2026\\_11\\_23') as tables`,
    )
    assert.deepEqual(rows, [{ keys: 10, tables: 0 }])
    assert.deepEqual(await expire(service), NOTHING)
    service.clock.advance((6 * DAY_MILLISECONDS) / 1_000)
    assert.deepEqual(await expire(service), { ...NOTHING, weeks: 1 })
    assert.equal(await assertCountersMatchRows(service), 0)
  })

  it('accepts an event ID of a dropped week again', async test => {
    const service = await serviceWithWeeks(test)
    assert.equal((await service.submit(samplePurchase({ event_id: 'old-0' }))).status, 200)
    await expire(service)
    assert.equal((await service.submit(samplePurchase({ event_id: 'old-0' }))).status, 202)
  })

  it('deletes the keys of a week that an interrupted run had detached', async test => {
    const service = await serviceWithWeeks(test)
    assert.equal(await detachWeek(service.database, '2026-11-23'), true)
    assert.equal(await assertCountersMatchRows(service), 10)
    assert.deepEqual(await expire(service), NOTHING)
    const { rows } = await service.database.pool.query('select count(*) as keys from event_keys')
    assert.deepEqual(rows, [{ keys: 10 }])
  })

  it('leaves a locked week unchanged until the next run', async test => {
    const service = await serviceWithWeeks(test)
    const backup = await service.database.pool.connect()
    try {
      await backup.query('begin; lock table signalbox_store.events in access share mode')
      assert.deepEqual(await expire(service), { ...NOTHING, isLocked: true })
      assert.equal(await assertCountersMatchRows(service), 20)
    } finally {
      await backup.query('rollback')
      backup.release()
    }
    assert.deepEqual(await expire(service), { ...NOTHING, weeks: 1 })
  })
})

it('runs in several processes concurrently', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 4_000, days: OLD_DAYS })
  const runs = await Promise.all(Array.from({ length: 3 }, () => expire(service)))
  const expired = runs.reduce((sum, { events }) => sum + events, 0)
  const rest = await expire(service)
  assert.equal(expired + rest.events, 4_000)
  assert.equal(await assertCountersMatchRows(service), 0)
  assert.deepEqual(await expire(service), NOTHING)
})

it('keeps the counters of accepted, test and skipped deliveries correct', async test => {
  const service = await agedService(test)
  const { database, tracker } = service
  const days = [LAST_MOMENT]
  await storeEventsOn(service, { count: 4, days })
  await finishDeliveries(database, ['old-0'], { status: 'accepted' })
  await finishDeliveries(database, ['old-1'], { status: 'failed:unknown' })
  await database.pool.query('update delivery_counts set accepted = accepted + 1')
  await storeEventsOn(service, { count: 2, days: [FIRST_KEPT], prefix: 'kept' })
  await storeEntries(
    database,
    [ledgerEntry({ trackerId: tracker.trackerId, eventId: 'test', createdAt: LAST_MOMENT })],
    [plannedDelivery({ ...tracker, eventId: 'test', id: 99, isTest: true })],
  )
  await assertCountersMatchRows(service)
  assert.deepEqual(await expire(service), { ...NOTHING, events: 5, deliveries: 5 })
  assert.equal(await assertCountersMatchRows(service), 2)
})

it('leaves recent events of all trackers unchanged', async test => {
  const service = await agedService(test)
  const other = await service.newTracker()
  await service.submit(samplePurchase())
  await service.request('POST', '/api/v1/events', {
    secret: other.trackerSecret,
    body: samplePurchase(),
  })
  await service.deliver()
  assert.deepEqual(await expire(service), NOTHING)
  assert.equal(await assertCountersMatchRows(service), 2)
})
