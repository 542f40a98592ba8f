import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createJobsFixture, startEndlessJob } from '../../../testing/fixtures/jobs.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { JOB_ATTEMPTS_MAX, type JobName } from './job.ts'
import {
  deleteFailedJobs,
  enqueueJob,
  readJobStatistics,
  recordJobSuccess,
  registerJobs,
} from './job-store.ts'

it('enqueues a repeated request once per payload', async test => {
  const { database } = await createTestDatabase(test)
  await Promise.all(Array.from({ length: 8 }, () => enqueueJob(database, 'index-lists')))
  for (const date of ['2026-11-20', '2026-11-20', '2026-11-19']) {
    await enqueueJob(database, 'index-lists', { date })
  }
  assert.equal((await readJobStatistics(database, [])).counts.queued, 3)
})

it('enqueues a running job once more', async test => {
  const place = await createJobsFixture(test)
  const { end } = await startEndlessJob(place, 'index-lists')
  for (let request = 0; request < 3; request += 1) await enqueueJob(place.database, 'index-lists')
  assert.deepEqual((await readJobStatistics(place.database, [])).counts, {
    queued: 1,
    running: 1,
    failed: 0,
  })
  end()
  await waitUntil('both are done', async () => (await place.queued()).length === 0)
  assert.equal(place.runs.length, 2)
})

it('enqueues nothing when the transaction is rolled back', async test => {
  const { database } = await createTestDatabase(test)
  const asked = database.query.transaction().execute(async query => {
    await enqueueJob({ query }, 'index-lists')
    throw new Error('rolled back')
  })
  await assert.rejects(asked, /rolled back/)
  assert.equal((await readJobStatistics(database, [])).counts.queued, 0)
})

it('counts a failed job, deletes it after a week, and replaces it on a new request', async test => {
  const { database } = await createTestDatabase(test)
  const failToTheEnd = (name: JobName) =>
    database.pool.query(
      `update signalbox_jobs._private_jobs set attempts = max_attempts where key = $1`,
      [name],
    )
  for (const name of ['expire-payloads', 'expire-attempts', 'make-due-reports'] as const) {
    await enqueueJob(database, name)
    await failToTheEnd(name)
  }
  await enqueueJob(database, 'make-due-reports')
  await database.pool.query(
    `update signalbox_jobs._private_jobs set updated_at = now() - interval '8 days'
     where key = 'expire-payloads'`,
  )
  assert.deepEqual((await readJobStatistics(database, [])).counts, {
    queued: 1,
    running: 0,
    failed: 2,
  })
  await deleteFailedJobs(database)
  const { rows } = await database.pool.query(
    'select key, attempts, max_attempts from signalbox_jobs.jobs order by key',
  )
  assert.deepEqual(rows, [
    { key: 'expire-attempts', attempts: JOB_ATTEMPTS_MAX, max_attempts: JOB_ATTEMPTS_MAX },
    { key: 'make-due-reports', attempts: 0, max_attempts: JOB_ATTEMPTS_MAX },
  ])
})

it('measures the time since a job last succeeded or was registered', async test => {
  const { database } = await createTestDatabase(test)
  await registerJobs(database, ['expire-ledger', 'index-lists'])
  await database.pool.query(`update job_records set known_at = now() - interval '1 hour'`)
  await recordJobSuccess(database, 'index-lists')
  await registerJobs(database, ['expire-ledger', 'index-lists'])
  const { successAgeSeconds } = await readJobStatistics(database, [
    'expire-ledger',
    'index-lists',
    'verify-audit',
  ])
  assert.deepEqual([...successAgeSeconds.keys()].sort(), ['expire-ledger', 'index-lists'])
  assert.ok((successAgeSeconds.get('expire-ledger') ?? 0) >= 3_600)
  assert.ok((successAgeSeconds.get('index-lists') ?? 3_600) < 3_600)
})
