import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createJob, createJobsFixture, JOBS_NOW } from '../../../testing/fixtures/jobs.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { JobPayload } from './job.ts'
import { enqueueJob } from './job-store.ts'

it('runs an enqueued job with its payload and the time of the clock', async test => {
  const place = await createJobsFixture(test)
  const seen: [JobPayload, Date][] = []
  place.start([
    createJob('index-lists', async (payload, { now }) => {
      seen.push([payload, now])
    }),
  ])
  await enqueueJob(place.database, 'index-lists', { date: '2026-11-20' })
  await waitUntil('it ran', () => place.runs.length === 1)
  assert.deepEqual(seen, [[{ date: '2026-11-20' }, JOBS_NOW]])
  assert.equal(place.runs[0]?.outcome, 'succeeded')
  await waitUntil('it left the queue', async () => (await place.queued()).length === 0)
  assert.deepEqual(place.errors, [])
})

it('never runs a job in two workers, in parallel or twice', async test => {
  const place = await createJobsFixture(test)
  let atOnce = 0
  let atOnceMost = 0
  const seen: unknown[] = []
  const look = createJob('index-lists', async ({ number }) => {
    atOnce += 1
    atOnceMost = Math.max(atOnceMost, atOnce)
    seen.push(number)
    await delay(2)
    atOnce -= 1
  })
  place.start([look])
  place.start([look])
  await place.workersListen(2)
  const numbers = Array.from({ length: 30 }, (_, number) => number)
  await Promise.all(numbers.map(number => enqueueJob(place.database, 'index-lists', { number })))
  await waitUntil('all ran', () => place.runs.length >= numbers.length)
  assert.deepEqual(
    (seen as number[]).toSorted((a, b) => a - b),
    numbers,
  )
  assert.equal(atOnceMost, 1)
})

it('starts a job while a long one is running', async test => {
  const place = await createJobsFixture(test)
  const end = Promise.withResolvers<void>()
  place.start([
    createJob('expire-ledger', () => end.promise),
    createJob('announce-alerts', async () => {}),
  ])
  await enqueueJob(place.database, 'expire-ledger')
  await enqueueJob(place.database, 'announce-alerts')
  await waitUntil('the short one ran', () => place.runs.length === 1)
  assert.equal(place.runs[0]?.name, 'announce-alerts')
  end.resolve()
})

it('makes up the last missed run at the start', async test => {
  const place = await createJobsFixture(test)
  let ran = 0
  const look = async () => {
    ran += 1
  }
  const periodic = createJob('index-lists', look, { schedule: '*/15 * * * *' })
  const first = place.start([periodic])
  await waitUntil('its schedule is known', async () => {
    const { rows } = await place.database.pool.query(
      'select identifier from signalbox_jobs._private_known_crontabs',
    )
    return rows.length === 1
  })
  await first.stop()
  assert.equal(ran, 0, 'nothing was missed')

  await place.database.pool.query(
    `update signalbox_jobs._private_known_crontabs set known_since = now() - interval '9 days'`,
  )
  const second = place.start([periodic])
  await waitUntil('it ran', () => place.runs.length === 1)
  await second.stop()
  const third = place.start([periodic])
  await place.workersListen(1)
  await third.stop()
  assert.equal(ran, 1)
  assert.deepEqual(await place.queued(), [])
})

it('reports a failed job once, stores it without its message, and retries it', async test => {
  const place = await createJobsFixture(test)
  let tries = 0
  place.start([
    createJob('index-lists', async () => {
      tries += 1
      if (tries === 1) throw Object.assign(new TypeError('secret@example.com'), { code: '22P02' })
    }),
  ])
  await enqueueJob(place.database, 'index-lists')
  await waitUntil('it failed', async () => (await place.queued())[0]?.last_error !== null)
  assert.deepEqual(await place.queued(), [
    { key: 'index-lists', attempts: 1, last_error: 'failed: TypeError 22P02', locked: false },
  ])
  await place.skipRetryDelays()
  await waitUntil('it was tried again', () => place.runs.length === 2)
  assert.deepEqual(
    place.runs.map(({ name, outcome }) => [name, outcome]),
    [
      ['index-lists', 'failed'],
      ['index-lists', 'succeeded'],
    ],
  )
  assert.match(String(place.runs[0]?.error), /secret@example\.com/)
  assert.deepEqual(place.errors, [])
})

it('aborts a job that times out and counts it as failed', async test => {
  const place = await createJobsFixture(test)
  place.start([
    createJob('index-lists', async (_, { signal }) => void (await once(signal, 'abort')), {
      timeoutSeconds: 0.01,
    }),
  ])
  await enqueueJob(place.database, 'index-lists')
  await waitUntil('it was over', () => place.runs.length === 1)
  assert.equal(place.runs[0]?.outcome, 'failed')
  assert.match(String(place.runs[0]?.error), /the job timed out/)
})
