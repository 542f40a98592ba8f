import { Counter, Gauge, Histogram } from 'prom-client'
import type { CircuitCounts } from '../delivery/circuit-moves.ts'
import type { DestinationMove } from '../delivery/delivery-context.ts'
import { STATUS_MOVES, type StatusAfterSent } from '../delivery/status-moves.ts'
import { labelCounter } from './label-counter.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

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
const LOOK_SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Counts what a worker does. Returns what is to be called by it. */
export function deliveryMetrics(registry: MetricsRegistry): DeliveryMeter {
  const countSettled = labelCounter(registry, {
    name: 'signalbox_deliveries_settled_total',
    help: 'Deliveries that a worker had claimed, by the status that it gave them.',
    label: 'status',
    values: STATUS_MOVES.sent.filter(status => status !== 'sent'),
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
    buckets: LOOK_SECONDS_BUCKETS,
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
export function destinationMetrics(
  registry: MetricsRegistry,
): (status: DestinationMove['status']) => void {
  return labelCounter(registry, {
    name: 'signalbox_destinations_moved_total',
    help: 'Destinations that an answer paused (inactive) or showed to work again (active).',
    label: 'status',
    values: ['active', 'inactive'],
  })
}

export interface MeteredWorker {
  circuits(): CircuitCounts
  requestsInFlight(): number
}

/** Shows what a worker is doing now. */
export function workerMetrics(
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
      for (const [circuit, lanes] of Object.entries(worker.circuits())) this.set({ circuit }, lanes)
    },
  })
}
