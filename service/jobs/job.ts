/**
 * One kind of work beside requests and deliveries. It may be done twice: its process can die before
 * the end is noted, and somebody can ask for it again. So it looks for what is due and missing
 * instead of counting on when it runs, and a second run finds nothing to do.
 */
export interface Job {
  /** In kebab-case. It stands in the log, in metrics and in the store, so it does not change. */
  name: string
  /** When it runs, in UTC (`schedule.ts` says in which form); null when only on request. */
  schedule: string | null
  /** At most this long: then the signal tells, and a minute later another process may take over. */
  secondsMax: number
  /** Throws when it could not do all; it is then tried again. */
  run(payload: JobPayload, context: JobContext): Promise<void>
}

/** What a request says (`requestJob`); empty when the schedule started it. No identity in it. */
export type JobPayload = Record<string, unknown>

export interface JobContext {
  now: Date
  /** Aborted when the time is up or the process ends. What is done by then should be kept. */
  signal: AbortSignal
}

/** Pauses of 3, 7, 20, 55, ... seconds lie between them, together an hour and a quarter. */
export const JOB_ATTEMPTS_MAX = 9

export type JobOutcome = 'succeeded' | 'failed' | 'interrupted'

/** One attempt, over. `interrupted`: the process was told to end, another one goes on. */
export interface JobRun {
  name: string
  outcome: JobOutcome
  seconds: number
  /** What it threw; null when it succeeded. */
  error: unknown
}
