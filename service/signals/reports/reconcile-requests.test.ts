import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  connectScripted,
  type ScriptedPlatform,
  startScriptedPlatform,
} from '../../../testing/fixtures/scripted-platform.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { pollReceipts } from '../delivery/poll-receipts.ts'
import type { RequestsOfDay } from '../delivery/receipt-store.ts'
import type { Platform, ReceiptResult } from '../platforms/platform.ts'
import { refreshReports } from './make-reports.ts'
import { reconcileRequests } from './reconcile-requests.ts'

const DAY = '2026-11-21'
const COUNTING: NonNullable<Platform['counting']> = {
  source: 'request_results',
  label: 'Processed events',
  meaning: 'What it processed.',
  noValues: 'It reports no values.',
  duplicateReasons: ['SEEN_BEFORE'],
}

/** A second destination whose platform tells the results of requests only. */
async function startCounting(test: TestContext) {
  const scripted = await startScriptedPlatform(test)
  const platform = { ...scripted.platform, counting: COUNTING }
  const service = await startTestService(test, { morePlatforms: [platform] })
  const destinationId = await connectScripted(service)
  return { scripted, service, destinationId }
}

/** Events of one request, whose result the platform tells within the hour. */
async function sendRequest(
  { scripted, service }: { scripted: ScriptedPlatform; service: TestService },
  ids: readonly string[],
  result: Partial<ReceiptResult> | null,
): Promise<void> {
  const receiptId = `receipt-of-${ids[0]}`
  for (const event_id of ids) {
    const { status, text } = await service.submit(samplePurchase({ event_id }))
    assert.equal(status, 202, text)
  }
  scripted.script.push(() => ({ receiptId }))
  if (result) scripted.receipts.set(receiptId, { ...RECEIPT, ...result })
  await service.deliver()
  service.clock.advance(3_600)
  await pollReceipts(service.delivery, { now: service.clock.now() })
}

const RECEIPT: ReceiptResult = {
  kind: 'receipt',
  state: 'succeeded',
  recordCount: null,
  errors: [],
  warnings: [],
  answer: null,
}

async function reportOf(service: TestService, destinationId: string) {
  service.clock.advance(86_400)
  const { trackerId } = service.tracker
  const context = { ...service.delivery, now: service.delivery.now }
  await refreshReports(context, { trackerId, date: DAY })
  const { body } = await service.request('GET', `/api/v1/reports/reconciliation?date=${DAY}`)
  return body.reports.find(
    (each: { destination_id: string }) => each.destination_id === destinationId,
  )
}

it('answers why the platform shows fewer events than were sent', async test => {
  const { scripted, service, destinationId } = await startCounting(test)
  const source = { scripted, service }
  await sendRequest(source, ['a', 'b', 'c'], {
    state: 'partially_succeeded',
    recordCount: 1,
    errors: [
      { reason: 'EVENT_TOO_OLD', count: 1 },
      { reason: 'SEEN_BEFORE', count: 1 },
    ],
  })
  await sendRequest(source, ['d', 'e'], {
    state: 'failed',
    recordCount: 0,
    errors: [{ reason: 'NOT_LINKED', count: 2 }],
  })
  await sendRequest(source, ['f'], null)
  const report = await reportOf(service, destinationId)
  assert.partialDeepStrictEqual(report, {
    accepted_count: 4,
    meta_count: 1,
    observed_gap: 3,
    unexplained_residual: 0,
    status: 'pending',
    event_counts: { accepted: { Purchase: 4 }, meta: {} },
    count_source: { source: 'request_results', platform: 'Scripted', label: 'Processed events' },
    unavailable: null,
    buckets: {
      pending: { count: 1 },
      platform_refused: { count: 1 },
      platform_deduplicated: { count: 1 },
      unknown_outcome: { count: 0 },
    },
    outcomes: [{ status: 'failed:permanent', reason: 'request_failed', count: 2 }],
    requests: {
      requests: 3,
      events: 6,
      processed_events: 1,
      processing_events: 1,
      unknown_events: 0,
      failed_events: 2,
    },
    values: {
      accepted: [{ event_name: 'Purchase', currency: 'EUR', events: 4, amount: '79.80' }],
      reported: null,
      explanation: 'It reports no values.',
    },
  })
  assert.deepEqual(report.requests.refusals, [
    { reason: 'NOT_LINKED', count: 2 },
    { reason: 'EVENT_TOO_OLD', count: 1 },
    { reason: 'SEEN_BEFORE', count: 1 },
  ])
  assert.match(report.buckets.platform_refused.explanation, /1 EVENT_TOO_OLD/)
})

it('has no count while the platform has told no result', async test => {
  const { scripted, service, destinationId } = await startCounting(test)
  await sendRequest({ scripted, service }, ['a'], null)
  const report = await reportOf(service, destinationId)
  assert.partialDeepStrictEqual(report, {
    accepted_count: 1,
    meta_count: 0,
    observed_gap: 1,
    unexplained_residual: 1,
    status: 'unavailable',
    unavailable: { cause: 'no_result' },
    requests: { requests: 1, processing_events: 1 },
  })
})

it('has no count of a day on which nothing was sent', async test => {
  const { service, destinationId } = await startCounting(test)
  const report = await reportOf(service, destinationId)
  assert.partialDeepStrictEqual(report, {
    accepted_count: 0,
    meta_count: 0,
    status: 'unavailable',
    unavailable: { cause: 'no_request' },
  })
})

it('reads the counts of another destination of the same day from its own report', async test => {
  const { scripted, service, destinationId } = await startCounting(test)
  await sendRequest({ scripted, service }, ['a', 'b'], { recordCount: 2 })
  const report = await reportOf(service, destinationId)
  assert.deepEqual([report.meta_count, report.status], [2, 'matched'])
  const { body } = await service.request('GET', `/api/v1/reports/reconciliation?date=${DAY}`)
  assert.equal(body.reports.length, 2)
  const other = body.reports.find(
    (each: { destination_id: string }) => each.destination_id !== destinationId,
  )
  assert.deepEqual([other.meta_count, other.count_source.source], [2, 'day_report'])
  assert.equal(other.values.accepted[0].amount, '39.90')
})

it('shows the values that a platform reports', async test => {
  const { service, destinationId } = await startCounting(test)
  await service.submit(samplePurchase())
  await service.deliver()
  const reported = [{ currency: 'EUR', amount: '19.95' }]
  const platforms = service.delivery.platforms.map(({ counting: _, ...platform }) => ({
    ...platform,
    readDayCounts: async () => ({
      kind: 'counts' as const,
      counts: { Purchase: 1 },
      isTruncated: false,
      values: reported,
    }),
  }))
  service.clock.advance(86_400)
  const context = { ...service.delivery, platforms }
  const { trackerId } = service.tracker
  await refreshReports(context, { trackerId, date: DAY })
  const { body } = await service.request('GET', `/api/v1/reports/reconciliation?date=${DAY}`)
  const own = body.reports.find(
    (each: { destination_id: string }) => each.destination_id === destinationId,
  )
  assert.deepEqual(own.values.reported, reported)
  assert.equal(own.values.accepted[0].amount, '19.95')
})

it('always adds up to the gap', () => {
  const count = fc.nat({ max: 1_000 })
  const requestsOf = fc.record({ processed: count, lost: count, copies: count, open: count })
  fc.assert(
    fc.property(requestsOf, count, ({ processed, lost, copies, open }, accepted) => {
      const requests: RequestsOfDay = {
        requests: 3,
        events: processed + lost + open * 2,
        knownEvents: processed + lost,
        processedEvents: processed,
        processingEvents: open,
        unknownEvents: open,
        failedEvents: 0,
        refusals: [],
        partialRefusals: [{ reason: 'SEEN_BEFORE', count: copies }],
      }
      const own = { sent: [], waiting: { names: [], isTruncated: false } }
      const day = reconcileRequests(
        { own, requests, duplicateReasons: ['SEEN_BEFORE'] },
        { Purchase: accepted },
      )
      const explained = Object.values(day.buckets).reduce((sum, { count: own }) => sum + own, 0)
      assert.equal(accepted - day.platformCount, explained + day.unexplainedResidual)
      assert.ok((day.buckets.platform_refused?.count ?? -1) >= 0)
    }),
  )
})
