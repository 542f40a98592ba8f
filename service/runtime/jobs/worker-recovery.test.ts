import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { runAsAdmin } from '../../../testing/fixtures/database.ts'
import {
  createJob,
  createJobsFixture,
  type JobsFixture,
  startEndlessJob,
} from '../../../testing/fixtures/jobs.ts'
import { spawnProgram } from '../../../testing/fixtures/program.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { enqueueJob } from './job-store.ts'

const STUCK_JOB = new URL('../../../testing/crash/stuck-job-process.ts', import.meta.url).pathname

it('aborts running jobs on stop and releases them to other processes', async test => {
  const place = await createJobsFixture(test)
  const started = Promise.withResolvers<void>()
  const worker = place.start([
    createJob('index-lists', async (_, { signal }) => {
      started.resolve()
      await once(signal, 'abort')
    }),
  ])
  await enqueueJob(place.database, 'index-lists')
  await started.promise
  await worker.stop()
  assert.equal(place.runs[0]?.outcome, 'interrupted')
  const [left] = await place.queued()
  assert.deepEqual([left?.locked, left?.attempts], [false, 1])

  place.start([createJob('index-lists', async () => {})])
  await place.skipRetryDelays()
  await waitUntil('another one did it', () => place.runs.length === 2)
})

it('stops although a job ignores the signal', async test => {
  const place = await createJobsFixture(test)
  const started = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const worker = place.start([
    createJob('index-lists', async () => {
      started.resolve()
      await end.promise
    }),
  ])
  await enqueueJob(place.database, 'index-lists')
  await started.promise
  await worker.stop()
  assert.equal((await place.queued())[0]?.locked, false)
  end.resolve()
})

it('runs the jobs of a killed process in another one', async test => {
  const place = await createJobsFixture(test)
  await enqueueJob(place.database, 'index-lists')
  const program = spawnProgram([STUCK_JOB, place.connectionString])
  test.after(() => program.kill('SIGKILL'))
  await program.waitForOutput(/working/)
  await program.kill('SIGKILL')

  const worker = place.start([createJob('index-lists', async () => {})])
  await place.workersListen(1)
  await worker.stop()
  assert.equal((await place.queued())[0]?.locked, true, 'its time is not over yet')
  assert.deepEqual(place.runs, [])

  await place.expireLeases()
  place.start([createJob('index-lists', async () => {})])
  await waitUntil('it was done', () => place.runs.length === 1)
  await waitUntil('it left the queue', async () => (await place.queued()).length === 0)
})

it('continues after the database was unavailable and repeats unrecorded jobs', async test => {
  const place = await createJobsFixture(test)
  const { end } = await startEndlessJob(place, 'index-lists')
  const bringBack = await storeAway(place)
  end()
  await waitUntil('its end could not be noted', () =>
    place.errors.some(error => /Failed to complete jobs/.test(String(error))),
  )
  await bringBack()
  await waitUntil('it was done again', () => place.runs.length === 2)
  await waitUntil('it left the queue', async () => (await place.queued()).length === 0)
})

it('continues after the database was unavailable while idle', async test => {
  const place = await createJobsFixture(test)
  place.start([createJob('index-lists', async () => {})])
  await place.workersListen(1)
  const bringBack = await storeAway(place)
  await waitUntil('the error was reported', () => place.errors.length > 0)
  await bringBack()
  await enqueueJob(place.database, 'index-lists')
  await waitUntil('it ran', () => place.runs.length === 1)
})

it('waits for a database that is unavailable at the start', async test => {
  const place = await createJobsFixture(test)
  await enqueueJob(place.database, 'index-lists')
  const bringBack = await storeAway(place)
  place.start([createJob('index-lists', async () => {})])
  await waitUntil('the error was reported', () => place.errors.length > 0)
  await bringBack()
  await waitUntil('it ran', () => place.runs.length === 1)
})

it('stops while the database is unavailable', async test => {
  const place = await createJobsFixture(test)
  const worker = place.start([createJob('index-lists', async () => {})])
  await place.workersListen(1)
  const bringBack = await storeAway(place)
  await waitUntil('the error was reported', () => place.errors.length > 0)
  await worker.stop()
  await bringBack()
})

/** Ends every connection to the store and refuses new ones until the returned function runs. */
async function storeAway({ connectionString }: JobsFixture): Promise<() => Promise<void>> {
  const name = new URL(connectionString).pathname.slice(1)
  await runAsAdmin(`alter database ${name} allow_connections false`)
  await runAsAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )
  return () => runAsAdmin(`alter database ${name} allow_connections true`)
}
