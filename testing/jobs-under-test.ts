import type { TestContext } from 'node:test'
import { type Database, openDatabase } from '../service/db/database.ts'
import type { Job, JobRun } from '../service/jobs/job.ts'
import { type JobWorker, startJobWorker } from '../service/jobs/worker.ts'
import { eventually } from './program-under-test.ts'
import { testStore } from './test-store.ts'

export const JOBS_NOW = new Date('2026-11-21T12:00:00.000Z')

/** A store for jobs, and workers on it with connections of their own. */
export interface JobsUnderTest {
  database: Database
  connectionString: string
  /** Of all workers, in the order in which they ended. */
  runs: JobRun[]
  errors: unknown[]
  start(jobs: readonly Job[]): JobWorker
  /** Waits until so many workers listen for jobs. */
  workersListen(count: number): Promise<void>
  queued(): Promise<QueuedJob[]>
  /** As if the pauses after failures were over. */
  endPauses(): Promise<void>
  /** As if the time of whatever is taken up were over. The clock is the store's. */
  endLeases(): Promise<void>
}

export interface QueuedJob {
  key: string | null
  attempts: number
  last_error: string | null
  locked: boolean
}

export async function jobsUnderTest(test: TestContext): Promise<JobsUnderTest> {
  // Before the store goes: what is registered first is done first.
  const stops: (() => Promise<void>)[] = []
  test.after(() => Promise.all(stops.map(stop => stop())))
  const { database, connectionString } = await testStore(test)
  const runs: JobRun[] = []
  const errors: unknown[] = []
  const start = (jobs: readonly Job[]) => {
    const own = openDatabase({
      connectionString,
      connectionsMax: 3,
      applicationName: 'jobs under test',
      onIdleError: () => {},
    })
    const worker = startJobWorker({
      database: own,
      jobs,
      now: () => JOBS_NOW,
      concurrency: 2,
      onError: error => errors.push(error),
      onDone: run => runs.push(run),
      timings: { pollIntervalSeconds: 2, restartDelaySeconds: 0.2, stopTimeoutSeconds: 0.5 },
    })
    let stopped: Promise<void> | null = null
    const stop = () => {
      stopped ??= worker.stop().then(() => own.close())
      return stopped
    }
    stops.push(stop)
    return { stop }
  }
  return { database, connectionString, runs, errors, start, ...queueOf(database) }
}

/** A job that runs on request only, unless it says otherwise. */
export function jobOf(name: string, run: Job['run'], options: Partial<Job> = {}): Job {
  return { name, schedule: null, timeoutSeconds: 60, run, ...options }
}

function queueOf({ pool }: Database) {
  return {
    workersListen: (count: number) =>
      eventually(`${count} workers listen`, async () => {
        const { rows } = await pool.query(
          `select count(*) from pg_stat_activity
           where datname = current_database() and query like 'LISTEN "jobs:insert"%'`,
        )
        return rows[0].count === count
      }),
    queued: async () => {
      const { rows } = await pool.query(
        `select key, attempts, last_error, locked_at is not null as locked
         from signalbox_jobs.jobs order by id`,
      )
      return rows
    },
    endPauses: async () => {
      await pool.query('update signalbox_jobs._private_jobs set run_at = now()')
      await pool.query(`select pg_notify('jobs:insert', '{"count":1}')`)
    },
    endLeases: async () => {
      for (const table of ['_private_jobs', '_private_job_queues']) {
        await pool.query(
          `update signalbox_jobs.${table} set locked_at = now() - interval '2 hours'
           where locked_at is not null`,
        )
      }
    },
  }
}
