import { Counter, Gauge, Histogram } from 'prom-client'
import { LIMIT_NAMES, type LimitName } from '../access/request-limits.ts'
import type { CompletedRequest } from '../http/service-app.ts'
import type { CommittedGroup } from '../ingestion/event-commit-queue.ts'
import { createLabelCounter, type MetricsRegistry } from './metrics-registry.ts'

/** Finest where a commit takes its time: 1 to 50 milliseconds. */
const REQUEST_SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** Whoever asks for paths that are not there, by whatever method, makes no series of their own. */
const UNMATCHED_ROUTE = { operation: 'none', method: 'any' }

/** Counts answers and how long they took. Returns what is to be called for each of them. */
export function registerHttpMetrics(
  registry: MetricsRegistry,
): (answered: CompletedRequest) => void {
  const durations = new Histogram({
    name: 'signalbox_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer.',
    labelNames: ['operation', 'method', 'status'],
    buckets: REQUEST_SECONDS_BUCKETS,
    registers: [registry],
  })
  const series = new Map<string, ReturnType<typeof durations.labels>>()
  return ({ operation, method, status, seconds }) => {
    const route = operation === null ? UNMATCHED_ROUTE : { operation, method }
    const key = `${route.operation} ${route.method} ${status}`
    const known = series.get(key) ?? durations.labels({ ...route, status })
    series.set(key, known)
    known.observe(seconds)
  }
}

/** What is to be called for each request that was not let in. */
interface RateLimitMeter {
  onLimited: (name: LimitName) => void
  onShed: () => void
}

/** Counts requests that were turned away before anything was done for them. */
export function registerRateLimitMetrics(registry: MetricsRegistry): RateLimitMeter {
  const countLimited = createLabelCounter(registry, {
    name: 'signalbox_rate_limited_total',
    help: 'Requests answered 429, by the limit that they met.',
    label: 'limit',
    values: LIMIT_NAMES,
  })
  const shed = new Counter({
    name: 'signalbox_http_shed_total',
    help: 'Requests answered 503 because the process had too much to do.',
    registers: [registry],
  })
  return { onLimited: name => countLimited(name), onShed: () => shed.inc() }
}

const EVENTS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
const COMMIT_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Counts events as they become durable. Returns what is to be called after each commit. */
export function registerCommitMetrics(registry: MetricsRegistry): (group: CommittedGroup) => void {
  const countEvents = createLabelCounter(registry, {
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
    buckets: COMMIT_SECONDS_BUCKETS,
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
interface CommitFailures {
  failures: { store: number; event: number }
  consecutiveFailures: number
}

/** Shows commits that failed, in sum and at this moment. */
export function registerCommitFailureMetrics(
  registry: MetricsRegistry,
  troubles: Readonly<CommitFailures>,
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
      this.set(troubles.consecutiveFailures)
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
export function registerCommitQueueMetrics(
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
