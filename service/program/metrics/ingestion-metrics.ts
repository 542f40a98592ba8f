import { Counter, Gauge, Histogram } from 'prom-client'
import { LIMIT_NAMES, type LimitName } from '../../runtime/http/request-limits.ts'
import type { CompletedRequest } from '../../runtime/http/service-app.ts'
import type { CommittedGroup } from '../../signals/ingestion/event-commit-queue.ts'
import { createLabelCounter, type MetricsRegistry } from './metrics-registry.ts'

/** Finest between 1 and 50 milliseconds, the time of a commit. */
const REQUEST_SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** Requests to unknown paths share one series. */
const UNMATCHED_ROUTE = { operation: 'none', method: 'any' }

/** Counts responses and their durations. Returns the callback for each response. */
export function registerHttpMetrics(
  registry: MetricsRegistry,
): (request: CompletedRequest) => void {
  const durations = new Histogram({
    name: 'signalbox_http_request_duration_seconds',
    help: 'Time from a request to the end of its response.',
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

/** The callbacks for each rejected request. */
interface RateLimitMeter {
  onLimited: (name: LimitName) => void
  onShed: () => void
}

/** Counts requests that were rejected before any work. */
export function registerRateLimitMetrics(registry: MetricsRegistry): RateLimitMeter {
  const countLimited = createLabelCounter(registry, {
    name: 'signalbox_rate_limited_total',
    help: 'Requests answered with 429, by the limit that they exceeded.',
    label: 'limit',
    values: LIMIT_NAMES,
  })
  const shed = new Counter({
    name: 'signalbox_http_shed_total',
    help: 'Requests answered with 503 because the process was overloaded.',
    registers: [registry],
  })
  return { onLimited: name => countLimited(name), onShed: () => shed.inc() }
}

const EVENTS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
const COMMIT_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Counts stored events. Returns the callback for each commit. */
export function registerCommitMetrics(registry: MetricsRegistry): (group: CommittedGroup) => void {
  const countEvents = createLabelCounter(registry, {
    name: 'signalbox_events_total',
    help: 'Events that were stored (accepted) or had been stored before (duplicate).',
    label: 'result',
    values: ['accepted', 'duplicate'],
  })
  const sizes = new Histogram({
    name: 'signalbox_commit_events',
    help: 'Events per commit.',
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

/** Failed commits. */
interface CommitFailures {
  failures: { store: number; event: number }
  consecutiveFailures: number
}

/** Shows failed commits: the total and the current series. */
export function registerCommitFailureMetrics(
  registry: MetricsRegistry,
  commits: Readonly<CommitFailures>,
): void {
  new Counter({
    name: 'signalbox_commit_failures_total',
    help: 'Failed commits: the database failed (store), or an event in them (event).',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [cause, count] of Object.entries(commits.failures)) this.inc({ cause }, count)
    },
  })
  new Gauge({
    name: 'signalbox_commit_failures_consecutive',
    help: 'Failed commits since the last successful one.',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(commits.consecutiveFailures)
    },
  })
}

/** Events that wait for a commit. */
export interface CommitQueueState {
  queued: number
  /** Events rejected because the queue was full, since the start. */
  refusals: number
}

/** Shows the queue of events that wait for a commit. */
export function registerCommitQueueMetrics(
  registry: MetricsRegistry,
  queue: () => CommitQueueState,
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
    help: 'Maximum number of events that wait for a commit (SIGNALBOX_INGEST_QUEUE_MAX).',
    registers: [registry],
  }).set(queueMax)
  new Counter({
    name: 'signalbox_commit_queue_refusals_total',
    help: 'Events answered with 503 because the queue was full.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(queue().refusals)
    },
  })
}
