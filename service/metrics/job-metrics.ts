import { Counter, Gauge, Histogram } from 'prom-client'
import { oneAtATime } from '../http/one-at-a-time.ts'
import type { JobOutcome, JobRun } from '../jobs/job.ts'
import type { JobsNow } from '../jobs/store.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

export interface MeteredJobs {
  /** Every job that this process works on. */
  names: readonly string[]
  /** The time between two runs of those that have a schedule. */
  periodSeconds: ReadonlyMap<string, number>
  /** What the store knows of them. */
  read: () => Promise<JobsNow>
}

export interface JobMeter {
  onDone: (run: JobRun) => void
  onError: () => void
}

const OUTCOMES: readonly JobOutcome[] = ['succeeded', 'failed', 'interrupted']
const RUN_SECONDS_BUCKETS = [0.01, 0.1, 1, 10, 60, 300, 1_800]

/**
 * Counts what a worker does, and shows how the jobs of all processes are. Returns what is to be
 * called by it. The label is `task`: `job` is Prometheus' own word for what it scrapes.
 */
export function jobMetrics(registry: MetricsRegistry, jobs: MeteredJobs): JobMeter {
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
    for (const outcome of OUTCOMES) runs.inc({ task, outcome }, 0)
  }
  jobGauges(registry, jobs)
  return {
    onDone: run => {
      runs.inc({ task: run.name, outcome: run.outcome })
      seconds.observe({ task: run.name }, run.seconds)
    },
    onError: () => errors.inc(),
  }
}

function jobGauges(registry: MetricsRegistry, { periodSeconds, read }: MeteredJobs): void {
  const now = oneAtATime(() => read().catch(() => null))
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
