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
import { JOB_ATTEMPTS_MAX, type Job, type JobRun, parsePeriodSeconds } from './job.ts'
import { runJob } from './run-job.ts'
import { deleteFailedJobs, registerJobs, releaseAbandonedJobs, releaseWorkerJobs } from './store.ts'

export interface JobWorkerOptions {
  /**
   * Connections for taking up jobs and listening for them, beside those that the jobs work with.
   * One is held all the time, and one more for each of `concurrency` now and then.
   */
  database: Database
  jobs: readonly Job[]
  now: () => Date
  /** Jobs that this process works on at once. */
  concurrency: number
  /** The store is out of reach, or a bug: the worker goes on, and somebody should know. */
  onError: (error: unknown) => void
  onDone: (run: JobRun) => void
  /** Other ones than the default are for tests. */
  timings?: Partial<JobWorkerTimings>
}

export interface JobWorker {
  /**
   * Takes up nothing new, gives what is under way five seconds, tells it to end, and gives it back
   * when it does not within five more.
   */
  stop(): Promise<void>
}

export interface JobWorkerTimings {
  /**
   * How often each of `concurrency` looks for what is due again after a failure, or of which the
   * notice was lost; a new job comes with a notice. A look with nothing to do is a round trip of
   * 0.15 ms (median of 500 on two shared cores under load). It is below the ten seconds after which
   * an idle connection would be closed.
   */
  pollIntervalSeconds: number
  /** How often what dead processes left is looked for. */
  cleanupIntervalSeconds: number
  /** Until another start, when the last one failed. */
  restartDelaySeconds: number
  /** What is under way has so long to end, and as long again when it is told to. */
  stopTimeoutSeconds: number
}

const DEFAULT_TIMINGS: JobWorkerTimings = {
  pollIntervalSeconds: 8,
  cleanupIntervalSeconds: 60,
  restartDelaySeconds: 5,
  stopTimeoutSeconds: 5,
}
/** A job that was told to end has so long until others take it for dead. */
const LEASE_GRACE_SECONDS = 60
const PROCESS_ENDING = 'the process is ending'
const JOB_TIMED_OUT = 'the time of the job is over'
/**
 * graphile-worker looks for the next job before the store knows that the last one is over, finds
 * its queue taken, and would wait for the next poll. So it looks again after that.
 */
const REPOLL_DELAYS_MILLISECONDS = [20, 200, 1_000]
/** graphile-worker keeps a failed first look in mind, and would not look again. */
const FAILED_POLLS_MAX = 3

/** Starts to work on jobs as they come due. Any number of processes may do so on one store. */
export function startJobWorker(options: JobWorkerOptions): JobWorker {
  const worker = new WorkerLoop(options)
  const finished = worker.run()
  return { stop: () => worker.stop(finished) }
}

/** One graphile-worker after the other: each ends when it can no longer be trusted. */
class WorkerLoop {
  readonly #options: JobWorkerOptions
  readonly #limits: JobWorkerTimings
  readonly #alarm = new AbortController()
  readonly #ending = new AbortController()
  #runner: Runner | null = null
  #pool: WorkerPool | null = null

  constructor(options: JobWorkerOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_TIMINGS, ...options.timings }
  }

  async run(): Promise<void> {
    while (!this.#alarm.signal.aborted) {
      await this.#shift().catch(this.#options.onError)
      await this.#sleep(this.#limits.restartDelaySeconds)
    }
  }

  async stop(finished: Promise<void>): Promise<void> {
    const { stopTimeoutSeconds: stopSecondsMax } = this.#limits
    this.#alarm.abort()
    this.#endShift()
    if (await isDoneWithin(stopSecondsMax, finished)) return
    this.#ending.abort(new Error(PROCESS_ENDING))
    if (await isDoneWithin(stopSecondsMax, finished)) return
    const forced = this.#pool?.forcefulShutdown(PROCESS_ENDING)
    await isDoneWithin(stopSecondsMax, Promise.resolve(forced))
  }

  async #shift(): Promise<void> {
    const { database, jobs, onError } = this.#options
    // What our last one had taken and could not settle; nobody else knows that it is gone.
    if (this.#pool) await releaseWorkerJobs(database, this.#pool.id)
    this.#pool = null
    await registerJobs(database, listNames(jobs.filter(({ schedule }) => schedule !== null)))
    await this.#tidy()
    this.#runner = await run(this.#runnerOptions())
    if (this.#alarm.signal.aborted) this.#endShift()
    const tidying = setInterval(
      () => this.#tidy().catch(onError),
      this.#limits.cleanupIntervalSeconds * 1_000,
    )
    await this.#runner.promise.finally(() => clearInterval(tidying))
    this.#runner = null
  }

  async #tidy(): Promise<void> {
    const { database, jobs } = this.#options
    await releaseAbandonedJobs(
      database,
      jobs.map(({ name, timeoutSeconds: secondsMax }) => ({
        name,
        leaseSeconds: secondsMax + LEASE_GRACE_SECONDS,
      })),
    )
    await deleteFailedJobs(database)
  }

  #endShift(): void {
    // It rejects when it is ending already.
    this.#runner?.stop().catch(() => {})
  }

  #runnerOptions() {
    const { database, jobs, concurrency } = this.#options
    return {
      pgPool: database.pool,
      schema: JOBS_SCHEMA,
      concurrency,
      pollInterval: this.#limits.pollIntervalSeconds * 1_000,
      noHandleSignals: true,
      logger: new Logger(() => this.#heed),
      events: this.#events(),
      taskList: Object.fromEntries(
        jobs.map(job => [job.name, (payload: unknown) => this.#attempt(job, payload)]),
      ),
      parsedCronItems: buildCronItems(jobs),
      // Without them, graphile-worker 0.18 does not wait for what it says to the store when a job
      // is over, and a store that is away then ends the process (an unhandled rejection).
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    }
  }

  #events(): WorkerEvents {
    const events = new EventEmitter() as WorkerEvents
    let failedLooks = 0
    events.on('pool:create', ({ workerPool }) => {
      this.#pool = workerPool
    })
    events.on('worker:getJob:error', () => {
      failedLooks += 1
      if (failedLooks === FAILED_POLLS_MAX) this.#endShift()
    })
    events.on('worker:getJob:empty', () => {
      failedLooks = 0
    })
    events.on('job:complete', () => {
      for (const milliseconds of REPOLL_DELAYS_MILLISECONDS) this.#lookIn(milliseconds)
    })
    return events
  }

  #lookIn(milliseconds: number): void {
    const { signal } = this.#alarm
    // It throws when that graphile-worker has ended meanwhile.
    delay(milliseconds, undefined, { signal, ref: false })
      .then(() => this.#pool?.nudge(1))
      .catch(() => {})
  }

  /** Of a failed job `onDone` has told already, without its payload. */
  readonly #heed = (level: string, message: string, meta?: { failure?: unknown }): void => {
    const isTrouble = level === 'error' || level === 'warning'
    if (isTrouble && !meta?.failure) this.#options.onError(new Error(message))
  }

  /** Not by AbortSignal.any and timeout: Node 24 forgets them when a job only asks now and then. */
  async #attempt(job: Job, payload: unknown): Promise<void> {
    const { database, now, onDone } = this.#options
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(new Error(JOB_TIMED_OUT)), job.timeoutSeconds * 1_000)
    const ending = this.#ending.signal
    const end = () => stop.abort(ending.reason)
    ending.addEventListener('abort', end)
    try {
      const isEnding = () => ending.aborted
      const { signal } = stop
      await runJob({ database, job, payload, now: now(), signal, isEnding, onDone })
    } finally {
      clearTimeout(timer)
      ending.removeEventListener('abort', end)
    }
  }

  async #sleep(seconds: number): Promise<void> {
    await delay(seconds * 1_000, undefined, { signal: this.#alarm.signal }).catch(() => {})
  }
}

/** A run that was missed is made up at the start: the last one before it, if nobody made that. */
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

function listNames(jobs: readonly Job[]): string[] {
  return jobs.map(({ name }) => name)
}

async function isDoneWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  const isOver = new AbortController()
  const patience = delay(seconds * 1_000, false, { signal: isOver.signal }).catch(() => false)
  const end = work.then(
    () => true,
    () => true,
  )
  return Promise.race([end, patience]).finally(() => isOver.abort())
}
