import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Refusal } from '../../runtime/http/refusal.ts'
import { LIMIT_NAMES, type LimitName } from '../../runtime/http/request-limits.ts'
import { GroupCommit } from '../../signals/ingestion/group-commit.ts'
import {
  registerCommitFailureMetrics,
  registerCommitMetrics,
  registerCommitQueueMetrics,
  registerHttpMetrics,
  registerRateLimitMetrics,
} from './ingestion-metrics.ts'
import { createMetricsRegistry, type MetricsRegistry, renderMetrics } from './metrics-registry.ts'

function figuresUnderTest() {
  const registry = createMetricsRegistry()
  const onAnswered = registerHttpMetrics(registry)
  const shown = async () => {
    const { text } = await renderMetrics(registry)
    return text.match(/^signalbox_http_request_duration_seconds_(count|sum).*$/gm)?.sort() ?? []
  }
  return { onAnswered, shown }
}

it('has one series per operation, method and status', async () => {
  const { onAnswered, shown } = figuresUnderTest()
  assert.deepEqual(await shown(), [])
  const answered = { operation: 'createEvent', method: 'POST', seconds: 0.25, traceId: null }
  onAnswered({ ...answered, status: 202 })
  onAnswered({ ...answered, status: 202 })
  onAnswered({ ...answered, status: 503 })
  const of = (status: number) => `{operation="createEvent",method="POST",status="${status}"}`
  assert.deepEqual(await shown(), [
    `signalbox_http_request_duration_seconds_count${of(202)} 2`,
    `signalbox_http_request_duration_seconds_count${of(503)} 1`,
    `signalbox_http_request_duration_seconds_sum${of(202)} 0.5`,
    `signalbox_http_request_duration_seconds_sum${of(503)} 0.25`,
  ])
})

it('has one series for all unknown paths', async () => {
  const { onAnswered, shown } = figuresUnderTest()
  for (const method of ['GET', 'PROPFIND', 'UNLOCK', 'M-SEARCH']) {
    onAnswered({ operation: null, method, status: 404, seconds: 1, traceId: null })
  }
  assert.deepEqual(await shown(), [
    'signalbox_http_request_duration_seconds_count{operation="none",method="any",status="404"} 4',
    'signalbox_http_request_duration_seconds_sum{operation="none",method="any",status="404"} 4',
  ])
})

it('shows every limit from the start and counts rejected requests', async () => {
  const registry = createMetricsRegistry()
  const { onLimited, onShed } = registerRateLimitMetrics(registry)
  const shown = async () => {
    const { text } = await renderMetrics(registry)
    return text.match(/^signalbox_(rate_limited|http_shed)_total.*$/gm)?.sort()
  }
  const ofLimits = (tracker: number, sandbox: number) => {
    const counts: Partial<Record<LimitName, number>> = { tracker, sandbox }
    const line = (name: LimitName) =>
      `signalbox_rate_limited_total{limit="${name}"} ${counts[name] ?? 0}`
    return LIMIT_NAMES.map(line).sort()
  }
  assert.deepEqual(await shown(), ['signalbox_http_shed_total 0', ...ofLimits(0, 0)])
  onLimited('tracker')
  onLimited('tracker')
  onLimited('sandbox')
  onShed()
  assert.deepEqual(await shown(), ['signalbox_http_shed_total 1', ...ofLimits(2, 1)])
})

async function shown(registry: MetricsRegistry, name: RegExp): Promise<string[]> {
  const { text } = await renderMetrics(registry)
  return text.split('\n').filter(line => name.test(line))
}

it('counts new events and duplicates separately, and the sizes of commits', async () => {
  const registry = createMetricsRegistry()
  const onCommitted = registerCommitMetrics(registry)
  onCommitted({ eventCount: 40, newCount: 37, seconds: 0.5, traceId: null })
  onCommitted({ eventCount: 1, newCount: 1, seconds: 0.25, traceId: null })
  assert.deepEqual(await shown(registry, /^signalbox_events_total/), [
    'signalbox_events_total{result="accepted"} 38',
    'signalbox_events_total{result="duplicate"} 3',
  ])
  assert.deepEqual(await shown(registry, /^signalbox_commit_\w+_(sum|count)/), [
    'signalbox_commit_events_sum 41',
    'signalbox_commit_events_count 2',
    'signalbox_commit_duration_seconds_sum 0.75',
    'signalbox_commit_duration_seconds_count 2',
  ])
})

it('shows failed commits by cause and the current series', async () => {
  const registry = createMetricsRegistry()
  const troubles = { failures: { store: 0, event: 0 }, consecutiveFailures: 0 }
  registerCommitFailureMetrics(registry, troubles)
  assert.deepEqual(await shown(registry, /^signalbox_commit_failures/), [
    'signalbox_commit_failures_total{cause="store"} 0',
    'signalbox_commit_failures_total{cause="event"} 0',
    'signalbox_commit_failures_consecutive 0',
  ])
  troubles.failures.store = 5
  troubles.consecutiveFailures = 2
  assert.deepEqual(await shown(registry, /^signalbox_commit_failures/), [
    'signalbox_commit_failures_total{cause="store"} 5',
    'signalbox_commit_failures_total{cause="event"} 0',
    'signalbox_commit_failures_consecutive 2',
  ])
})

it('shows queued events and rejections of a full queue', async () => {
  const committing = Promise.withResolvers<void>()
  const commits = new GroupCommit<string, boolean>({
    commit: async items => {
      await committing.promise
      return items.map(() => true)
    },
    itemsMax: 1,
    queueMax: 1,
  })
  const registry = createMetricsRegistry()
  registerCommitQueueMetrics(registry, () => commits, 1)
  const first = commits.submit('in flight')
  await new Promise(setImmediate)
  const second = commits.submit('waits')
  assert.throws(() => commits.submit('too many'), Refusal)
  assert.deepEqual(await shown(registry, /^signalbox_commit_queue/), [
    'signalbox_commit_queue_events 1',
    'signalbox_commit_queue_events_max 1',
    'signalbox_commit_queue_refusals_total 1',
  ])
  committing.resolve()
  assert.deepEqual(await Promise.all([first, second]), [true, true])
  assert.deepEqual(await shown(registry, /^signalbox_commit_queue_(events|refusals_total) /), [
    'signalbox_commit_queue_events 0',
    'signalbox_commit_queue_refusals_total 1',
  ])
})
