import type { Database } from '../db/database.ts'
import { monotonicSeconds } from '../util/time.ts'
import type { Job, JobPayload, JobRun } from './job.ts'
import { recordJobSuccess } from './job-store.ts'

export interface JobAttempt {
  database: Database
  job: Job
  payload: unknown
  now: Date
  /** Aborted when the job times out or the process stops. */
  signal: AbortSignal
  isStopping: () => boolean
  onDone: (run: JobRun) => void
}

/**
 * Runs a job once and reports the outcome. Throws an error for a retry; its message is stored with
 * the job, so it names only the kind of error. The log gets the original error.
 */
export async function runJob(attempt: JobAttempt): Promise<void> {
  const { database, job, now, signal, onDone } = attempt
  const { name } = job
  const startedAt = monotonicSeconds()
  try {
    await job.run(readPayload(attempt.payload), { now, signal })
    // A job that stopped early because of the signal has work left.
    signal.throwIfAborted()
    if (job.schedule !== null) await recordJobSuccess(database, name)
  } catch (error) {
    const outcome = attempt.isStopping() ? 'interrupted' : 'failed'
    onDone({ name, outcome, seconds: monotonicSeconds() - startedAt, error })
    throw new Error(`${outcome}: ${classifyError(error)}`)
  }
  onDone({ name, outcome: 'succeeded', seconds: monotonicSeconds() - startedAt, error: null })
}

/** The payload without the member that graphile-worker adds for a scheduled run. */
function readPayload(payload: unknown): JobPayload {
  const { _cron, ...own } = (payload ?? {}) as JobPayload
  return own
}

/** The kind of an error, because its message may repeat values of a row. */
function classifyError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? `${error.name} ${code}` : error.name
}
