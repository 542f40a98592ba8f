import type { Database } from '../db/database.ts'
import { monotonicSeconds } from '../util/monotonic-clock.ts'
import type { Job, JobPayload, JobRun } from './job.ts'
import { recordJobSuccess } from './store.ts'

export interface JobAttempt {
  database: Database
  job: Job
  payload: unknown
  now: Date
  /** Aborted when the time of the job is over, or the process ends. */
  signal: AbortSignal
  isEnding: () => boolean
  onDone: (run: JobRun) => void
}

/**
 * Runs a job once, and tells how it went. Throws when it is to be tried again, in
 * words that may be kept in the store: what really happened is for the log.
 */
export async function runJob(attempt: JobAttempt): Promise<void> {
  const { database, job, now, signal, onDone } = attempt
  const { name } = job
  const startedAt = monotonicSeconds()
  try {
    await job.run(readPayload(attempt.payload), { now, signal })
    // One that ended early because it was told to has something left to do.
    signal.throwIfAborted()
    if (job.schedule !== null) await recordJobSuccess(database, name)
  } catch (error) {
    const outcome = attempt.isEnding() ? 'interrupted' : 'failed'
    onDone({ name, outcome, seconds: monotonicSeconds() - startedAt, error })
    throw new Error(`${outcome}: ${classifyError(error)}`)
  }
  onDone({ name, outcome: 'succeeded', seconds: monotonicSeconds() - startedAt, error: null })
}

/** Without what graphile-worker adds when the schedule started it. */
function readPayload(payload: unknown): JobPayload {
  const { _cron, ...said } = (payload ?? {}) as JobPayload
  return said
}

/** The kind of an error; its message could repeat what a row holds. */
function classifyError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? `${error.name} ${code}` : error.name
}
