import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { JOB_ATTEMPTS_MAX, type JobPayload } from './job.ts'

const ENQUEUE_TRIES_MAX = 3
const FAILED_RETENTION_DAYS = 7
const DELETED_JOBS_MAX = 1_000
/** A metrics request goes without the figure rather than wait longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/**
 * Asks for a job: at once, or when the transaction commits that is given as `query`. The same name
 * and payload wait once, however often they are asked for; while they run, they wait once more,
 * since what runs may not have seen why it is asked for. A payload is an object and holds no
 * identity, since failed jobs are kept for a while.
 */
export async function enqueueJob(
  { query }: Pick<Database, 'query'>,
  name: string,
  payload: JobPayload = {},
): Promise<void> {
  const text = JSON.stringify(payload)
  for (let request = 0; request < ENQUEUE_TRIES_MAX; request += 1) {
    const { rows } = await sql<{ id: number | null }>`
      select id from signalbox_jobs.add_job(
        identifier => ${name}, payload => ${text}::json, queue_name => ${name},
        max_attempts => ${JOB_ATTEMPTS_MAX}, job_key => ${buildJobKey(name, text)})`.execute(query)
    // Null when the one that waited was taken up in this moment: the next request waits beside it.
    if (rows[0]?.id) return
  }
  throw new Error(`the job ${name} could not be queued`)
}

/** Whether jobs of this name wait, run or are to be tried again. */
export async function hasPendingJob({ pool }: Database, name: string): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'is-job-left',
    text: `select exists (
             select 1 from signalbox_jobs.jobs
             where task_identifier = $1::text and attempts < max_attempts
           ) as is_left`,
    values: [name],
  })
  return rows[0].is_left
}

/** A job without a payload shares the key of its schedule. Keys have an end, payloads have none. */
function buildJobKey(name: string, payload: string): string {
  if (payload === '{}') return name
  return `${name}:${createHash('sha256').update(payload).digest('hex')}`
}

/**
 * Gives jobs back that a process took longer ago than `leaseSeconds` and is not done with: that
 * process is dead. With them goes what else it had taken. Returns how many processes that were.
 */
export async function releaseAbandonedJobs(
  { pool }: Database,
  leases: readonly { name: string; leaseSeconds: number }[],
): Promise<number> {
  const { rows } = await pool.query({
    name: 'release-abandoned-jobs',
    text: `with abandoned as (
             select distinct locked_by from signalbox_jobs.jobs
             join unnest($1::text[], $2::float8[]) as lease (name, seconds)
               on lease.name = jobs.task_identifier
             where locked_at < now() - make_interval(secs => lease.seconds)
           )
           select count(*) as released, signalbox_jobs.force_unlock_workers(array_agg(locked_by))
           from abandoned having count(*) > 0`,
    values: [leases.map(({ name }) => name), leases.map(({ leaseSeconds }) => leaseSeconds)],
  })
  return rows[0]?.released ?? 0
}

/** Gives back what one worker of this process had taken, when it cannot say so itself any more. */
export async function releaseWorkerJobs({ pool }: Database, workerId: string): Promise<void> {
  await pool.query('select signalbox_jobs.force_unlock_workers(array[$1::text])', [workerId])
}

/**
 * Forgets jobs that will not be tried again: those that a newer request has replaced (it took their
 * key), and after a week those that failed to the end.
 */
export async function deleteFailedJobs({ pool }: Database): Promise<void> {
  await pool.query({
    name: 'forget-failed-jobs',
    text: `select count(*) from signalbox_jobs.complete_jobs(array(
             select id from signalbox_jobs.jobs
             where locked_at is null and attempts >= max_attempts
               and (key is null or updated_at < now() - interval '${FAILED_RETENTION_DAYS} days')
             limit ${DELETED_JOBS_MAX}))`,
  })
}

/** From now on it is known how long each has not succeeded. */
export async function registerJobs({ pool }: Database, names: readonly string[]): Promise<void> {
  await pool.query(
    `insert into job_records (name) select unnest($1::text[]) on conflict (name) do nothing`,
    [names],
  )
}

export async function recordJobSuccess({ pool }: Database, name: string): Promise<void> {
  await pool.query({
    name: 'record-job-success',
    text: `insert into job_records (name, succeeded_at) values ($1::text, now())
           on conflict (name) do update set succeeded_at = excluded.succeeded_at`,
    values: [name],
  })
}

/** The jobs of all processes on this store. */
export interface JobStatistics {
  counts: Record<'queued' | 'running' | 'failed', number>
  /** Seconds since each last succeeded; since it is known, when it never did. */
  successAgeSeconds: Map<string, number>
}

export async function readJobStatistics(
  { pool }: Database,
  names: readonly string[],
): Promise<JobStatistics> {
  const counted = await pool.query({
    name: 'count-jobs',
    text: `select count(*) filter (where locked_at is null and attempts < max_attempts) as queued,
             count(*) filter (where locked_at is not null) as running,
             count(*) filter (where locked_at is null and attempts >= max_attempts
                              and key is not null) as failed
           from signalbox_jobs.jobs`,
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  } as { text: string })
  const recorded = await pool.query({
    name: 'read-job-records',
    text: `select name, extract(epoch from now() - coalesce(succeeded_at, known_at))::float8 as age
           from job_records where name = any($1::text[])`,
    values: [names],
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  } as { text: string })
  return {
    counts: counted.rows[0],
    successAgeSeconds: new Map(recorded.rows.map(({ name, age }) => [name, age])),
  }
}
