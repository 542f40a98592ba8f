import { LIMIT_NAMES, type LimitName } from '../../runtime/http/request-limits.ts'
import type { CompletedRequest } from '../../runtime/http/service-app.ts'
import type { CommittedGroup } from '../../signals/ingestion/event-commit-queue.ts'
import {
  createCounter,
  createGauge,
  createHistogram,
  createLabelCounter,
  createTracedHistogram,
  type MetricsRegistry,
} from './metrics-registry.ts'

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
  const observe = createTracedHistogram(
    registry,
    'signalbox_http_request_duration_seconds',
    REQUEST_SECONDS_BUCKETS,
  )
  return ({ operation, method, status, seconds, traceId }) => {
    const route = operation === null ? UNMATCHED_ROUTE : { operation, method }
    observe(seconds, traceId, { ...route, status })
  }
}

/** The callbacks for each rejected request. */
interface RateLimitMeter {
  onLimited: (name: LimitName) => void
  onShed: () => void
}

/** Counts requests that were rejected before any work. */
export function registerRateLimitMetrics(registry: MetricsRegistry): RateLimitMeter {
  const countLimited = createLabelCounter(registry, 'signalbox_rate_limited_total', LIMIT_NAMES)
  const shed = createCounter(registry, 'signalbox_http_shed_total')
  return { onLimited: name => countLimited(name), onShed: () => shed.inc() }
}

const EVENTS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
const COMMIT_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Counts stored events. Returns the callback for each commit. */
export function registerCommitMetrics(registry: MetricsRegistry): (group: CommittedGroup) => void {
  const countEvents = createLabelCounter(registry, 'signalbox_events_total', [
    'accepted',
    'duplicate',
  ])
  const sizes = createHistogram(registry, 'signalbox_commit_events', EVENTS_BUCKETS)
  const observeDuration = createTracedHistogram(
    registry,
    'signalbox_commit_duration_seconds',
    COMMIT_SECONDS_BUCKETS,
  )
  return ({ eventCount, newCount, seconds, traceId }) => {
    countEvents('accepted', newCount)
    countEvents('duplicate', eventCount - newCount)
    sizes.observe(eventCount)
    observeDuration(seconds, traceId)
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
  createCounter(registry, 'signalbox_commit_failures_total', {
    collect() {
      this.reset()
      for (const [cause, count] of Object.entries(commits.failures)) this.inc({ cause }, count)
    },
  })
  createGauge(registry, 'signalbox_commit_failures_consecutive', {
    aggregator: 'max',
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
  createGauge(registry, 'signalbox_commit_queue_events', {
    collect() {
      this.set(queue().queued)
    },
  })
  createGauge(registry, 'signalbox_commit_queue_events_max').set(queueMax)
  createCounter(registry, 'signalbox_commit_queue_refusals_total', {
    collect() {
      this.reset()
      this.inc(queue().refusals)
    },
  })
}
