import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { EventFlow, FlowBand } from '@signalbox/contract/session/overview.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { ledgerEntry, plannedDelivery, storeEntries } from '../../testing/fixtures/stored-events.ts'
import { connectSimulated } from '../../testing/fixtures/two-platforms.ts'
import { countFlowDays, isDue } from '../signals/reports/event-flow.ts'
import { findTrackersToCount } from '../signals/reports/event-flow-store.ts'

const TODAY = '2026-11-21'
const YESTERDAY = '2026-11-20'

async function openFlow(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const read = async (query: Record<string, string> = {}) => {
    const reply = await owner.client.call('GET', `${path}/flow?${new URLSearchParams(query)}`)
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    return reply.body as EventFlow
  }
  return { service, owner, path, read }
}

const inWords = (bands: readonly FlowBand[]) =>
  bands
    .map(({ event_name, outcome, count, values, reasons }) =>
      [
        ...[event_name, outcome, count, values.map(each => Object.values(each).join(' ')).join()],
        reasons.map(({ reason }) => reason).join(),
      ].join(' '),
    )
    .sort()

const sumOf = (rows: readonly { count: number }[]) =>
  rows.reduce((sum, { count }) => sum + count, 0)

it('adds up, by the day of the event and by the day of receipt', async test => {
  const { service, read } = await openFlow(test)
  const late = { event_time: `${YESTERDAY}T10:00:00Z` }
  await service.submit(samplePurchase({ event_id: 'imported', ...late }))
  await service.submit(samplePurchase({ event_id: 'today' }))
  await service.submit(
    samplePurchase({ event_id: 'lead', event_name: 'Lead', value_data: undefined }),
  )
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100, subcode: 1 } }])
  await service.submit(samplePurchase({ event_id: 'failed', ...late }))
  await service.deliver()
  await service.submit(samplePurchase({ event_id: 'held', consent: { ad_user_data: 'perhaps' } }))
  await service.submit(samplePurchase({ event_id: 'waiting' }))
  await service.submit(samplePurchase({ event_id: 'refused', event_time: 'soon' }))
  await service.server.flushRefusals()
  await service.database.pool.query(
    `insert into reconciliation_reports (tracker_id, id, destination_id, report_date, created_at,
       updated_at, tried_at, accepted_count, meta_count, event_counts, buckets,
       unexplained_residual, status)
     values ($1, 1, $2, $3, now(), now(), now(), 2, 1,
       '{"accepted": {"Purchase": 1}, "meta": {"Purchase": 1}}', '{}', 0, 'matched')`,
    [service.tracker.trackerId, service.tracker.destinationId, YESTERDAY],
  )

  const ofYesterday = await read({ from: YESTERDAY, to: YESTERDAY })
  assert.deepEqual(inWords(ofYesterday.bands), [
    'Purchase accepted 1 EUR 19.95 ',
    'Purchase failed 1 EUR 19.95 refused_by_platform',
  ])
  assert.equal(sumOf(ofYesterday.stored), 2)
  assert.deepEqual(ofYesterday.delays, [
    { destination_id: service.tracker.destinationId, count: 1, p50_seconds: 1, p99_seconds: 1 },
  ])
  assert.deepEqual(ofYesterday.counted, [
    {
      destination_id: service.tracker.destinationId,
      days: 1,
      total: 1,
      event_names: [{ event_name: 'Purchase', count: 1 }],
      explanation: null,
    },
  ])
  const ofToday = await read({ from: TODAY, to: TODAY })
  assert.deepEqual(inWords(ofToday.bands), [
    'Lead accepted 1  ',
    'Purchase accepted 1 EUR 19.95 ',
    'Purchase held 1 EUR 19.95 no_signal',
    'Purchase waiting 1 EUR 19.95 accepted_for_delivery',
  ])
  assert.deepEqual(ofToday.refused, {
    requests: 1,
    reasons: [{ reason: 'event_time_format', count: 1 }],
  })
  assert.deepEqual(ofToday.changes, [
    { destination_id: null, event_name: 'Purchase', measure: 'stored', before: 0, after: 2 },
    ...(['accepted', 'failed'] as const).map(measure => ({
      destination_id: service.tracker.destinationId,
      event_name: 'Purchase',
      measure,
      before: 0,
      after: 1,
    })),
  ])
  const received = await read({ from: TODAY, to: TODAY, by: 'receipt' })
  assert.equal(sumOf(received.stored), 6)
  assert.equal(sumOf(received.bands), 6)
  assert.equal(received.uncounted, 0)
  assert.equal(sumOf((await read({ from: YESTERDAY, to: YESTERDAY, by: 'receipt' })).bands), 0)
  assert.deepEqual(
    received.days.map(({ events }) => events),
    [0, 0, 0, 0, 0, 0, 0, 6],
  )
})

it('has a delivery of each event for each destination', async test => {
  const { service, read } = await openFlow(test)
  await connectSimulated(service, 'webhook')
  const consent = { ad_user_data: 'granted', 'Facebook Pixel': false }
  await service.submit(samplePurchase({ event_id: 'for-one', consent }))
  await service.submit(samplePurchase({ event_id: 'for-both' }))
  const { stored, bands, counted } = await read()
  assert.equal(sumOf(stored), 2)
  assert.equal(counted.length, 2)
  for (const own of Map.groupBy(bands, ({ destination_id }) => destination_id).values()) {
    assert.equal(sumOf(own), 2)
  }
})

it('reads the count of large days, and counts what came after it', async test => {
  const { service, read } = await openFlow(test)
  const { trackerId, destinationId } = service.tracker
  const now = service.clock.now()
  const store = async (from: number, count: number, createdAt: Date) => {
    const numbers = Array.from({ length: count }, (_, index) => from + index)
    const keys = numbers.map(number => ({ trackerId, eventId: `event-${number}` }))
    await storeEntries(
      service.database,
      keys.map((key, index) =>
        ledgerEntry({
          ...key,
          createdAt,
          eventTime: createdAt,
          eventName: index % 2 === 0 ? 'Purchase' : 'Lead',
        }),
      ),
      keys.map((key, index) => plannedDelivery({ ...key, id: from + index, destinationId })),
    )
  }
  const early = new Date(`${TODAY}T03:00:00Z`)
  await store(1, 600, early)
  await store(601, 100, new Date(`${YESTERDAY}T03:00:00Z`))
  const query = { from: YESTERDAY, to: TODAY, by: 'receipt' }
  const before = await read(query)
  const moment = { now, signal: new AbortController().signal }
  await countFlowDays(service.database, moment)
  const { pool } = service.database
  const counted = await pool.query('select received_on, events, waiting from event_flow_days')
  assert.deepEqual(counted.rows, [{ received_on: TODAY, events: 600, waiting: 600 }])
  assert.deepEqual((await read(query)).bands, before.bands)

  await store(701, 10, now)
  const { bands, stored, uncounted } = await read(query)
  assert.deepEqual([sumOf(bands), sumOf(stored), uncounted], [710, 710, 0])
  // Received before the end of the count, and committed after it.
  await store(801, 5, early)
  assert.equal((await read(query)).uncounted, 5)
  await pool.query(`update event_flow_days set counted_at = '2026-11-01'`)
  await countFlowDays(service.database, moment)
  const again = await read(query)
  assert.deepEqual([sumOf(again.bands), again.uncounted], [715, 0])
})

it('looks at trackers with new events every five minutes, and at all days once an hour', async test => {
  const { service } = await openFlow(test)
  const { pool } = service.database
  const trackers: { trackerId: string }[] = []
  for (let count = 0; count < 3; count += 1) trackers.push(await service.newTracker())
  const [idle, active, late] = trackers.map(({ trackerId }) => trackerId) as [
    string,
    string,
    string,
  ]
  const countOn = (trackerId: string, day: string, events: number) =>
    pool.query(
      `insert into event_counts (tracker_id, received_on, slot, events) values ($1, $2, 0, $3)`,
      [trackerId, day, events],
    )
  await countOn(active, TODAY, 500)
  await countOn(idle, TODAY, 499)
  await countOn(late, '2026-11-01', 500)
  const lookAt = async (from: string) => {
    const days = { trackerIds: [idle, active, late], from, until: TODAY }
    return (await findTrackersToCount(service.database, days)).sort()
  }
  assert.deepEqual(await lookAt(YESTERDAY), [active])
  assert.deepEqual(await lookAt('2026-10-01'), [active, late].sort())

  const counted = async () =>
    (await pool.query('select tracker_id from event_flow_days')).rows.map(row => row.tracker_id)
  const run = (time: string) =>
    countFlowDays(service.database, {
      now: new Date(`${TODAY}T${time}Z`),
      signal: new AbortController().signal,
    })
  await run('12:05:00')
  assert.deepEqual(await counted(), [active])
  await run('13:00:00')
  assert.deepEqual((await counted()).sort(), [active, late].sort())
  // Counted as they are: nothing is left to look at until something changes or waits.
  await pool.query('update event_flow_days set events = 500')
  assert.deepEqual(await lookAt('2026-10-01'), [])
  await pool.query('update event_flow_days set waiting = 1 where tracker_id = $1', [late])
  assert.deepEqual(await lookAt('2026-10-01'), [late])
  await pool.query(
    `insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
     values ($1, $2, 0, 9, 9)`,
    [active, TODAY],
  )
  assert.deepEqual(await lookAt(YESTERDAY), [active])
})

it('counts a day again when enough of it has changed', () => {
  const now = new Date(`${TODAY}T12:00:00Z`)
  const counted = {
    day: TODAY,
    countedUntil: now,
    countedAt: new Date(`${TODAY}T11:50:00Z`),
    events: 100_000,
    accepted: 90_000,
    waiting: 10,
    milliseconds: 1_000,
  }
  const due = (day: { events: number; accepted: number }, changes = {}) =>
    isDue(day, { ...counted, ...changes }, now)
  assert.equal(isDue({ events: 499, accepted: 0 }, undefined, now), false)
  assert.equal(isDue({ events: 500, accepted: 0 }, undefined, now), true)
  assert.equal(due({ events: 101_000, accepted: 90_999 }), false)
  assert.equal(due({ events: 101_000, accepted: 91_000 }), true)
  assert.equal(due({ events: 102_000, accepted: 90_000 }, { milliseconds: 31_000 }), false)
  const earlier = { countedAt: new Date(`${TODAY}T05:00:00Z`) }
  assert.equal(due({ events: 100_000, accepted: 90_000 }, earlier), true)
  assert.equal(due({ events: 100_000, accepted: 90_000 }, { ...earlier, waiting: 0 }), false)
})

it('422 for days that are none, in the wrong order or too long ago', async test => {
  const { owner, path } = await openFlow(test)
  for (const [query, field] of [
    ['from=yesterday', 'from'],
    ['to=2026-02-30', 'to'],
    ['from=2026-11-21&to=2026-11-20', 'from'],
    ['from=2026-08-01', 'from'],
    ['by=week', 'by'],
  ]) {
    const { status, body } = await owner.client.call('GET', `${path}/flow?${query}`)
    assert.deepEqual([status, Object.keys(body.errors)], [422, [field]], query)
  }
})
