import {
  ALERT_KINDS,
  type AlertKind,
  WORKSPACE_ALERT_KINDS,
  type WorkspaceAlertKind,
} from '@signalbox/contract/alerts.ts'
import { Counter, Gauge, Histogram } from 'prom-client'
import { singleFlight } from '../../runtime/util/single-flight.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DestinationStatusChange } from '../../signals/delivery/delivery-context.ts'
import { STATUS_TRANSITIONS, type StatusAfterSent } from '../../signals/delivery/delivery-status.ts'
import type { Platform, SendOutcome, UnavailableCause } from '../../signals/platforms/platform.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import {
  NOTIFICATION_CHANNELS,
  type NotificationChannel,
} from '../../workspaces/notifications/notification.ts'
import { createLabelCounter, type MetricsRegistry } from './metrics-registry.ts'

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
  const countSettled = createLabelCounter(registry, {
    name: 'signalbox_deliveries_settled_total',
    help: 'Settled deliveries by their new status.',
    label: 'status',
    values: STATUS_TRANSITIONS.sent.filter(status => status !== 'sent'),
  })
  const settleDurations = new Histogram({
    name: 'signalbox_delivery_settle_duration_seconds',
    help: 'Time to write the outcome of the deliveries of one request, including retries.',
    buckets: STORE_SECONDS_BUCKETS,
    registers: [registry],
  })
  const retries = new Counter({
    name: 'signalbox_delivery_settle_retries_total',
    help: 'Retries of writing an outcome to the database.',
    registers: [registry],
  })
  const claimDurations = new Histogram({
    name: 'signalbox_delivery_claim_duration_seconds',
    help: 'Time to claim a batch of deliveries.',
    buckets: STORE_SECONDS_BUCKETS,
    registers: [registry],
  })
  const searchDurations = new Histogram({
    name: 'signalbox_delivery_look_duration_seconds',
    help: 'Time to find the destination queues with due deliveries.',
    buckets: POLL_SECONDS_BUCKETS,
    registers: [registry],
  })
  const errors = new Counter({
    name: 'signalbox_delivery_errors_total',
    help: 'Errors of the delivery worker: the database was unavailable, or a bug.',
    registers: [registry],
  })
  return {
    onSettled: (settlements, seconds) => {
      settleDurations.observe(seconds)
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
  return createLabelCounter(registry, {
    name: 'signalbox_destinations_moved_total',
    help: 'Destinations that were paused (inactive) or resumed (active) by an answer.',
    label: 'status',
    values: ['active', 'inactive'],
  })
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
  new Gauge({
    name: 'signalbox_delivery_requests_in_flight',
    help: 'Batches being claimed, sent or settled.',
    registers: [registry],
    collect() {
      this.set(worker.requestsInFlight())
    },
  })
  new Gauge({
    name: 'signalbox_delivery_requests_max',
    help: 'Maximum number of batches in flight (SIGNALBOX_DELIVERY_REQUESTS_MAX).',
    registers: [registry],
  }).set(requestsMax)
  new Gauge({
    name: 'signalbox_delivery_destinations',
    help: 'Destinations that this worker backs off from or probes, by the state of their circuit.',
    labelNames: ['circuit'],
    registers: [registry],
    collect() {
      for (const [circuit, count] of Object.entries(worker.countCircuits())) {
        this.set({ circuit }, count)
      }
    },
  })
}

const SEND_OUTCOMES = Object.keys({
  accepted: true,
  retry: true,
  throttle: true,
  auth: true,
  config: true,
  permanent: true,
  unknown: true,
} satisfies Record<SendOutcome, true>) as SendOutcome[]

const READ_OUTCOMES = Object.keys({
  read: true,
  permission: true,
  credential: true,
  throttled: true,
  out_of_reach: true,
  out_of_range: true,
  unreadable: true,
  unsupported: true,
} satisfies Record<UnavailableCause | 'read', true>) as (UnavailableCause | 'read')[]

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
  const countRequest = createLabelCounter(registry, {
    name: 'signalbox_platform_requests_total',
    help: 'Requests to the platform by outcome.',
    label: 'outcome',
    values: SEND_OUTCOMES,
  })
  const countEvents = createLabelCounter(registry, {
    name: 'signalbox_platform_request_events_total',
    help: 'Events in requests to the platform by outcome; a retry counts again.',
    label: 'outcome',
    values: SEND_OUTCOMES,
  })
  const durations = new Histogram({
    name: 'signalbox_platform_request_duration_seconds',
    help: 'Time until the platform answered or the request timed out.',
    buckets: PLATFORM_SECONDS_BUCKETS,
    registers: [registry],
  })
  return platform => ({
    async send(connection, events) {
      const start = performance.now()
      const answer = await platform.send(connection, events)
      durations.observe((performance.now() - start) / 1_000)
      countRequest(answer.outcome)
      countEvents(answer.outcome, events.length)
      return answer
    },
  })
}

function registerReadMetrics(
  registry: MetricsRegistry,
): (platform: Platform) => Pick<Platform, 'readDayCounts' | 'readMatchQuality'> {
  const countRead = createLabelCounter(registry, {
    name: 'signalbox_platform_reads_total',
    help: 'Reports read from the platform by outcome.',
    label: 'outcome',
    values: READ_OUTCOMES,
  })
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
  return createLabelCounter(registry, {
    name: 'signalbox_alerts_raised_total',
    help: 'Alerts that were raised about a destination or a workspace, by kind.',
    label: 'kind',
    values: ALL_ALERT_KINDS,
  })
}

/** Counts messages of notifications that were given up. Returns the callback for each one. */
export function registerNotificationMetrics(
  registry: MetricsRegistry,
): (channel: NotificationChannel) => void {
  return createLabelCounter(registry, {
    name: 'signalbox_notifications_failed_total',
    help: 'Messages of notifications that were not sent after all attempts, by channel.',
    label: 'channel',
    values: NOTIFICATION_CHANNELS,
  })
}

/** Shows the open alerts. There is no value while the database does not answer. */
export function registerOpenAlertMetrics(
  registry: MetricsRegistry,
  read: () => Promise<Partial<Record<AnyAlertKind, number>>>,
): void {
  const readOpen = singleFlight(() => read().catch(() => null))
  new Gauge({
    name: 'signalbox_alerts_open',
    help: 'Open alerts about destinations and workspaces, of the whole store.',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      this.reset()
      const counts = await readOpen()
      if (!counts) return
      for (const kind of ALL_ALERT_KINDS) this.set({ kind }, counts[kind] ?? 0)
    },
  })
}
