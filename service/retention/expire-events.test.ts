import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { finishDeliveries } from '../../testing/finish-deliveries.ts'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../../testing/service-under-test.ts'
import { ledgerEntry, plannedDelivery, storeEntries } from '../../testing/stored-events.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import { detachWeek } from '../events/event-expiry-store.ts'
import type { EventRecord } from '../events/event-record.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { expireOldEvents } from './expire-events.ts'

const LEDGER_MONTHS = 25
/** Twenty-five months later: the first of December 2026 is still kept. */
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
  isHeld: false,
}

function expire({ database, clock }: ServiceUnderTest, batchesMax = 100) {
  return expireOldEvents({ database, now: clock.now(), ledgerMonths: LEDGER_MONTHS, batchesMax })
}

/** Events of the first tracker with a delivery each, on the given days in turn. */
async function storeEventsOn(
  { database, tracker }: ServiceUnderTest,
  { count, days, prefix = 'old' }: { count: number; days: readonly Date[]; prefix?: string },
): Promise<void> {
  const { trackerId, destinationId } = tracker
  const { rows } = await database.pool.query(
    'select coalesce(max(id), 0) as id from all_deliveries',
  )
  const entries: EventRecord[] = []
  const deliveries: PlannedDelivery[] = []
  for (let number = 0; number < count; number += 1) {
    const createdAt = days[number % days.length] as Date
    const base = { trackerId, eventId: `${prefix}-${number}`, createdAt }
    const id = rows[0].id + number + 1
    entries.push(ledgerEntry({ ...base, payload: null }))
    deliveries.push(plannedDelivery({ ...base, id, destinationId }))
  }
  await storeEntries(database, entries, deliveries)
}

/** What the kept counts say and what is there, in one snapshot. */
const COUNTS = `
  select
    (select coalesce(sum(events), 0) from event_counts) as counted,
    (select count(*) from events) as events,
    (select coalesce(sum(planned), 0) from delivery_counts) as planned,
    (select count(*) from all_deliveries
     where not is_test and status not like 'skipped:%') as deliveries,
    (select coalesce(sum(accepted), 0) from delivery_counts) as counted_accepted,
    (select count(*) from all_deliveries where not is_test and status = 'accepted') as accepted`

async function assertCountsAreTrue({ database }: ServiceUnderTest): Promise<number> {
  const { rows } = await database.pool.query(COUNTS)
  const [{ counted, events, planned, deliveries, counted_accepted, accepted }] = rows
  assert.deepEqual([counted, planned, counted_accepted], [events, deliveries, accepted])
  return events
}

/** Every event that the list shows, page by page, with the total that each page gives. */
async function listAll(service: ServiceUnderTest): Promise<{ ids: string[]; totals: number[] }> {
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

async function agedService(test: TestContext): Promise<ServiceUnderTest> {
  return serviceUnderTest(test, { startAt: NOW })
}

it('keeps an event outside of the weekly partitions for twenty-five months to the day', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 1, days: [LAST_MOMENT], prefix: 'last' })
  await storeEventsOn(service, { count: 1, days: [FIRST_KEPT], prefix: 'first' })
  assert.deepEqual(await expire(service), { ...NOTHING, events: 1, deliveries: 1 })
  assert.equal((await service.read('last-0')).status, 404)
  assert.equal((await service.read('first-0')).status, 200)
  service.clock.forward(11 * 3_600 + 3_599)
  assert.deepEqual(await expire(service), NOTHING)
  service.clock.forward(3_600)
  assert.deepEqual(await expire(service), { ...NOTHING, events: 1, deliveries: 1 })
})

it('lists are exact at every step of it, and nothing of a day is left at its end', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 2_300, days: OLD_DAYS })
  await storeEventsOn(service, { count: 150, days: [FIRST_KEPT], prefix: 'kept' })
  const left: number[] = []
  for (let more = true; more; ) {
    more = (await expire(service, 1)).more
    left.push(await assertCountsAreTrue(service))
    const { ids, totals } = await listAll(service)
    assert.deepEqual(new Set(totals), new Set([left.at(-1)]))
    assert.equal(new Set(ids).size, left.at(-1))
  }
  assert.deepEqual(left, [1_450, 450, 150, 150])
  const { rows } = await service.database.pool.query(
    `select received_on::text as day from event_counts
     union select planned_on::text from delivery_counts`,
  )
  assert.deepEqual(rows, [{ day: '2026-12-01' }])
  assert.deepEqual(await expire(service), NOTHING)
})

it('counts are true at any moment while it runs beside new events', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 3_000, days: OLD_DAYS })
  let isDone = false
  const expiring = expire(service).finally(() => {
    isDone = true
  })
  for (let order = 0; !isDone; order += 1) {
    const { status } = await service.submit(samplePurchase({ event_id: `new-${order}` }))
    assert.equal(status, 202)
    await assertCountsAreTrue(service)
  }
  assert.equal((await expiring).events, 3_000)
  await assertCountsAreTrue(service)
})

it('leaves what another transaction holds to the next run, and keeps count of it', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 1_200, days: OLD_DAYS })
  const holder = await service.database.pool.connect()
  try {
    await holder.query('begin')
    await holder.query(`select from events where event_id in ('old-0', 'old-7') for update`)
    assert.equal((await expire(service)).events, 1_198)
    assert.equal(await assertCountsAreTrue(service), 2)
    await holder.query('rollback')
  } finally {
    holder.release()
  }
  assert.equal((await expire(service)).events, 2)
  assert.equal(await assertCountsAreTrue(service), 0)
})

it('keeps nothing of a batch that breaks off in the middle, and goes on from there', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 1_200, days: OLD_DAYS })
  const { pool } = service.database
  await pool.query(
    `create function broken() returns trigger language plpgsql as
     $$ begin raise exception 'the machine stopped'; end $$`,
  )
  await pool.query(
    `create trigger broken before delete on delivery_queue for each row
     when (old.event_id = 'old-998') execute function broken()`,
  )
  await assert.rejects(expire(service), /the machine stopped/)
  assert.equal(await assertCountsAreTrue(service), 200)
  await pool.query('drop trigger broken on delivery_queue')
  assert.equal((await expire(service)).events, 200)
  assert.equal(await assertCountsAreTrue(service), 0)
})

describe('events in weekly partitions', () => {
  /** The week from the 23rd to the 29th, and the one with the first day that is kept. */
  const WEEKS = [new Date('2026-11-29T23:59:59.999Z'), new Date('2026-11-30T00:00:00.000Z')]

  async function serviceWithWeeks(test: TestContext): Promise<ServiceUnderTest> {
    const service = await agedService(test)
    await ensurePartitions(service.database, WEEKS[0] as Date, 14)
    await storeEventsOn(service, { count: 20, days: WEEKS })
    await finishDeliveries(service.database, ['old-0', 'old-1'], { status: 'accepted' })
    await service.database.pool.query('update delivery_counts set accepted = accepted + 1')
    return service
  }

  it('drops a week whole, once all of its days are over, and deletes its keys', async test => {
    const service = await serviceWithWeeks(test)
    assert.deepEqual(await expire(service), { ...NOTHING, weeks: 1 })
    assert.equal(await assertCountsAreTrue(service), 10)
    assert.equal((await service.read('old-0')).status, 404)
    assert.equal((await service.read('old-1')).status, 200)
    const { rows } = await service.database.pool.query(
      `select (select count(*) from event_keys) as keys, (select count(*) from pg_class
         where relname like 'expired\\_%' or relname like '%\\_2026\\_11\\_23') as tables`,
    )
    assert.deepEqual(rows, [{ keys: 10, tables: 0 }])
    assert.deepEqual(await expire(service), NOTHING)
    service.clock.forward((6 * 86_400_000) / 1_000)
    assert.deepEqual(await expire(service), { ...NOTHING, weeks: 1 })
    assert.equal(await assertCountsAreTrue(service), 0)
  })

  it('lets an id of a dropped week be used again', async test => {
    const service = await serviceWithWeeks(test)
    assert.equal((await service.submit(samplePurchase({ event_id: 'old-0' }))).status, 200)
    await expire(service)
    assert.equal((await service.submit(samplePurchase({ event_id: 'old-0' }))).status, 202)
  })

  it('goes on with the keys of a week that was detached when it broke off', async test => {
    const service = await serviceWithWeeks(test)
    assert.equal(await detachWeek(service.database, '2026-11-23'), true)
    assert.equal(await assertCountsAreTrue(service), 10)
    assert.deepEqual(await expire(service), NOTHING)
    const { rows } = await service.database.pool.query('select count(*) as keys from event_keys')
    assert.deepEqual(rows, [{ keys: 10 }])
  })

  it('leaves a week for later while a backup holds it, and nothing of it is gone', async test => {
    const service = await serviceWithWeeks(test)
    const backup = await service.database.pool.connect()
    try {
      await backup.query('begin; lock table signalbox_store.events in access share mode')
      assert.deepEqual(await expire(service), { ...NOTHING, isHeld: true })
      assert.equal(await assertCountsAreTrue(service), 20)
    } finally {
      await backup.query('rollback')
      backup.release()
    }
    assert.deepEqual(await expire(service), { ...NOTHING, weeks: 1 })
  })
})

it('lets several processes do it at the same moment', async test => {
  const service = await agedService(test)
  await storeEventsOn(service, { count: 4_000, days: OLD_DAYS })
  const runs = await Promise.all(Array.from({ length: 3 }, () => expire(service)))
  const expired = runs.reduce((sum, { events }) => sum + events, 0)
  const rest = await expire(service)
  assert.equal(expired + rest.events, 4_000)
  assert.equal(await assertCountsAreTrue(service), 0)
  assert.deepEqual(await expire(service), NOTHING)
})

it('counts of accepted, test and skipped deliveries stay true', async test => {
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
  await assertCountsAreTrue(service)
  assert.deepEqual(await expire(service), { ...NOTHING, events: 5, deliveries: 5 })
  assert.equal(await assertCountsAreTrue(service), 2)
})

it('touches nothing of what it finds not old, of whichever tracker', async test => {
  const service = await agedService(test)
  const other = await service.newTracker()
  await service.submit(samplePurchase())
  await service.request('POST', '/api/v1/events', {
    secret: other.trackerSecret,
    body: samplePurchase(),
  })
  await service.deliver()
  assert.deepEqual(await expire(service), NOTHING)
  assert.equal(await assertCountsAreTrue(service), 2)
})
