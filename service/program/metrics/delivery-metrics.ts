import {
  ALERT_KINDS,
  type AlertKind,
  WORKSPACE_ALERT_KINDS,
  type WorkspaceAlertKind,
} from '@signalbox/contract/alerts.ts'
import { DESTINATION_STATUSES } from '@signalbox/contract/destinations.ts'
import { SEND_OUTCOMES, UNAVAILABLE_CAUSES } from '@signalbox/contract/reasons.ts'
import { findActiveWork, traceIdOf } from '../../runtime/tracing/tracer.ts'
import { singleFlight } from '../../runtime/util/load-cache.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DestinationStatusChange } from '../../signals/delivery/delivery-context.ts'
import { STATUS_TRANSITIONS, type StatusAfterSent } from '../../signals/delivery/delivery-status.ts'
import type { Platform } from '../../signals/platforms/platform.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import {
  NOTIFICATION_CHANNELS,
  type NotificationChannel,
} from '../../workspaces/notifications/notification.ts'
import {
  createCounter,
  createGauge,
  createHistogram,
  createLabelCounter,
  createTracedHistogram,
  type MetricsRegistry,
} from './metrics-registry.ts'

/** What a worker reports about its work. */
export interface DeliveryMeter {
  onSettled: (settlements: readonly { status: StatusAfterSent }[], seconds: number) => void
  onClaimed: (seconds: number) => void
  onSettleRetry: () => void
  onQueuesChecked: (seconds: number) => void
  onError: () => void
}

/** A query plan that reads the whole table takes seconds, and more as the table grows. */
const STORE_SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
]
const POLL_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Counts the work of a delivery worker. Returns the callbacks for the worker. */
export function registerDeliveryMetrics(registry: MetricsRegistry): DeliveryMeter {
  const countSettled = createLabelCounter(
    registry,
    'signalbox_deliveries_settled_total',
    STATUS_TRANSITIONS.sent.filter(status => status !== 'sent'),
  )
  const observeSettlement = createTracedHistogram(
    registry,
    'signalbox_delivery_settle_duration_seconds',
    STORE_SECONDS_BUCKETS,
  )
  const retries = createCounter(registry, 'signalbox_delivery_settle_retries_total')
  const claimDurations = createHistogram(
    registry,
    'signalbox_delivery_claim_duration_seconds',
    STORE_SECONDS_BUCKETS,
  )
  const searchDurations = createHistogram(
    registry,
    'signalbox_delivery_look_duration_seconds',
    POLL_SECONDS_BUCKETS,
  )
  const errors = createCounter(registry, 'signalbox_delivery_errors_total')
  return {
    onSettled: (settlements, seconds) => {
      observeSettlement(seconds, traceIdOf(findActiveWork()?.span))
      for (const { status } of settlements) if (status !== 'sent') countSettled(status)
    },
    onClaimed: seconds => claimDurations.observe(seconds),
    onSettleRetry: () => retries.inc(),
    onQueuesChecked: seconds => searchDurations.observe(seconds),
    onError: () => errors.inc(),
  }
}

/** Counts pauses and resumptions of destinations. Returns the callback for a new status. */
export function registerDestinationMetrics(
  registry: MetricsRegistry,
): (status: DestinationStatusChange['status']) => void {
  return createLabelCounter(registry, 'signalbox_destinations_moved_total', DESTINATION_STATUSES)
}

interface MeteredWorker {
  countCircuits(): CircuitCounts
  requestsInFlight(): number
}

/** Shows the current work of a delivery worker. */
export function registerWorkerMetrics(
  registry: MetricsRegistry,
  worker: MeteredWorker,
  requestsMax: number,
): void {
  createGauge(registry, 'signalbox_delivery_requests_in_flight', {
    collect() {
      this.set(worker.requestsInFlight())
    },
  })
  createGauge(registry, 'signalbox_delivery_requests_max').set(requestsMax)
  createGauge(registry, 'signalbox_delivery_destinations', {
    collect() {
      for (const [circuit, count] of Object.entries(worker.countCircuits())) {
        this.set({ circuit }, count)
      }
    },
  })
}

/** What a read of a report ends with. */
const READ_OUTCOMES = ['read', ...UNAVAILABLE_CAUSES] as const

/** A platform answers within tenths of a second; a request times out after ten seconds. */
const PLATFORM_SECONDS_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 3, 5, 7.5, 10]

/** The same platforms, with their requests and reads counted by outcome. */
export function withPlatformMetrics(
  registry: MetricsRegistry,
  platforms: PlatformRegistry,
): PlatformRegistry {
  const measureSend = registerSendMetrics(registry)
  const countReads = registerReadMetrics(registry)
  return platforms.map(platform => ({
    ...platform,
    ...measureSend(platform),
    ...countReads(platform),
  }))
}

function registerSendMetrics(
  registry: MetricsRegistry,
): (platform: Platform) => Pick<Platform, 'send'> {
  const countRequest = createLabelCounter(
    registry,
    'signalbox_platform_requests_total',
    SEND_OUTCOMES,
  )
  const countEvents = createLabelCounter(
    registry,
    'signalbox_platform_request_events_total',
    SEND_OUTCOMES,
  )
  const observeDuration = createTracedHistogram(
    registry,
    'signalbox_platform_request_duration_seconds',
    PLATFORM_SECONDS_BUCKETS,
  )
  return platform => ({
    async send(connection, events) {
      const start = performance.now()
      const answer = await platform.send(connection, events)
      observeDuration((performance.now() - start) / 1_000, traceIdOf(findActiveWork()?.span))
      countRequest(answer.outcome)
      countEvents(answer.outcome, events.length)
      return answer
    },
  })
}

function registerReadMetrics(
  registry: MetricsRegistry,
): (platform: Platform) => Pick<Platform, 'readDayCounts' | 'readMatchQuality'> {
  const countRead = createLabelCounter(registry, 'signalbox_platform_reads_total', READ_OUTCOMES)
  return platform => ({
    async readDayCounts(credentials, day, source) {
      const answer = await platform.readDayCounts(credentials, day, source)
      countRead(answer.kind === 'unavailable' ? answer.cause : 'read')
      return answer
    },
    async readMatchQuality(credentials) {
      const answer = await platform.readMatchQuality(credentials)
      countRead(answer.kind === 'unavailable' ? answer.cause : 'read')
      return answer
    },
  })
}

const ALL_ALERT_KINDS = [...ALERT_KINDS, ...WORKSPACE_ALERT_KINDS]
type AnyAlertKind = AlertKind | WorkspaceAlertKind

/** Counts raised alerts. Returns the callback for each alert. */
export function registerAlertMetrics(registry: MetricsRegistry): (kind: AnyAlertKind) => void {
  return createLabelCounter(registry, 'signalbox_alerts_raised_total', ALL_ALERT_KINDS)
}

/** Counts messages of notifications that were given up. Returns the callback for each one. */
export function registerNotificationMetrics(
  registry: MetricsRegistry,
): (channel: NotificationChannel) => void {
  return createLabelCounter(registry, 'signalbox_notifications_failed_total', NOTIFICATION_CHANNELS)
}

/** Shows the open alerts. There is no value while the database does not answer. */
export function registerOpenAlertMetrics(
  registry: MetricsRegistry,
  read: () => Promise<Partial<Record<AnyAlertKind, number>>>,
): void {
  const readOpen = singleFlight(() => read().catch(() => null))
  createGauge(registry, 'signalbox_alerts_open', {
    async collect() {
      this.reset()
      const counts = await readOpen()
      if (!counts) return
      for (const kind of ALL_ALERT_KINDS) this.set({ kind }, counts[kind] ?? 0)
    },
  })
}
