import { Counter, Gauge, Histogram } from 'prom-client'
import type { BacklogByStatus, WaitingByStatus } from '../delivery/backlog-store.ts'
import type { JobOutcome, JobRun } from '../jobs/job.ts'
import type { JobStatistics } from '../jobs/store.ts'
import { singleFlight } from '../util/single-flight.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** The connections of one process to the store. */
interface ConnectionPool {
  totalCount: number
  idleCount: number
  waitingCount: number
}

/** Shows the connections of this process. */
export function registerConnectionMetrics(registry: MetricsRegistry, pool: ConnectionPool): void {
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
export function registerBacklogMetrics(
  registry: MetricsRegistry,
  read: () => Promise<BacklogByStatus>,
): void {
  const backlog = singleFlight(() => read().catch(() => null))
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
      for (const [destination, { dueQueues: dueLanes }] of Object.entries(
        (await backlog()) ?? {},
      )) {
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
export function registerWaitingDeliveryMetrics(
  registry: MetricsRegistry,
  read: () => Promise<WaitingByStatus>,
): void {
  const waiting = singleFlight(() => read().catch(() => null))
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

interface RetentionReaders {
  /** Days by which expiry is behind, by what expires. */
  readLag: () => Promise<Record<string, number>>
  readLastDeliveryId: () => Promise<number>
}

/** Shows what tells in time that expiry or the ids of deliveries come to an end. */
export function registerRetentionMetrics(
  registry: MetricsRegistry,
  { readLag, readLastDeliveryId }: RetentionReaders,
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

interface MeteredJobs {
  /** Every job that this process works on. */
  names: readonly string[]
  /** The time between two runs of those that have a schedule. */
  periodSeconds: ReadonlyMap<string, number>
  /** What the store knows of them. */
  read: () => Promise<JobStatistics>
}

interface JobMeter {
  onDone: (run: JobRun) => void
  onError: () => void
}

const JOB_OUTCOMES: readonly JobOutcome[] = ['succeeded', 'failed', 'interrupted']
const RUN_SECONDS_BUCKETS = [0.01, 0.1, 1, 10, 60, 300, 1_800]

/**
 * Counts what a worker does, and shows how the jobs of all processes are. Returns what is to be
 * called by it. The label is `task`: `job` is Prometheus' own word for what it scrapes.
 */
export function registerJobMetrics(registry: MetricsRegistry, jobs: MeteredJobs): JobMeter {
  const runs = new Counter({
    name: 'signalbox_job_runs_total',
    help: 'Attempts at jobs by this process, by how they ended.',
    labelNames: ['task', 'outcome'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'signalbox_job_duration_seconds',
    help: 'Time of one attempt.',
    labelNames: ['task'],
    buckets: RUN_SECONDS_BUCKETS,
    registers: [registry],
  })
  const errors = new Counter({
    name: 'signalbox_job_errors_total',
    help: 'Times that the worker of the jobs stumbled: the store was away, or a bug.',
    registers: [registry],
  })
  // Shown from the start, so that a rate is known from the first one.
  for (const task of jobs.names) {
    seconds.zero({ task })
    for (const outcome of JOB_OUTCOMES) runs.inc({ task, outcome }, 0)
  }
  registerJobGauges(registry, jobs)
  return {
    onDone: run => {
      runs.inc({ task: run.name, outcome: run.outcome })
      seconds.observe({ task: run.name }, run.seconds)
    },
    onError: () => errors.inc(),
  }
}

function registerJobGauges(registry: MetricsRegistry, { periodSeconds, read }: MeteredJobs): void {
  const now = singleFlight(() => read().catch(() => null))
  const registers = [registry]
  new Gauge({
    name: 'signalbox_jobs',
    help: 'Jobs of all processes: queued for now or later, running, or failed to the end.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset()
      const { counts } = (await now()) ?? {}
      for (const [state, count] of Object.entries(counts ?? {})) this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'signalbox_job_success_age_seconds',
    help: 'Time since a periodic job last succeeded in any process.',
    labelNames: ['task'],
    registers,
    async collect() {
      this.reset()
      const { successAgeSeconds } = (await now()) ?? {}
      for (const [task, age] of successAgeSeconds ?? []) this.set({ task }, age)
    },
  })
  const periods = new Gauge({
    name: 'signalbox_job_period_seconds',
    help: 'Time between two runs of a periodic job.',
    labelNames: ['task'],
    registers,
  })
  for (const [task, period] of periodSeconds) periods.set({ task }, period)
}

/** Shows how many actions wait for a person. When the store does not answer, there is no figure. */
export function registerPendingActionMetrics(
  registry: MetricsRegistry,
  read: () => Promise<number>,
): void {
  const pending = singleFlight(() => read().catch(() => null))
  new Gauge({
    name: 'signalbox_actions_pending',
    help: 'Actions of agents that wait for the decision of a person, of all workspaces.',
    registers: [registry],
    async collect() {
      this.remove()
      const count = await pending()
      if (count !== null) this.set(count)
    },
  })
}

/** Shows what the last verification by this process found. Returns what is to be told of each. */
export function registerAuditLogMetrics(registry: MetricsRegistry): (brokenCount: number) => void {
  const broken = new Gauge({
    name: 'signalbox_audit_logs_broken',
    help: 'Audit logs that the last verification by this process found changed; 0 before it.',
    registers: [registry],
  })
  return brokenCount => broken.set(brokenCount)
}
