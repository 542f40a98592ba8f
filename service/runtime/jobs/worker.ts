import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import {
  Logger,
  parseCronItems,
  type Runner,
  run,
  type WorkerEvents,
  type WorkerPool,
} from 'graphile-worker'
import type { Database } from '../db/database.ts'
import { JOBS_SCHEMA } from '../db/migrate.ts'
import { JOB_ATTEMPTS_MAX, type Job, type JobName, type JobRun, parsePeriodSeconds } from './job.ts'
import {
  deleteFailedJobs,
  registerJobs,
  releaseAbandonedJobs,
  releaseWorkerJobs,
} from './job-store.ts'
import { runJob } from './run-job.ts'

export interface JobWorkerOptions {
  /**
   * Connections for fetching jobs and listening for them, apart from those that the jobs use. One
   * is always in use, and one more per unit of `concurrency` now and then.
   */
  database: Database
  jobs: readonly Job[]
  now: () => Date
  /** Jobs that this process runs in parallel. */
  concurrency: number
  /** The database is unavailable, or there is a bug. The worker goes on. */
  onError: (error: unknown) => void
  onDone: (run: JobRun) => void
  /** Changed in tests only. */
  timings?: Partial<JobWorkerTimings>
}

export interface JobWorker {
  /**
   * Starts no more jobs, gives running jobs five seconds to finish, aborts them, and releases those
   * that do not end within five more.
   */
  stop(): Promise<void>
}

export interface JobWorkerTimings {
  /**
   * How often each unit of `concurrency` polls for retries and for jobs whose notification was
   * lost; a new job sends a notification. A poll without a job takes a round trip of 0.15 ms
   * (median of 500 on two shared cores under load). It is below the ten seconds after which an idle
   * connection is closed.
   */
  pollIntervalSeconds: number
  /** How often jobs of dead processes are released. */
  cleanupIntervalSeconds: number
  /** The delay before a restart after a failed start. */
  restartDelaySeconds: number
  /** How long running jobs may take to finish, and again after they are aborted. */
  stopTimeoutSeconds: number
}

const DEFAULT_TIMINGS: JobWorkerTimings = {
  pollIntervalSeconds: 8,
  cleanupIntervalSeconds: 60,
  restartDelaySeconds: 5,
  stopTimeoutSeconds: 5,
}
/** How long after an abort a job counts as abandoned. */
const LEASE_GRACE_SECONDS = 60
const PROCESS_STOPPING = 'the process is stopping'
const JOB_TIMED_OUT = 'the job timed out'
/**
 * graphile-worker fetches the next job before the last one is recorded as finished, finds its queue
 * locked, and would wait for the next poll. So it polls again after these delays.
 */
const REPOLL_DELAYS_MILLISECONDS = [20, 200, 1_000]
/** graphile-worker does not recover from a failed first poll. */
const FAILED_POLLS_MAX = 3

/** Runs jobs as they become due. Any number of processes can share one database. */
export function startJobWorker(options: JobWorkerOptions): JobWorker {
  const worker = new WorkerLoop(options)
  const finished = worker.run()
  return { stop: () => worker.stop(finished) }
}

/** Runs one graphile-worker after another; each ends when it can no longer recover. */
class WorkerLoop {
  readonly #options: JobWorkerOptions
  readonly #timings: JobWorkerTimings
  readonly #stopping = new AbortController()
  readonly #aborting = new AbortController()
  #runner: Runner | null = null
  #pool: WorkerPool | null = null

  constructor(options: JobWorkerOptions) {
    this.#options = options
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings }
  }

  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#runOnce().catch(this.#options.onError)
      await this.#sleep(this.#timings.restartDelaySeconds)
    }
  }

  async stop(finished: Promise<void>): Promise<void> {
    const { stopTimeoutSeconds } = this.#timings
    this.#stopping.abort()
    this.#stopRunner()
    if (await isDoneWithin(stopTimeoutSeconds, finished)) return
    this.#aborting.abort(new Error(PROCESS_STOPPING))
    if (await isDoneWithin(stopTimeoutSeconds, finished)) return
    const forced = this.#pool?.forcefulShutdown(PROCESS_STOPPING)
    await isDoneWithin(stopTimeoutSeconds, Promise.resolve(forced))
  }

  async #runOnce(): Promise<void> {
    const { database, jobs, onError } = this.#options
    // Jobs that the last runner could not release. No other process knows that it has ended.
    if (this.#pool) await releaseWorkerJobs(database, this.#pool.id)
    this.#pool = null
    await registerJobs(database, listNames(jobs.filter(({ schedule }) => schedule !== null)))
    await this.#cleanUp()
    this.#runner = await run(this.#runnerOptions())
    if (this.#stopping.signal.aborted) this.#stopRunner()
    const cleanup = setInterval(
      () => this.#cleanUp().catch(onError),
      this.#timings.cleanupIntervalSeconds * 1_000,
    )
    await this.#runner.promise.finally(() => clearInterval(cleanup))
    this.#runner = null
  }

  async #cleanUp(): Promise<void> {
    const { database, jobs } = this.#options
    await releaseAbandonedJobs(
      database,
      jobs.map(({ name, timeoutSeconds }) => ({
        name,
        leaseSeconds: timeoutSeconds + LEASE_GRACE_SECONDS,
      })),
    )
    await deleteFailedJobs(database)
  }

  #stopRunner(): void {
    // It rejects when it is stopping already.
    this.#runner?.stop().catch(() => {})
  }

  #runnerOptions() {
    const { database, jobs, concurrency } = this.#options
    return {
      pgPool: database.pool,
      schema: JOBS_SCHEMA,
      concurrency,
      pollInterval: this.#timings.pollIntervalSeconds * 1_000,
      noHandleSignals: true,
      logger: new Logger(() => this.#onLog),
      events: this.#events(),
      taskList: Object.fromEntries(
        jobs.map(job => [job.name, (payload: unknown) => this.#attempt(job, payload)]),
      ),
      parsedCronItems: buildCronItems(jobs),
      // Without these, graphile-worker 0.18 does not await the update of a finished job, and an
      // unavailable database then ends the process (an unhandled rejection).
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    }
  }

  #events(): WorkerEvents {
    const events = new EventEmitter() as WorkerEvents
    let failedPolls = 0
    events.on('pool:create', ({ workerPool }) => {
      this.#pool = workerPool
    })
    events.on('worker:getJob:error', () => {
      failedPolls += 1
      if (failedPolls === FAILED_POLLS_MAX) this.#stopRunner()
    })
    events.on('worker:getJob:empty', () => {
      failedPolls = 0
    })
    events.on('job:complete', () => {
      for (const milliseconds of REPOLL_DELAYS_MILLISECONDS) this.#pollAfter(milliseconds)
    })
    return events
  }

  #pollAfter(milliseconds: number): void {
    const { signal } = this.#stopping
    // It throws when that graphile-worker has ended by then.
    delay(milliseconds, undefined, { signal, ref: false })
      .then(() => this.#pool?.nudge(1))
      .catch(() => {})
  }

  /** Ignores failed jobs, which `onDone` reports without their payload. */
  readonly #onLog = (level: string, message: string, meta?: { failure?: unknown }): void => {
    const isProblem = level === 'error' || level === 'warning'
    if (isProblem && !meta?.failure) this.#options.onError(new Error(message))
  }

  /** Without AbortSignal.any and timeout: Node 24 can collect them while a job polls them. */
  async #attempt(job: Job, payload: unknown): Promise<void> {
    const { database, now, onDone } = this.#options
    const abort = new AbortController()
    const timer = setTimeout(
      () => abort.abort(new Error(JOB_TIMED_OUT)),
      job.timeoutSeconds * 1_000,
    )
    const stopSignal = this.#aborting.signal
    const onAbort = () => abort.abort(stopSignal.reason)
    stopSignal.addEventListener('abort', onAbort)
    try {
      const isStopping = () => stopSignal.aborted
      const { signal } = abort
      await runJob({ database, job, payload, now: now(), signal, isStopping, onDone })
    } finally {
      clearTimeout(timer)
      stopSignal.removeEventListener('abort', onAbort)
    }
  }

  async #sleep(seconds: number): Promise<void> {
    await delay(seconds * 1_000, undefined, { signal: this.#stopping.signal }).catch(() => {})
  }
}

/** A missed run is made up at the start: the last one, unless another process ran it. */
function buildCronItems(jobs: readonly Job[]) {
  return parseCronItems(
    jobs.flatMap(({ name, schedule }) => {
      if (schedule === null) return []
      const options = {
        backfillPeriod: parsePeriodSeconds(schedule) * 1_000,
        maxAttempts: JOB_ATTEMPTS_MAX,
        queueName: name,
        jobKey: name,
      }
      return [{ task: name, identifier: name, match: schedule, options }]
    }),
  )
}

function listNames(jobs: readonly Job[]): JobName[] {
  return jobs.map(({ name }) => name)
}

async function isDoneWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  const settled = new AbortController()
  const timeout = delay(seconds * 1_000, false, { signal: settled.signal }).catch(() => false)
  const end = work.then(
    () => true,
    () => true,
  )
  return Promise.race([end, timeout]).finally(() => settled.abort())
}
