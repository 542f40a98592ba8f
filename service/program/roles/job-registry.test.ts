import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { storeDestinations } from '../../../testing/fixtures/deliveries.ts'
import type { Database } from '../../runtime/db/database.ts'
import { JOB_NAMES, parsePeriodSeconds } from '../../runtime/jobs/job.ts'
import { buildJobs, type JobDependencies } from './job-registry.ts'

const jobs = buildJobs({ settings: {}, delivery: {} } as JobDependencies)

it('the registry has every job once', () => {
  assert.deepEqual(jobs.map(({ name }) => name).toSorted(), JOB_NAMES.toSorted())
})

it('each job has a valid name, a valid schedule, and a time limit within its period', () => {
  for (const { name, schedule, timeoutSeconds: secondsMax } of jobs) {
    assert.match(name, /^[a-z]+(-[a-z]+)*$/)
    if (schedule !== null) assert.ok(secondsMax < parsePeriodSeconds(schedule), name)
  }
})

it('the page names every job and no other', () => {
  const path = join(import.meta.dirname, '../../../docs/operations/running.md')
  const [, part = ''] = readFileSync(path, 'utf8').split('\n## Jobs\n')
  const [table = ''] = part.split('\n- ')
  const named = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name)
  assert.deepEqual(named.toSorted(), JOB_NAMES.toSorted())
})

/** As many as one run measures, so that each run says that there may be more. */
const DESTINATIONS = 100

it('ends a job that reports more work but makes no progress', async test => {
  const { database } = await createTestDatabase(test)
  const now = new Date('2026-11-21T12:00:00.000Z')
  await storeDueSnapshots(database, now)
  // As if other processes had claimed every destination since this one looked for what is due.
  await database.pool.query(
    `create sequence claims;
     create function busy() returns trigger language plpgsql as
       $$ begin perform nextval('claims'); return null; end $$;
     create trigger busy before insert on emq_readings for each row execute function busy()`,
  )
  const parts = { settings: {}, delivery: { database }, onAlert: () => {} }
  const job = buildJobs(parts as unknown as JobDependencies).find(
    ({ name }) => name === 'take-due-snapshots',
  )
  await job?.run({}, { now, signal: new AbortController().signal })
  const { rows } = await database.pool.query('select last_value from claims')
  assert.equal(rows[0].last_value, DESTINATIONS)
})

async function storeDueSnapshots(database: Database, now: Date): Promise<void> {
  const keys = { current: randomBytes(32), previous: [] }
  const queues = await storeDestinations(database, keys, DESTINATIONS)
  await database.pool.query(
    `insert into sent_counts
       (tracker_id, destination_id, sent_on, event_name, event_on, slot, accepted, test, unknown)
     select tracker_id, id, $3::date, 'Purchase', $3::date, 0, 1, 0, 0
     from unnest($1::uuid[], $2::uuid[]) as queue (tracker_id, id)`,
    [
      queues.map(({ trackerId }) => trackerId),
      queues.map(({ destinationId }) => destinationId),
      now,
    ],
  )
}
