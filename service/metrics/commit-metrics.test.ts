import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Refusal } from '../http/refusal.ts'
import { GroupCommit } from '../ingestion/group-commit.ts'
import { commitFailureMetrics, commitMetrics, commitQueueMetrics } from './commit-metrics.ts'
import { type MetricsRegistry, metricsPage, metricsRegistry } from './metrics-registry.ts'

async function shown(registry: MetricsRegistry, name: RegExp): Promise<string[]> {
  const { text } = await metricsPage(registry)
  return text.split('\n').filter(line => name.test(line))
}

it('counts what is new apart from what was there, and how large the commits are', async () => {
  const registry = metricsRegistry()
  const onCommitted = commitMetrics(registry)
  onCommitted({ eventCount: 40, newCount: 37, seconds: 0.5 })
  onCommitted({ eventCount: 1, newCount: 1, seconds: 0.25 })
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

it('shows what failed, by whose fault it was and how much of it in a row', async () => {
  const registry = metricsRegistry()
  const troubles = { failures: { store: 0, event: 0 }, failuresInRow: 0 }
  commitFailureMetrics(registry, troubles)
  assert.deepEqual(await shown(registry, /^signalbox_commit_failures/), [
    'signalbox_commit_failures_total{cause="store"} 0',
    'signalbox_commit_failures_total{cause="event"} 0',
    'signalbox_commit_failures_consecutive 0',
  ])
  troubles.failures.store = 5
  troubles.failuresInRow = 2
  assert.deepEqual(await shown(registry, /^signalbox_commit_failures/), [
    'signalbox_commit_failures_total{cause="store"} 5',
    'signalbox_commit_failures_total{cause="event"} 0',
    'signalbox_commit_failures_consecutive 2',
  ])
})

it('shows what waits now, and how often nothing more could', async () => {
  const committing = Promise.withResolvers<void>()
  const commits = new GroupCommit<string, boolean>({
    commit: async items => {
      await committing.promise
      return items.map(() => true)
    },
    itemsMax: 1,
    queueMax: 1,
  })
  const registry = metricsRegistry()
  commitQueueMetrics(registry, () => commits, 1)
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
