import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const DAY = '2026-11-20'

function reconciliation(service: TestService, query: string, options: object = {}) {
  return service.request('GET', `/api/v1/reports/reconciliation${query}`, options)
}

async function storeReport({ database, tracker, clock }: TestService): Promise<void> {
  const { trackerId, destinationId } = tracker
  await database.pool.query(
    `insert into reconciliation_reports values
       ($1, 7, $2, $3, 12, 10, $4, $5, 0, 'explained', $6, $6, $6)`,
    [
      trackerId,
      destinationId,
      DAY,
      JSON.stringify({ accepted: { Purchase: 12 }, meta: { Purchase: 10 } }),
      JSON.stringify({ pending: { count: 2, basis: 'measured', explanation: 'Two wait.' } }),
      clock.now(),
    ],
  )
}

it('returns the report of a day with its destination', async test => {
  const service = await startTestService(test)
  await storeReport(service)
  const { status, body } = await reconciliation(service, `?date=${DAY}`)
  assert.equal(status, 200)
  assert.equal(body.date, DAY)
  const [{ destination, ...report }] = body.reports
  assert.deepEqual(report, {
    id: 7,
    workspace_id: service.tracker.workspaceId,
    signal_tracker_id: service.tracker.trackerId,
    destination_id: service.tracker.destinationId,
    report_date: DAY,
    accepted_count: 12,
    meta_count: 10,
    observed_gap: 2,
    count_source: null,
    unavailable: null,
    sent_names: [],
    outcomes: [],
    requests: null,
    values: null,
    event_counts: { accepted: { Purchase: 12 }, meta: { Purchase: 10 } },
    buckets: { pending: { count: 2, basis: 'measured', explanation: 'Two wait.' } },
    unexplained_residual: 0,
    status: 'explained',
    created_at: '2026-11-21T12:00:00.000Z',
    updated_at: '2026-11-21T12:00:00.000Z',
  })
  assert.equal(destination.id, service.tracker.destinationId)
})

it('returns no reports for a day without any and for another tracker', async test => {
  const service = await startTestService(test)
  await storeReport(service)
  const other = await reconciliation(service, '?date=2026-11-19')
  assert.deepEqual(other.body, { date: '2026-11-19', reports: [] })
  const { trackerSecret: secret } = await service.newTracker()
  const theirs = await reconciliation(service, `?date=${DAY}`, { secret })
  assert.deepEqual(theirs.body, { date: DAY, reports: [] })
})

it('returns snapshots with decimals as stored', async test => {
  const service = await startTestService(test)
  const { trackerId, destinationId } = service.tracker
  for (const [id, day, score, change] of [
    [1, '2026-11-19', '7.10', null],
    [2, '2026-11-20', '6.0', '-1.10'],
  ]) {
    await service.database.pool.query(
      `insert into emq_snapshots values ($1, $2, $3, $4, $5, $6, true, $7, $8, $8, $8)`,
      [trackerId, id, destinationId, day, score, change, '{"coverage":{}}', service.clock.now()],
    )
  }
  const { status, text, body } = await service.request('GET', '/api/v1/reports/emq')
  assert.equal(status, 200)
  assert.deepEqual(
    body.snapshots.map(({ id }: { id: number }) => id),
    [2, 1],
  )
  assert.match(text, /"score":6.0,"week_over_week_change":-1.10,"alerted":true/)
  assert.equal(body.snapshots[1].week_over_week_change, null)
  const { trackerSecret: secret } = await service.newTracker()
  const theirs = await service.request('GET', '/api/v1/reports/emq', { secret })
  assert.deepEqual(theirs.body, { snapshots: [] })
})

it('returns the newest answers up to 8 MB and only scores beyond', async test => {
  const service = await startTestService(test)
  const { trackerId, destinationId } = service.tracker
  for (const [id, day] of [
    [1, '2026-11-18'],
    [3, '2026-11-20'],
    [2, '2026-11-19'],
  ]) {
    await service.database.pool.query(
      `insert into emq_snapshots values ($1, $2, $3, $4, 6.2, null, false,
         json_build_object('day', $4::date::text, 'web', repeat('x', 3500000)), $5, $5, $5)`,
      [trackerId, id, destinationId, day, service.clock.now()],
    )
  }
  const { body } = await service.request('GET', '/api/v1/reports/emq')
  assert.deepEqual(
    body.snapshots.map((snapshot: { id: number; platform_response: { day: string } | null }) => [
      snapshot.id,
      snapshot.platform_response?.day,
    ]),
    [
      [3, '2026-11-20'],
      [2, '2026-11-19'],
      [1, undefined],
    ],
  )
})

it('returns 401 without a secret', async test => {
  const service = await startTestService(test)
  assert.equal((await reconciliation(service, `?date=${DAY}`, { secret: null })).status, 401)
  assert.equal((await service.request('GET', '/api/v1/reports/emq', { secret: null })).status, 401)
})

it('returns 422 for anything but a calendar day', async test => {
  const service = await startTestService(test)
  const wrong = ['', '?date=', '?date=yesterday', '?date=2026-02-30', '?date=2026-11-20T00:00:00Z']
  for (const query of [...wrong, '?date=0000-01-01', '?date=2026-1-1', '?date=a&date=b']) {
    const { status, body } = await reconciliation(service, query)
    assert.equal(status, 422, query)
    assert.deepEqual(Object.keys(body.errors), ['date'])
  }
})
