import { Counter, Gauge, Histogram } from 'prom-client'
import type { CircuitCounts } from '../delivery/circuit-breaker.ts'
import type { DestinationStatusChange } from '../delivery/delivery-context.ts'
import { STATUS_TRANSITIONS, type StatusAfterSent } from '../delivery/delivery-status.ts'
import type { Platform, SendOutcome, UnavailableCause } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { ALERT_KINDS, type AlertKind } from '../reports/alert-store.ts'
import { singleFlight } from '../util/single-flight.ts'
import { createLabelCounter, type MetricsRegistry } from './metrics-registry.ts'

/** What a worker tells of its work. */
export interface DeliveryMeter {
  onSettled: (settlements: readonly { status: StatusAfterSent }[], seconds: number) => void
  onClaimed: (seconds: number) => void
  onSettleRetry: () => void
  onLooked: (seconds: number) => void
  onError: () => void
}

/** A plan that reads the whole table takes seconds, and more as the table grows. */
const STORE_SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
]
const POLL_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Counts what a worker does. Returns what is to be called by it. */
export function registerDeliveryMetrics(registry: MetricsRegistry): DeliveryMeter {
  const countSettled = createLabelCounter(registry, {
    name: 'signalbox_deliveries_settled_total',
    help: 'Deliveries that a worker had claimed, by the status that it gave them.',
    label: 'status',
    values: STATUS_TRANSITIONS.sent.filter(status => status !== 'sent'),
  })
  const settles = new Histogram({
    name: 'signalbox_delivery_settle_duration_seconds',
    help: 'Time to write what became of the deliveries of one request, with all that was tried.',
    buckets: STORE_SECONDS_BUCKETS,
    registers: [registry],
  })
  const retries = new Counter({
    name: 'signalbox_delivery_settle_retries_total',
    help: 'Times that an answer of the platform could not be written and was tried again.',
    registers: [registry],
  })
  const claims = new Histogram({
    name: 'signalbox_delivery_claim_duration_seconds',
    help: 'Time to claim a batch of a lane.',
    buckets: STORE_SECONDS_BUCKETS,
    registers: [registry],
  })
  const looks = new Histogram({
    name: 'signalbox_delivery_look_duration_seconds',
    help: 'Time to find the lanes that have something due.',
    buckets: POLL_SECONDS_BUCKETS,
    registers: [registry],
  })
  const errors = new Counter({
    name: 'signalbox_delivery_errors_total',
    help: 'Times that a worker stumbled: the store was away, or a bug.',
    registers: [registry],
  })
  return {
    onSettled: (settlements, seconds) => {
      settles.observe(seconds)
      for (const { status } of settlements) if (status !== 'sent') countSettled(status)
    },
    onClaimed: seconds => claims.observe(seconds),
    onSettleRetry: () => retries.inc(),
    onLooked: seconds => looks.observe(seconds),
    onError: () => errors.inc(),
  }
}

/** Counts pauses and resumptions. Returns what is to be called for each, with the new status. */
export function registerDestinationMetrics(
  registry: MetricsRegistry,
): (status: DestinationStatusChange['status']) => void {
  return createLabelCounter(registry, {
    name: 'signalbox_destinations_moved_total',
    help: 'Destinations that an answer paused (inactive) or showed to work again (active).',
    label: 'status',
    values: ['active', 'inactive'],
  })
}

interface MeteredWorker {
  countCircuits(): CircuitCounts
  requestsInFlight(): number
}

/** Shows what a worker is doing now. */
export function registerWorkerMetrics(
  registry: MetricsRegistry,
  worker: MeteredWorker,
  requestsMax: number,
): void {
  new Gauge({
    name: 'signalbox_delivery_requests_in_flight',
    help: 'Batches that are being claimed, sent or settled.',
    registers: [registry],
    collect() {
      this.set(worker.requestsInFlight())
    },
  })
  new Gauge({
    name: 'signalbox_delivery_requests_max',
    help: 'Batches that may be under way at once (SIGNALBOX_DELIVERY_REQUESTS_MAX).',
    registers: [registry],
  }).set(requestsMax)
  new Gauge({
    name: 'signalbox_delivery_lanes',
    help: 'Lanes that this worker leaves alone or tries with care, by the state of their circuit.',
    labelNames: ['circuit'],
    registers: [registry],
    collect() {
      for (const [circuit, lanes] of Object.entries(worker.countCircuits()))
        this.set({ circuit }, lanes)
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

/** A platform's answer takes tenths of a second; after ten seconds nobody waits for it. */
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
    help: 'Requests to the platform, by what its answer means.',
    label: 'outcome',
    values: SEND_OUTCOMES,
  })
  const countEvents = createLabelCounter(registry, {
    name: 'signalbox_platform_request_events_total',
    help: 'Events in these requests; one that is sent again counts again.',
    label: 'outcome',
    values: SEND_OUTCOMES,
  })
  const durations = new Histogram({
    name: 'signalbox_platform_request_duration_seconds',
    help: 'Time until the platform answered, or until nobody waited any longer.',
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
    help: 'Reports asked of the platform, by what came of it.',
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

/** Counts alerts as they are raised. Returns what is to be called for each. */
export function registerAlertMetrics(registry: MetricsRegistry): (kind: AlertKind) => void {
  return createLabelCounter(registry, {
    name: 'signalbox_alerts_raised_total',
    help: 'Alerts about a destination that were raised, by what they are about.',
    label: 'kind',
    values: ALERT_KINDS,
  })
}

/** Shows the open alerts in the store. When it does not answer, there is no figure. */
export function registerOpenAlertMetrics(
  registry: MetricsRegistry,
  read: () => Promise<Partial<Record<AlertKind, number>>>,
): void {
  const open = singleFlight(() => read().catch(() => null))
  new Gauge({
    name: 'signalbox_alerts_open',
    help: 'Alerts about a destination that are not resolved yet, of all processes.',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      this.reset()
      const counts = await open()
      if (!counts) return
      for (const kind of ALERT_KINDS) this.set({ kind }, counts[kind] ?? 0)
    },
  })
}
