import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { ALL_BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import {
  EMAIL_IDENTITY,
  startMatchQualityFixture,
  WEAK_IDENTITY,
} from '../../testing/fixtures/match-quality.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { makeDueReports } from '../signals/reports/make-reports.ts'

const DAY_SECONDS = 86_400

async function openReports(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const get = (rest: string) => owner.client.call('GET', `${path}/reports/${rest}`)
  return { service, get }
}

/** One report a day, `days` days back from the day before today. */
async function storeReports({ database, tracker, clock }: TestService, days: number) {
  const { trackerId, destinationId } = tracker
  const buckets = { pending: { count: 2, basis: 'measured', explanation: 'Two wait.' } }
  await database.pool.query(
    `insert into reconciliation_reports
     select $1, number, $2, date '2026-11-20' - number + 1, 12, 11, $3, $4, -1, 'unexplained',
       $5, $5, $5
     from generate_series(1, $6) number`,
    [trackerId, destinationId, '{"accepted":{},"meta":{}}', buckets, clock.now(), days],
  )
}

it('returns the reports of a range of days, the newest day first', async test => {
  const { service, get } = await openReports(test)
  await storeReports(service, 5)
  const { status, body } = await get('reconciliation?from=2026-11-18&to=2026-11-19')
  assert.equal(status, 200)
  assert.deepEqual([body.from, body.to, body.next_cursor], ['2026-11-18', '2026-11-19', null])
  assert.partialDeepStrictEqual(body.reports, [
    {
      report_date: '2026-11-19',
      observed_gap: 1,
      unexplained_residual: -1,
      status: 'unexplained',
      destination: { id: service.tracker.destinationId },
      buckets: { pending: { count: 2, explanation: 'Two wait.' } },
    },
    { report_date: '2026-11-18' },
  ])
  const byDefault = await get('reconciliation')
  assert.deepEqual([byDefault.body.from, byDefault.body.to], ['2026-10-23', '2026-11-21'])
  assert.equal(byDefault.body.reports.length, 5)
})

it('pages through a long range without a gap', async test => {
  const { service, get } = await openReports(test)
  await storeReports(service, 90)
  const days: string[] = []
  let query = '?from=2026-08-22'
  while (query !== '') {
    const { body } = await get(`reconciliation${query}`)
    days.push(...body.reports.map(({ report_date }: { report_date: string }) => report_date))
    query = body.next_cursor === null ? '' : `?from=2026-08-22&cursor=${body.next_cursor}`
  }
  assert.equal(new Set(days).size, 90)
  assert.deepEqual(days, days.toSorted().reverse())
  const refused = await get('reconciliation?cursor=WyJ4Il0')
  assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['cursor']])
})

it('downloads the reports of a range with a column for each bucket', async test => {
  const { service, get } = await openReports(test)
  await storeReports(service, 60)
  const reply = await get('reconciliation.csv?from=2026-09-22&to=2026-11-20')
  assert.equal(reply.status, 200)
  assert.match(reply.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/)
  assert.equal(
    reply.headers.get('content-disposition'),
    'attachment; filename="reconciliation-2026-09-22-2026-11-20.csv"',
  )
  const [header, first, ...rest] = reply.body.split('\r\n')
  assert.equal(
    header,
    'date,destination_id,status,accepted_count,platform_count,observed_gap,' +
      `${ALL_BUCKET_NAMES.join(',')},unexplained_residual,updated_at,platform,count_label,` +
      'unavailable,outcomes,accepted_values,reported_values,accepted_by_event,counted_by_event',
  )
  assert.equal(
    first,
    `2026-11-20,${service.tracker.destinationId},unexplained,12,11,1,0,2,0,0,0,0,0,-1,` +
      '2026-11-21T12:00:00.000Z,,,,,,,{},{}',
  )
  assert.equal(rest.length, 60)
})

it('returns 422 naming every invalid day of a range', async test => {
  const { get } = await openReports(test)
  for (const report of ['reconciliation', 'reconciliation.csv', 'match-quality']) {
    const fieldsOf = async (query: string) => {
      const reply = await get(`${report}?${query}`)
      return [reply.status, Object.keys(reply.body.errors)]
    }
    assert.deepEqual(await fieldsOf('from=2026-02-30&to=x'), [422, ['to', 'from']])
    assert.deepEqual(await fieldsOf('from=2026-11-02&to=2026-11-01'), [422, ['from']])
    assert.deepEqual(await fieldsOf('from=2026-08-01&to=2026-11-20'), [422, ['from']])
    assert.deepEqual(await fieldsOf('from=2026-11-01&from=2026-11-02'), [422, ['from']])
  }
})

it('returns the trend of the match quality, the coverage of keys and what to add', async test => {
  const fixture = await startMatchQualityFixture(test)
  const { owner, path } = await openDashboardWorkspace(fixture)
  await fixture.send(EMAIL_IDENTITY)
  await fixture.take()
  fixture.clock.advance(DAY_SECONDS)
  await fixture.send(WEAK_IDENTITY)
  await fixture.take()
  const get = (rest: string) => owner.client.call('GET', `${path}/reports/${rest}`)
  const { status, body } = await get('match-quality')
  assert.equal(status, 200)
  assert.deepEqual([body.from, body.to, body.alert_below], ['2026-10-24', '2026-11-22', 4])
  const [quality] = body.destinations
  assert.equal(quality.destination.id, fixture.tracker.destinationId)
  assert.deepEqual(
    quality.trend.map(({ date }: { date: string }) => date),
    ['2026-11-21', '2026-11-22'],
  )
  assert.equal(quality.measured_at, '2026-11-22T12:00:00.000Z')
  const [coverage] = quality.coverage
  assert.deepEqual([coverage.event_name, coverage.events, coverage.keys.em], ['Purchase', 40, 50])
  assert.deepEqual(
    [quality.advice[0].event_name, quality.advice[0].kind],
    ['Purchase', 'send_more'],
  )
  assert.ok(quality.advice[0].possible_gain_percent > 0)
  assert.equal(quality.unavailable, null)

  const csv = (await get('match-quality.csv')).body.split('\r\n')
  const [newest, oldest] = quality.trend.toReversed()
  const rowOf = ({ date, score }: { date: string; score: number }) =>
    new RegExp(`^${date},${fixture.tracker.destinationId},${score},,(yes|no)$`)
  assert.equal(csv[0], 'date,destination_id,score,week_over_week_change,alerted')
  assert.match(csv[1], rowOf(newest))
  assert.match(csv[2], rowOf(oldest))
})

it('makes the report of today with what is known, and records who asked', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const { destinationId, workspaceId } = service.tracker
  await service.submit(samplePurchase())
  await service.deliver()
  const body = { date: '2026-11-21', destination_id: destinationId }
  const make = (given: object) =>
    owner.client.call('POST', `${path}/reports/reconciliation`, { body: given })
  const made = await make(body)
  assert.equal(made.status, 200)
  assert.partialDeepStrictEqual(made.body, {
    report_date: '2026-11-21',
    accepted_count: 1,
    meta_count: 1,
    status: 'matched',
    event_counts: { accepted: { Purchase: 1 }, meta: { Purchase: 1 } },
    values: { accepted: [{ event_name: 'Purchase', currency: 'EUR', events: 1 }] },
  })
  const entries = await readAuditEntries(service.database, workspaceId, 'report.made')
  assert.deepEqual(
    entries.map(({ actor, subject, details }) => [actor.id, subject.id, details]),
    [[String(owner.userId), destinationId, { date: '2026-11-21', status: 'matched' }]],
  )
  const listed = await owner.client.call('GET', `${path}/reports/reconciliation`)
  assert.equal(listed.body.reports.length, 1)

  service.clock.advance(18 * 3_600)
  await makeDueReports(service.delivery, { now: service.clock.now() })
  const [scheduled] = (await owner.client.call('GET', `${path}/reports/reconciliation`)).body
    .reports
  assert.equal(scheduled.updated_at, '2026-11-22T06:00:00.000Z')
})

it('makes no report of a day to come, of an unknown destination or of a strange body', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const { destinationId: destination_id } = service.tracker
  const other = await service.newTracker()
  const fieldsOf = async (body: object) => {
    const reply = await owner.client.call('POST', `${path}/reports/reconciliation`, { body })
    return [reply.status, Object.keys(reply.body.errors ?? {})]
  }
  assert.deepEqual(await fieldsOf({}), [422, ['date', 'destination_id']])
  assert.deepEqual(await fieldsOf({ date: '2026-11-22', destination_id }), [422, ['date']])
  assert.deepEqual(await fieldsOf({ date: '2026-08-01', destination_id }), [422, ['date']])
  assert.deepEqual(await fieldsOf({ date: '2026-02-30', destination_id }), [422, ['date']])
  const date = '2026-11-20'
  assert.deepEqual(await fieldsOf({ date, destination_id: 'x' }), [422, ['destination_id']])
  assert.deepEqual(await fieldsOf({ date, destination_id: other.destinationId }), [404, []])
})

it('shows the coverage from the first accepted event on, and what raising it would bring', async test => {
  const fixture = await startMatchQualityFixture(test)
  const { owner, path } = await openDashboardWorkspace(fixture)
  await fixture.send(EMAIL_IDENTITY, { count: 1 })
  await fixture.send(WEAK_IDENTITY, { count: 2 })
  const { body } = await owner.client.call('GET', `${path}/reports/match-quality`)
  const [quality] = body.destinations
  assert.deepEqual([quality.trend, quality.measured_at], [[], null])
  const [coverage] = quality.coverage
  assert.deepEqual([coverage.event_name, coverage.events], ['Purchase', 3])
  assert.deepEqual([coverage.keys.em, coverage.keys.ph], [33.3, 0])
  assert.deepEqual(quality.advice[0], {
    event_name: 'Purchase',
    key: 'em',
    kind: 'send_more',
    sentence:
      'Purchase: 66.7 % of 3 events have no em: send `user_data.em`. The platform can match ' +
      'these events by it then; it names no expected gain.',
    possible_gain_percent: null,
  })
  assert.match(quality.advice[1].sentence, /^Purchase: no event has ph: send `user_data.ph`\./)
})

it('says why a destination has no match quality, and keeps earlier answers readable', async test => {
  const { service, get } = await openReports(test)
  const { trackerId, destinationId } = service.tracker
  const at = service.clock.now()
  await service.database.pool.query(
    `insert into emq_readings values ($1, $2, $3, $4, 'permission', 'Give the token ads_read.')`,
    [trackerId, destinationId, at, new Date(at.getTime() + 3_600_000)],
  )
  await service.database.pool.query(
    `insert into emq_snapshots values ($1, 1, $2, '2026-11-20', 6.1, null, false, $3, $4, $4, $4)`,
    [trackerId, destinationId, '{"signalbox":{"coverage":{}}}', at],
  )
  const [quality] = (await get('match-quality')).body.destinations
  assert.deepEqual(quality.unavailable, {
    sentence: 'Give the token ads_read.',
    next_read_at: '2026-11-21T13:00:00.000Z',
  })
  assert.deepEqual([quality.coverage, quality.advice], [[], []])
  assert.equal(quality.trend[0].score, 6.1)
})
