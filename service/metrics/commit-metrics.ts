import { Counter, Gauge, Histogram } from 'prom-client'
import type { CommittedEvents } from '../ingestion/event-commits.ts'
import { labelCounter } from './label-counter.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

const EVENTS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Counts events as they become durable. Returns what is to be called after each commit. */
export function commitMetrics(registry: MetricsRegistry): (group: CommittedEvents) => void {
  const countEvents = labelCounter(registry, {
    name: 'signalbox_events_total',
    help: 'Events that were stored, and repeated ones that were stored before.',
    label: 'result',
    values: ['accepted', 'duplicate'],
  })
  const sizes = new Histogram({
    name: 'signalbox_commit_events',
    help: 'Events in one commit.',
    buckets: EVENTS_BUCKETS,
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'signalbox_commit_duration_seconds',
    help: 'Time of one commit, from planning its events to the disk.',
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  return ({ eventCount, newCount, seconds }) => {
    countEvents('accepted', newCount)
    countEvents('duplicate', eventCount - newCount)
    sizes.observe(eventCount)
    durations.observe(seconds)
  }
}

/** What the store did with commits, as far as it took none of them. */
export interface CommitTroubles {
  failures: { store: number; event: number }
  failuresInRow: number
}

/** Shows commits that failed, in sum and at this moment. */
export function commitFailureMetrics(
  registry: MetricsRegistry,
  troubles: Readonly<CommitTroubles>,
): void {
  new Counter({
    name: 'signalbox_commit_failures_total',
    help: 'Commits that failed: the store refused them (store), or an event in them (event).',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [cause, count] of Object.entries(troubles.failures)) this.inc({ cause }, count)
    },
  })
  new Gauge({
    name: 'signalbox_commit_failures_consecutive',
    help: 'Commits that the store refused since the last one that it took.',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(troubles.failuresInRow)
    },
  })
}

/** What waits for a commit. */
export interface CommitQueue {
  queued: number
  /** Events that found the queue full, since the start. */
  refusals: number
}

/** Shows the queue in front of the commits. */
export function commitQueueMetrics(
  registry: MetricsRegistry,
  queue: () => CommitQueue,
  queueMax: number,
): void {
  new Gauge({
    name: 'signalbox_commit_queue_events',
    help: 'Events that wait for a commit.',
    registers: [registry],
    collect() {
      this.set(queue().queued)
    },
  })
  new Gauge({
    name: 'signalbox_commit_queue_events_max',
    help: 'Events that may wait for a commit (SIGNALBOX_INGEST_QUEUE_MAX).',
    registers: [registry],
  }).set(queueMax)
  new Counter({
    name: 'signalbox_commit_queue_refusals_total',
    help: 'Events answered 503 because the queue was full.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(queue().refusals)
    },
  })
}
