import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createJobsFixture, startEndlessJob } from '../../../testing/fixtures/jobs.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { JOB_ATTEMPTS_MAX } from './job.ts'
import {
  deleteFailedJobs,
  enqueueJob,
  readJobStatistics,
  recordJobSuccess,
  registerJobs,
} from './job-store.ts'

it('enqueues a repeated request once per payload', async test => {
  const { database } = await createTestDatabase(test)
  await Promise.all(Array.from({ length: 8 }, () => enqueueJob(database, 'look')))
  for (const date of ['2026-11-20', '2026-11-20', '2026-11-19']) {
    await enqueueJob(database, 'look', { date })
  }
  assert.equal((await readJobStatistics(database, [])).counts.queued, 3)
})

it('enqueues a running job once more', async test => {
  const place = await createJobsFixture(test)
  const { end } = await startEndlessJob(place, 'look')
  for (let request = 0; request < 3; request += 1) await enqueueJob(place.database, 'look')
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
    await enqueueJob({ query }, 'look')
    throw new Error('rolled back')
  })
  await assert.rejects(asked, /rolled back/)
  assert.equal((await readJobStatistics(database, [])).counts.queued, 0)
})

it('counts a failed job, deletes it after a week, and replaces it on a new request', async test => {
  const { database } = await createTestDatabase(test)
  const failToTheEnd = (name: string) =>
    database.pool.query(
      `update signalbox_jobs._private_jobs set attempts = max_attempts where key = $1`,
      [name],
    )
  for (const name of ['old', 'new', 'replaced']) {
    await enqueueJob(database, name)
    await failToTheEnd(name)
  }
  await enqueueJob(database, 'replaced')
  await database.pool.query(
    `update signalbox_jobs._private_jobs set updated_at = now() - interval '8 days'
     where key = 'old'`,
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
    { key: 'new', attempts: JOB_ATTEMPTS_MAX, max_attempts: JOB_ATTEMPTS_MAX },
    { key: 'replaced', attempts: 0, max_attempts: JOB_ATTEMPTS_MAX },
  ])
})

it('measures the time since a job last succeeded or was registered', async test => {
  const { database } = await createTestDatabase(test)
  await registerJobs(database, ['daily', 'hourly'])
  await database.pool.query(`update job_records set known_at = now() - interval '1 hour'`)
  await recordJobSuccess(database, 'hourly')
  await registerJobs(database, ['daily', 'hourly'])
  const { successAgeSeconds } = await readJobStatistics(database, ['daily', 'hourly', 'stranger'])
  assert.deepEqual([...successAgeSeconds.keys()].sort(), ['daily', 'hourly'])
  assert.ok((successAgeSeconds.get('daily') ?? 0) >= 3_600)
  assert.ok((successAgeSeconds.get('hourly') ?? 3_600) < 3_600)
})
