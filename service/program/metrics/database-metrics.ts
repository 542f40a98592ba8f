import { Counter, Gauge, Histogram } from 'prom-client'
import type { JobOutcome, JobRun } from '../../runtime/jobs/job.ts'
import type { JobStatistics } from '../../runtime/jobs/job-store.ts'
import { singleFlight } from '../../runtime/util/single-flight.ts'
import type { BacklogByStatus, WaitingByStatus } from '../../signals/delivery/backlog-store.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** The connections of one process to PostgreSQL. */
interface ConnectionPool {
  totalCount: number
  idleCount: number
  waitingCount: number
}

/** Shows the database connections of this process. */
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

/** Shows which servers of the store answer: on a Citus cluster, some may be down. */
export function registerServerMetrics(
  registry: MetricsRegistry,
  check: () => Promise<ReadonlyMap<string, boolean>>,
): void {
  new Gauge({
    name: 'signalbox_store_node_up',
    help: 'Whether each server of the store answered at this scrape.',
    labelNames: ['node'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const [node, isUp] of await check()) this.set({ node }, isUp ? 1 : 0)
    },
  })
}

/**
 * Shows due deliveries, with one query per scrape. While the database does not answer, there is no
 * value instead of an old one.
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
    name: 'signalbox_delivery_due_queues',
    help: 'Destination queues with due deliveries, of the whole store, by destination status.',
    labelNames,
    registers,
    async collect() {
      this.reset()
      for (const [destination, { dueQueues }] of Object.entries((await backlog()) ?? {})) {
        this.set({ destination }, dueQueues)
      }
    },
  })
  new Gauge({
    name: 'signalbox_delivery_oldest_due_seconds',
    help: 'Time since the oldest due delivery became due, of the whole store.',
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
 * Shows waiting deliveries. Separate from the backlog, because a count that takes too long does not
 * mean that the database is down.
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
    help: 'Deliveries that are not final, of the whole store; 100000 means "or more".',
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
    help: 'Age of the oldest delivery that is not final, since it was planned.',
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
  /** Days by which expiry is behind, by kind of data. */
  readLag: () => Promise<Record<string, number>>
  readLastDeliveryId: () => Promise<number>
}

/** Shows whether expiry is behind, and how far delivery ids have advanced. */
export function registerRetentionMetrics(
  registry: MetricsRegistry,
  { readLag, readLastDeliveryId }: RetentionReaders,
): void {
  const registers = [registry]
  new Gauge({
    name: 'signalbox_retention_days_behind',
    help: 'Days since the oldest remaining partition should have been dropped.',
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
    help: 'Highest delivery id of any tracker; the limit is 2^53 - 1.',
    registers,
    async collect() {
      this.reset()
      const last = await readLastDeliveryId().catch(() => null)
      if (last !== null) this.set(last)
    },
  })
}

interface MeteredJobs {
  /** All jobs of this process. */
  names: readonly string[]
  /** The interval of each job with a schedule. */
  periodSeconds: ReadonlyMap<string, number>
  read: () => Promise<JobStatistics>
}

interface JobMeter {
  onDone: (run: JobRun) => void
  onError: () => void
}

const JOB_OUTCOMES: readonly JobOutcome[] = ['succeeded', 'failed', 'interrupted']
const RUN_SECONDS_BUCKETS = [0.01, 0.1, 1, 10, 60, 300, 1_800]

/**
 * Counts the runs of a job worker, and shows the jobs of the whole store. Returns the callbacks for
 * the worker. The label is `task`, because Prometheus uses `job` for the scraped target.
 */
export function registerJobMetrics(registry: MetricsRegistry, jobs: MeteredJobs): JobMeter {
  const runs = new Counter({
    name: 'signalbox_job_runs_total',
    help: 'Job runs of this process by outcome.',
    labelNames: ['task', 'outcome'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'signalbox_job_duration_seconds',
    help: 'Time of one job run.',
    labelNames: ['task'],
    buckets: RUN_SECONDS_BUCKETS,
    registers: [registry],
  })
  const errors = new Counter({
    name: 'signalbox_job_errors_total',
    help: 'Errors of the job worker: the database was unavailable, or a bug.',
    registers: [registry],
  })
  // Shown from the start, so that rates include the first increment.
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
  const readJobs = singleFlight(() => read().catch(() => null))
  const registers = [registry]
  new Gauge({
    name: 'signalbox_jobs',
    help: 'Jobs of the whole store: queued, running, or failed after all attempts.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset()
      const { counts } = (await readJobs()) ?? {}
      for (const [state, count] of Object.entries(counts ?? {})) this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'signalbox_job_success_age_seconds',
    help: 'Time since a scheduled job last succeeded in any process.',
    labelNames: ['task'],
    registers,
    async collect() {
      this.reset()
      const { successAgeSeconds } = (await readJobs()) ?? {}
      for (const [task, age] of successAgeSeconds ?? []) this.set({ task }, age)
    },
  })
  const periods = new Gauge({
    name: 'signalbox_job_period_seconds',
    help: 'Interval of a scheduled job.',
    labelNames: ['task'],
    registers,
  })
  for (const [task, period] of periodSeconds) periods.set({ task }, period)
}

/** Shows the pending actions of agents. There is no value while the database does not answer. */
export function registerPendingActionMetrics(
  registry: MetricsRegistry,
  read: () => Promise<number>,
): void {
  const pending = singleFlight(() => read().catch(() => null))
  new Gauge({
    name: 'signalbox_actions_pending',
    help: 'Actions of agents that wait for approval, of all workspaces.',
    registers: [registry],
    async collect() {
      this.remove()
      const count = await pending()
      if (count !== null) this.set(count)
    },
  })
}

/** Shows the result of the last audit log verification. Returns the callback for each one. */
export function registerAuditLogMetrics(registry: MetricsRegistry): (brokenCount: number) => void {
  const broken = new Gauge({
    name: 'signalbox_audit_logs_broken',
    help: 'Audit logs that failed the last verification by this process; 0 before the first one.',
    registers: [registry],
  })
  return brokenCount => broken.set(brokenCount)
}
