import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { JOB_ATTEMPTS_MAX, type JobName, type JobPayload } from './job.ts'

const ENQUEUE_TRIES_MAX = 3
const FAILED_RETENTION_DAYS = 7
const DELETED_JOBS_MAX = 1_000
/** A metrics request omits the value rather than wait longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/**
 * Enqueues a job: immediately, or when the transaction given as `query` commits. The same name and
 * payload wait only once, however often they are enqueued; while they run, they can wait once more,
 * since the running job may have started before the reason for the new one. A payload is an object
 * without identity, since failed jobs are kept for a while.
 */
export async function enqueueJob(
  { query }: Pick<Database, 'query'>,
  name: JobName,
  payload: JobPayload = {},
): Promise<void> {
  const text = JSON.stringify(payload)
  for (let tries = 0; tries < ENQUEUE_TRIES_MAX; tries += 1) {
    const { rows } = await sql<{ id: number | null }>`
      select id from signalbox_jobs.add_job(
        identifier => ${name}, payload => ${text}::json, queue_name => ${name},
        max_attempts => ${JOB_ATTEMPTS_MAX}, job_key => ${buildJobKey(name, text)})`.execute(query)
    // Null when the waiting job was just started: the next try adds another one.
    if (rows[0]?.id) return
  }
  throw new Error(`the job ${name} could not be enqueued`)
}

/** Whether jobs of this name wait, run or will be retried. */
export async function hasPendingJob({ pool }: Database, name: JobName): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'has-pending-job',
    text: `select exists (
             select 1 from signalbox_jobs.jobs
             where task_identifier = $1::text and attempts < max_attempts
           ) as is_pending`,
    values: [name],
  })
  return rows[0].is_pending
}

/** A job without a payload shares the key of its schedule. The length of keys is limited. */
function buildJobKey(name: string, payload: string): string {
  if (payload === '{}') return name
  return `${name}:${createHash('sha256').update(payload).digest('hex')}`
}

/**
 * Releases the jobs of dead processes: those with a job that was locked more than `leaseSeconds`
 * ago and is not finished. Returns how many processes.
 */
export async function releaseAbandonedJobs(
  { pool }: Database,
  leases: readonly { name: JobName; leaseSeconds: number }[],
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

/** Releases the jobs of one worker of this process that cannot release them itself. */
export async function releaseWorkerJobs({ pool }: Database, workerId: string): Promise<void> {
  await pool.query('select signalbox_jobs.force_unlock_workers(array[$1::text])', [workerId])
}

/**
 * Deletes jobs that will not be retried: those that a newer request replaced (it took their key),
 * and those that failed all attempts a week ago.
 */
export async function deleteFailedJobs({ pool }: Database): Promise<void> {
  await pool.query({
    name: 'delete-failed-jobs',
    text: `select count(*) from signalbox_jobs.complete_jobs(array(
             select id from signalbox_jobs.jobs
             where locked_at is null and attempts >= max_attempts
               and (key is null or updated_at < now() - interval '${FAILED_RETENTION_DAYS} days')
             limit ${DELETED_JOBS_MAX}))`,
  })
}

/** Records the jobs, so that the time since their last success is known. */
export async function registerJobs({ pool }: Database, names: readonly JobName[]): Promise<void> {
  await pool.query(
    `insert into job_records (name) select unnest($1::text[]) on conflict (name) do nothing`,
    [names],
  )
}

export async function recordJobSuccess({ pool }: Database, name: JobName): Promise<void> {
  await pool.query({
    name: 'record-job-success',
    text: `insert into job_records (name, succeeded_at) values ($1::text, now())
           on conflict (name) do update set succeeded_at = excluded.succeeded_at`,
    values: [name],
  })
}

/** The jobs of all processes on this database. */
export interface JobStatistics {
  counts: Record<'queued' | 'running' | 'failed', number>
  /** Seconds since each last succeeded, or since it was registered. */
  successAgeSeconds: Map<JobName, number>
}

export async function readJobStatistics(
  { pool }: Database,
  names: readonly JobName[],
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
    successAgeSeconds: new Map(
      names.flatMap(name => {
        const record = recorded.rows.find(row => row.name === name)
        return record ? [[name, record.age]] : []
      }),
    ),
  }
}
