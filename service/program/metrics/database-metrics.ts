import { READ_RESULTS, type ReadResult } from '../../runtime/db/replica/read-replica.ts'
import type { JobName, JobOutcome, JobRun } from '../../runtime/jobs/job.ts'
import type { JobStatistics } from '../../runtime/jobs/job-store.ts'
import { singleFlight } from '../../runtime/util/load-cache.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import type { BacklogByStatus, WaitingByStatus } from '../../signals/delivery/backlog-store.ts'
import {
  createCounter,
  createGauge,
  createHistogram,
  createLabelCounter,
  type MetricsRegistry,
} from './metrics-registry.ts'

/** The connections of one process to PostgreSQL. */
interface ConnectionPool {
  totalCount: number
  idleCount: number
  waitingCount: number
}

/** Shows the database connections of this process. */
export function registerConnectionMetrics(registry: MetricsRegistry, pool: ConnectionPool): void {
  createGauge(registry, 'signalbox_store_connections', {
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
    },
  })
  createGauge(registry, 'signalbox_store_connections_waiting', {
    collect() {
      this.set(pool.waitingCount)
    },
  })
}

/** Shows the lag of the read replica, and counts the reads of history by who answered and why. */
export function registerReplicaMetrics(
  registry: MetricsRegistry,
  readLagSeconds: () => number | null,
): (result: ReadResult) => void {
  createGauge(registry, 'signalbox_replica_lag_seconds', {
    aggregator: 'max',
    collect() {
      this.remove()
      const lag = readLagSeconds()
      if (lag !== null) this.set(lag)
    },
  })
  return createLabelCounter(registry, 'signalbox_replica_reads_total', READ_RESULTS)
}

/** Shows which servers of the store answer: on a Citus cluster, some may be down. */
export function registerServerMetrics(
  registry: MetricsRegistry,
  check: () => Promise<ReadonlyMap<string, boolean>>,
): void {
  createGauge(registry, 'signalbox_store_node_up', {
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
  createGauge(registry, 'signalbox_store_up', {
    async collect() {
      this.set((await backlog()) ? 1 : 0)
    },
  })
  createGauge(registry, 'signalbox_delivery_due_queues', {
    async collect() {
      this.reset()
      for (const [destination, { dueQueues }] of Object.entries((await backlog()) ?? {})) {
        this.set({ destination }, dueQueues)
      }
    },
  })
  createGauge(registry, 'signalbox_delivery_oldest_due_seconds', {
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
  createGauge(registry, 'signalbox_deliveries_waiting', {
    async collect() {
      this.reset()
      for (const [destination, { deliveries }] of Object.entries((await waiting()) ?? {})) {
        this.set({ destination }, deliveries)
      }
    },
  })
  createGauge(registry, 'signalbox_delivery_oldest_waiting_seconds', {
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

type RetentionGauge = 'signalbox_retention_behind_seconds' | 'signalbox_retention_days_behind'

/** Shows whether expiry is behind, and how far delivery ids have advanced. */
export function registerRetentionMetrics(
  registry: MetricsRegistry,
  { readLag, readLastDeliveryId }: RetentionReaders,
): void {
  // One statement for both gauges of a scrape.
  const readOnce = singleFlight(() => readLag().catch(() => ({})))
  const show = (name: RetentionGauge, secondsPerUnit: number) =>
    createGauge(registry, name, {
      async collect() {
        this.reset()
        for (const [kind, days] of Object.entries<number>(await readOnce())) {
          this.set({ kind }, (days * DAY_SECONDS) / secondsPerUnit)
        }
      },
    })
  show('signalbox_retention_behind_seconds', 1)
  show('signalbox_retention_days_behind', DAY_SECONDS)
  createGauge(registry, 'signalbox_delivery_id_last', {
    async collect() {
      this.reset()
      const last = await readLastDeliveryId().catch(() => null)
      if (last !== null) this.set(last)
    },
  })
}

interface MeteredJobs {
  /** All jobs of this process. */
  names: readonly JobName[]
  /** The interval of each job with a schedule. */
  periodSeconds: ReadonlyMap<JobName, number>
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
  const runs = createCounter(registry, 'signalbox_job_runs_total')
  const seconds = createHistogram(registry, 'signalbox_job_duration_seconds', RUN_SECONDS_BUCKETS)
  const errors = createCounter(registry, 'signalbox_job_errors_total')
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
  createGauge(registry, 'signalbox_jobs', {
    async collect() {
      this.reset()
      const { counts } = (await readJobs()) ?? {}
      for (const [state, count] of Object.entries(counts ?? {})) this.set({ state }, count)
    },
  })
  createGauge(registry, 'signalbox_job_success_age_seconds', {
    async collect() {
      this.reset()
      const { successAgeSeconds } = (await readJobs()) ?? {}
      for (const [task, age] of successAgeSeconds ?? []) this.set({ task }, age)
    },
  })
  const periods = createGauge(registry, 'signalbox_job_period_seconds')
  for (const [task, period] of periodSeconds) periods.set({ task }, period)
}

/** Shows the pending actions of agents. There is no value while the database does not answer. */
export function registerPendingActionMetrics(
  registry: MetricsRegistry,
  read: () => Promise<number>,
): void {
  const pending = singleFlight(() => read().catch(() => null))
  createGauge(registry, 'signalbox_actions_pending', {
    async collect() {
      this.remove()
      const count = await pending()
      if (count !== null) this.set(count)
    },
  })
}

/** Shows the result of the last audit log verification. Returns the callback for each one. */
export function registerAuditLogMetrics(registry: MetricsRegistry): (brokenCount: number) => void {
  const broken = createGauge(registry, 'signalbox_audit_logs_broken')
  return brokenCount => broken.set(brokenCount)
}
