import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../util/time.ts'

/**
 * Every job. A name is in kebab-case and part of logs, metrics and stored jobs, so it does not
 * change.
 */
export const JOB_NAMES = [
  'prepare-partitions',
  'index-lists',
  'count-event-flow',
  'replace-text-tokens',
  'make-due-reports',
  'refresh-report',
  'take-due-snapshots',
  'poll-receipts',
  'send-erasures',
  'announce-alerts',
  'watch-page-withdrawals',
  'expire-payloads',
  'expire-ledger',
  'expire-attempts',
  'expire-counts',
  'finish-agent-actions',
  'expire-approvals',
  'send-notifications',
  'settle-waiting-roles',
  'verify-audit',
  'verify-new-audit-entries',
  'collect-ended-access',
] as const
export type JobName = (typeof JOB_NAMES)[number]

/**
 * Background work apart from requests and deliveries. A job can run twice: its process can die
 * before the success is recorded, and it can be enqueued again. A job is therefore idempotent: it
 * looks for due work instead of relying on when it runs, and a second run finds nothing to do.
 */
export interface Job {
  name: JobName
  /** When it runs, in UTC (see `parsePeriodSeconds`); null for a job that is only enqueued. */
  schedule: string | null
  /** The signal aborts after this long; a minute later another process may take over. */
  timeoutSeconds: number
  /** Throws when it could not finish; it is then retried. */
  run(payload: JobPayload, context: JobContext): Promise<void>
}

/** The payload of `enqueueJob`; empty for a scheduled run. It contains no identity. */
export type JobPayload = Record<string, unknown>

export interface JobContext {
  now: Date
  /** Aborted when the job times out or the process stops. Finished work should be kept. */
  signal: AbortSignal
}

/** With delays of 3, 7, 20, 55, ... seconds between them, an hour and a quarter in total. */
export const JOB_ATTEMPTS_MAX = 9

export type JobOutcome = 'succeeded' | 'failed' | 'interrupted'

/** A finished attempt. `interrupted`: the process was stopping, and another one retries. */
export interface JobRun {
  name: JobName
  outcome: JobOutcome
  seconds: number
  /** The thrown error; null when it succeeded. */
  error: unknown
}

const REPEATS_MAX = 100

/** Repeats a step until nothing is left, nothing changes (a table is locked), or time is up. */
export function repeatUntilDone(
  step: (context: JobContext) => Promise<{ more: boolean }>,
): Job['run'] {
  return async (_, context) => {
    for (let repeat = 0; repeat < REPEATS_MAX && !context.signal.aborted; repeat += 1) {
      const { more, ...counts } = await step(context)
      const hasChanged = Object.values(counts).some(count => Number(count) > 0)
      if (!more || !hasChanged) return
    }
  }
}

const SCHEDULE_FORMS = /^(?:\*\/(?<minutes>\d+) \*|(?<minute>\d+) (?<hour>\*|\d+)) \* \* \*$/

/**
 * The interval of a schedule in seconds. Schedules are crontab lines in UTC, in one of three forms:
 * every N minutes, where N divides 60, hourly (`7 * * * *`) or daily
 * (`10 3 * * *` is 03:10). None is rarer, so that a missed run is always one of the last day.
 * Throws a RangeError for any other form.
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
