import { Gauge } from 'prom-client'
import type { BacklogByStatus, WaitingByStatus } from '../delivery/backlog-store.ts'
import { oneAtATime } from '../http/one-at-a-time.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** The connections of one process to the store. */
export interface ConnectionPool {
  totalCount: number
  idleCount: number
  waitingCount: number
}

/** Shows the connections of this process. */
export function connectionMetrics(registry: MetricsRegistry, pool: ConnectionPool): void {
  new Gauge({
    name: 'signalbox_store_connections',
    help: 'Connections to PostgreSQL that this process holds.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
    },
  })
  new Gauge({
    name: 'signalbox_store_connections_waiting',
    help: 'Statements that wait for a connection.',
    registers: [registry],
    collect() {
      this.set(pool.waitingCount)
    },
  })
}

/**
 * Shows what is due in the store, asked for once at each scrape. When the store does not answer,
 * there is no figure rather than an old one.
 */
export function backlogMetrics(
  registry: MetricsRegistry,
  read: () => Promise<BacklogByStatus>,
): void {
  const backlog = oneAtATime(() => read().catch(() => null))
  const labelNames = ['destination']
  const registers = [registry]
  new Gauge({
    name: 'signalbox_store_up',
    help: 'Whether PostgreSQL answered at this scrape.',
    registers,
    async collect() {
      this.set((await backlog()) ? 1 : 0)
    },
  })
  new Gauge({
    name: 'signalbox_delivery_due_lanes',
    help: 'Lanes that have something due, of all processes, by the status of the destination.',
    labelNames,
    registers,
    async collect() {
      this.reset()
      for (const [destination, { dueLanes }] of Object.entries((await backlog()) ?? {})) {
        this.set({ destination }, dueLanes)
      }
    },
  })
  new Gauge({
    name: 'signalbox_delivery_oldest_due_seconds',
    help: 'How long the delivery that waits longest has been due, of all processes.',
    labelNames,
    registers,
    async collect() {
      this.reset()
      for (const [destination, { oldestDueSeconds }] of Object.entries((await backlog()) ?? {})) {
        this.set({ destination }, oldestDueSeconds)
      }
    },
  })
}

/**
 * Shows what waits in the store. Apart from what is due: when so much waits that counting it takes
 * too long, the store is up all the same.
 */
export function waitingMetrics(
  registry: MetricsRegistry,
  read: () => Promise<WaitingByStatus>,
): void {
  const waiting = oneAtATime(() => read().catch(() => null))
  const labelNames = ['destination']
  const registers = [registry]
  new Gauge({
    name: 'signalbox_deliveries_waiting',
    help: 'Deliveries that have not come to their end, of all processes; 100000 means "or more".',
    labelNames,
    registers,
    async collect() {
      this.reset()
      for (const [destination, { deliveries }] of Object.entries((await waiting()) ?? {})) {
        this.set({ destination }, deliveries)
      }
    },
  })
  new Gauge({
    name: 'signalbox_delivery_oldest_waiting_seconds',
    help: 'Age of the oldest delivery that has not come to its end, since it was planned.',
    labelNames,
    registers,
    async collect() {
      this.reset()
      for (const [destination, { oldestSeconds }] of Object.entries((await waiting()) ?? {})) {
        this.set({ destination }, oldestSeconds)
      }
    },
  })
}

export interface StoreLimits {
  /** Days by which expiry is behind, by what expires. */
  readLag: () => Promise<Record<string, number>>
  readLastDeliveryId: () => Promise<number>
}

/** Shows what tells in time that expiry or the ids of deliveries come to an end. */
export function limitMetrics(
  registry: MetricsRegistry,
  { readLag, readLastDeliveryId }: StoreLimits,
): void {
  const registers = [registry]
  new Gauge({
    name: 'signalbox_retention_days_behind',
    help: 'Days since the oldest partition that is still there should have been dropped.',
    labelNames: ['kind'],
    registers,
    async collect() {
      this.reset()
      const lag = await readLag().catch(() => ({}))
      for (const [kind, days] of Object.entries(lag)) this.set({ kind }, days)
    },
  })
  new Gauge({
    name: 'signalbox_delivery_id_last',
    help: 'The highest delivery id of any tracker; they end at 2^53 - 1.',
    registers,
    async collect() {
      this.reset()
      const last = await readLastDeliveryId().catch(() => null)
      if (last !== null) this.set(last)
    },
  })
}
