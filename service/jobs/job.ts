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
  timeoutSeconds: number
  /** Throws when it could not do all; it is then tried again. */
  run(payload: JobPayload, context: JobContext): Promise<void>
}

/** What a request says (`enqueueJob`); empty when the schedule started it. No identity in it. */
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

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

const SCHEDULE_FORMS = /^(?:\*\/(?<minutes>\d+) \*|(?<minute>\d+) (?<hour>\*|\d+)) \* \* \*$/

/**
 * The seconds between two runs of a schedule. Schedules are crontab lines, in UTC and in one of
 * three forms: every so many minutes that divide an hour, hourly (`7 * * * *`), daily
 * (`10 3 * * *` is 03:10). None is rarer, so that a run that was missed is one of the last day.
 * Throws a RangeError on any other form.
 */
export function parsePeriodSeconds(schedule: string): number {
  const { minutes, minute, hour } = SCHEDULE_FORMS.exec(schedule)?.groups ?? {}
  if (minutes !== undefined && Number(minutes) >= 1 && 60 % Number(minutes) === 0) {
    return Number(minutes) * MINUTE_SECONDS
  }
  if (minute !== undefined && Number(minute) < 60) {
    if (hour === '*') return HOUR_SECONDS
    if (Number(hour) < 24) return DAY_SECONDS
  }
  throw new RangeError(`a job cannot run at ${JSON.stringify(schedule)}`)
}
