import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  configureCounting,
  scriptFaults,
  sendFromOtherSource,
} from '../../../testing/fixtures/simulator.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { makeDueReports } from './make-reports.ts'

const DAY = '2026-11-21'
/** Counted from noon of the day on which all events are sent. */
const UNTIL_FIRST = 18 * HOUR_SECONDS
const UNTIL_SECOND = 66 * HOUR_SECONDS

/** Two purchases of the day, accepted by the platform. */
async function serviceWithSales(test: TestContext): Promise<TestService> {
  const service = await startTestService(test)
  for (const event_id of ['order-1', 'order-2']) await submit(service, { event_id })
  await service.deliver()
  return service
}

async function submit(service: TestService, changes: Record<string, unknown>): Promise<void> {
  const { status, text } = await service.submit(samplePurchase(changes))
  assert.equal(status, 202, text)
}

function makeDue({ delivery, clock }: TestService) {
  return makeDueReports(delivery, { now: clock.now() })
}

async function reportsOf(service: TestService, day = DAY) {
  const { body } = await service.request('GET', `/api/v1/reports/reconciliation?date=${day}`)
  return body.reports
}

/** A summary of the only report of a day. */
async function reportOf(service: TestService, day = DAY) {
  const [report, ...others] = await reportsOf(service, day)
  assert.deepEqual(others, [])
  const { accepted_count, meta_count, unexplained_residual, status, buckets } = report
  const named = Object.entries<{ count: number }>(buckets).filter(([, { count }]) => count !== 0)
  return {
    counts: [accepted_count, meta_count],
    buckets: Object.fromEntries(named.map(([name, { count }]) => [name, count])),
    residual: unexplained_residual,
    status,
  }
}

function explained(counts: [number, number], buckets: Record<string, number>) {
  return { counts, buckets, residual: 0, status: 'explained' }
}

const MATCHED = { counts: [2, 2], buckets: {}, residual: 0, status: 'matched' }

it('makes the report at 06:00 of the next day and not before', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(UNTIL_FIRST - 1)
  assert.deepEqual(await makeDue(service), { made: 0, unavailable: 0, more: false })
  assert.deepEqual(await reportsOf(service), [])
  service.clock.advance(1)
  assert.deepEqual(await makeDue(service), { made: 1, unavailable: 0, more: false })
  assert.deepEqual(await reportOf(service), MATCHED)
  assert.deepEqual(await makeDue(service), { made: 0, unavailable: 0, more: false })
})

it('makes the report again on the third morning with late events', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(UNTIL_FIRST)
  await makeDue(service)
  const event_time = Math.floor(Date.parse('2026-11-21T20:00:00Z') / 1_000)
  await submit(service, { event_id: 'order-late', event_time })
  await service.deliver()
  service.clock.advance(UNTIL_SECOND - UNTIL_FIRST - 1)
  await makeDue(service)
  assert.deepEqual(await reportOf(service), MATCHED)
  service.clock.advance(1)
  // The second day's report is due again too, and the third day's for the first time.
  await makeDue(service)
  assert.deepEqual(await reportOf(service), explained([2, 3], { late_event_time: -1 }))
  assert.deepEqual(await reportOf(service, '2026-11-22'), explained([1, 0], { late_event_time: 1 }))
  const [report] = await reportsOf(service)
  assert.deepEqual(
    [report.created_at, report.updated_at],
    ['2026-11-22T06:00:00.000Z', '2026-11-24T06:00:00.000Z'],
  )
})

it('catches up on missed days that the platform still has', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(5 * 24 * HOUR_SECONDS)
  assert.deepEqual(await makeDue(service), { made: 5, unavailable: 0, more: false })
  assert.deepEqual(await reportOf(service), MATCHED)
  assert.deepEqual(await makeDue(service), { made: 0, unavailable: 0, more: false })
})

it('reports a day that the platform no longer has as unavailable', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(7 * 24 * HOUR_SECONDS)
  assert.deepEqual(await makeDue(service), { made: 6, unavailable: 1, more: false })
  const { status } = await reportOf(service)
  assert.equal(status, 'unavailable')
  const [{ unavailable }] = await reportsOf(service)
  assert.equal(unavailable.cause, 'out_of_range')
  assert.match(unavailable.sentence, /counts of the last 7 days only/)
  service.clock.advance(HOUR_SECONDS)
  assert.deepEqual(await makeDue(service), { made: 0, unavailable: 0, more: false })
})

it('explains test events, unanswered attempts, other senders and browsers together', async test => {
  const service = await serviceWithSales(test)
  await configureCounting(service, { deduplicate_servers: false })
  await scriptFaults(service.simulatorUrl, [{ abort: 'after_store', times: 1 }])
  await submit(service, { event_id: 'order-3' })
  await service.deliver()
  service.clock.advance(10)
  await service.deliver()
  const path = `/api/v1/destinations/${service.tracker.destinationId}/test-mode`
  await service.request('PATCH', path, { body: { enabled: true, test_event_code: 'TEST1' } })
  await submit(service, { event_id: 'order-test' })
  await service.deliver()
  await service.request('PATCH', path, { body: { enabled: false } })
  for (const event_id of ['lead-1', 'lead-2'])
    await submit(service, { event_id, event_name: 'Lead' })
  await service.deliver()
  await sendFromOtherSource(service, {
    source: 'browser',
    events: [{ event_name: 'Lead', event_id: 'lead-1' }],
  })
  await sendFromOtherSource(service, {
    source: 'server',
    events: [{ event_name: 'Search', count: 4 }],
  })
  service.clock.advance(UNTIL_FIRST)
  await makeDue(service)
  assert.deepEqual(
    await reportOf(service),
    explained([5, 3 + 1 + 1 + 1 + 4], {
      test_events: -1,
      unknown_outcome: -1,
      platform_deduplicated: 1,
      other_senders: -4,
    }),
  )
})

it('remembers other senders to the dataset for a week', async test => {
  const service = await serviceWithSales(test)
  await sendFromOtherSource(service, { source: 'server', events: [{ event_name: 'Search' }] })
  service.clock.advance(24 * HOUR_SECONDS)
  await submit(service, { event_id: 'order-3' })
  await service.deliver()
  await sendFromOtherSource(service, {
    source: 'server',
    events: [{ event_name: 'Purchase', count: 2 }],
  })
  service.clock.advance(24 * HOUR_SECONDS)
  await makeDue(service)
  assert.deepEqual(await reportOf(service, '2026-11-22'), explained([1, 3], { other_senders: -2 }))
})

it('leaves a surplus unexplained without a sign of other senders', async test => {
  const service = await serviceWithSales(test)
  await sendFromOtherSource(service, {
    source: 'server',
    events: [{ event_name: 'Purchase', count: 2 }],
  })
  service.clock.advance(UNTIL_FIRST)
  await makeDue(service)
  const report = { counts: [2, 4], buckets: {}, residual: -2, status: 'unexplained' }
  assert.deepEqual(await reportOf(service), report)
})

it('is pending while events of the day wait, and counts those that may have arrived', async test => {
  const service = await serviceWithSales(test)
  await submit(service, { event_id: 'order-3' })
  service.clock.advance(UNTIL_FIRST)
  await scriptFaults(service.simulatorUrl, [{ abort: 'after_store', times: 1 }])
  await service.deliver()
  await makeDue(service)
  const report = { counts: [2, 3], buckets: { pending: -1 }, residual: 0, status: 'pending' }
  assert.deepEqual(await reportOf(service), report)
})

it('reads counts over many pages and as text', async test => {
  const service = await serviceWithSales(test)
  await configureCounting(service, { page_rows: 1, counts_as_text: true })
  service.clock.advance(3 * HOUR_SECONDS)
  await submit(service, { event_id: 'order-3' })
  await service.deliver()
  service.clock.advance(UNTIL_FIRST)
  await makeDue(service)
  assert.deepEqual(await reportOf(service), { ...MATCHED, counts: [3, 3] })
})

it('never counts a refusal as zero and retries every hour', async test => {
  const service = await serviceWithSales(test)
  const refusal = { status: 400, code: 100, message: 'Permission Denied' }
  await scriptFaults(service.simulatorUrl, [{ edge: 'stats', respond: refusal }])
  service.clock.advance(UNTIL_FIRST)
  assert.deepEqual(await makeDue(service), { made: 0, unavailable: 1, more: false })
  const unavailable = { counts: [2, 0], buckets: {}, residual: 2, status: 'unavailable' }
  assert.deepEqual(await reportOf(service), unavailable)
  const [report] = await reportsOf(service)
  assert.deepEqual([report.event_counts.meta, report.unavailable.cause], [{}, 'permission'])
  assert.match(report.buckets.pending.explanation, /^The day was not compared\. /)
  service.clock.advance(HOUR_SECONDS - 1)
  assert.equal((await makeDue(service)).unavailable, 0)
  service.clock.advance(1)
  assert.equal((await makeDue(service)).unavailable, 1)
  await scriptFaults(service.simulatorUrl, [])
  service.clock.advance(HOUR_SECONDS)
  assert.equal((await makeDue(service)).made, 1)
  assert.deepEqual(await reportOf(service), MATCHED)
})

it('keeps earlier counts when the platform later refuses', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(UNTIL_FIRST)
  await makeDue(service)
  const [before] = await reportsOf(service)
  const refusal = { status: 400, code: 190, message: 'Session has expired' }
  await scriptFaults(service.simulatorUrl, [{ edge: 'stats', respond: refusal }])
  service.clock.advance(UNTIL_SECOND - UNTIL_FIRST)
  assert.equal((await makeDue(service)).unavailable, 3)
  assert.deepEqual(await reportsOf(service), [before])
  assert.equal((await makeDue(service)).unavailable, 0)
  await scriptFaults(service.simulatorUrl, [])
  service.clock.advance(HOUR_SECONDS)
  assert.equal((await makeDue(service)).made, 3)
  assert.deepEqual(await reportOf(service), MATCHED)
})

it('sends no request for a paused destination or an unreadable credential', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(UNTIL_FIRST)
  const { pool } = service.database
  await pool.query(`update destinations set status = 'inactive'`)
  assert.equal((await makeDue(service)).unavailable, 1)
  const explanation = async () => (await reportsOf(service))[0].unavailable.sentence
  assert.match(await explanation(), /The destination is inactive: set a working credential/)
  await pool.query(`update destinations set status = 'active', sealed_credential = '\\x00'`)
  service.clock.advance(HOUR_SECONDS)
  assert.equal((await makeDue(service)).unavailable, 1)
  assert.match(await explanation(), /cannot be opened with SIGNALBOX_CREDENTIAL_KEY/)
})

it('makes the other reports when one fails, then throws', async test => {
  const service = await serviceWithSales(test)
  const other = await service.newTracker()
  const body = samplePurchase()
  await service.request('POST', '/api/v1/events', { secret: other.trackerSecret, body })
  await service.deliver()
  service.clock.advance(UNTIL_FIRST)
  let calls = 0
  const platforms = service.delivery.platforms.map(platform => ({
    ...platform,
    readDayCounts: (...asked) => {
      calls += 1
      if (calls === 1) throw new Error('a bug')
      return platform.readDayCounts(...asked)
    },
  }))
  const context = { ...service.delivery, platforms }
  await assert.rejects(makeDueReports(context, { now: service.clock.now() }), AggregateError)
  const { rows } = await service.database.pool.query('select status from reconciliation_reports')
  assert.deepEqual(rows, [{ status: 'matched' }])
  assert.deepEqual(await makeDue(service), { made: 1, unavailable: 0, more: false })
})

it('makes each report once when several processes run concurrently', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(6 * 24 * HOUR_SECONDS)
  await Promise.all(Array.from({ length: 4 }, () => makeDue(service)))
  const { rows } = await service.database.pool.query(
    `select count(*) as reports, count(distinct id) as ids, count(distinct report_date) as days,
       bool_and(status = 'matched') as all_matched
     from reconciliation_reports`,
  )
  assert.deepEqual(rows, [{ reports: 6, ids: 6, days: 6, all_matched: true }])
})

it('stops when aborted and returns that more is due', async test => {
  const service = await serviceWithSales(test)
  service.clock.advance(UNTIL_FIRST)
  const due = { now: service.clock.now(), signal: AbortSignal.abort() }
  const made = await makeDueReports(service.delivery, due)
  assert.deepEqual(made, { made: 0, unavailable: 0, more: true })
})

it('makes no report for a destination without events', async test => {
  const service = await startTestService(test)
  await submit(service, {})
  service.clock.advance(UNTIL_FIRST)
  assert.deepEqual(await makeDue(service), { made: 0, unavailable: 0, more: false })
})
