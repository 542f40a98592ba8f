import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { eventually } from '../../testing/program-under-test.ts'
import { testStore } from '../../testing/test-store.ts'
import { insertTrackerWithWorkspace } from '../../testing/tracker-fixture.ts'
import type { Database } from '../db/database.ts'
import { createLastUseRecorder } from './authenticate-tracker.ts'

const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'
const DIGEST = hash('sha256', 'the key', 'buffer')
const KEYS_MAX = 10_000

/** A key in the store, the time of day, and how often the store was asked to note a use. */
async function keyUnderTest(test: TestContext) {
  const { database } = await testStore(test)
  const clock = { now: new Date('2026-11-21T12:00:00.000Z') }
  const createdAt = clock.now
  await insertTrackerWithWorkspace(database, { id: TRACKER_ID, createdAt })
  await database.pool.query(
    `insert into tracker_keys (key_digest, tracker_id, kind, last_characters, created_at)
     values ($1, $2, $3, 'abcd', $4)`,
    [DIGEST, TRACKER_ID, 'tracker_secret', createdAt],
  )
  const errors: unknown[] = []
  const noteKey = createLastUseRecorder(database, {
    now: () => clock.now,
    onTouchError: error => errors.push(error),
  })
  const note = (digest: Buffer) => noteKey({ trackerId: TRACKER_ID, digest })
  return { database, clock, errors, note }
}

async function noted(database: Database): Promise<string | null> {
  const { rows } = await database.pool.query(
    'select last_used_at from tracker_key_uses where tracker_id = $1 and key_digest = $2',
    [TRACKER_ID, DIGEST],
  )
  return rows[0]?.last_used_at.toISOString() ?? null
}

async function notedCount({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select count(*) from tracker_key_uses')
  return rows[0].count
}

it('notes a use of a key once a minute', async test => {
  const { database, clock, note } = await keyUnderTest(test)
  note(DIGEST)
  await eventually('it is noted', async () => (await noted(database)) !== null)
  clock.now = new Date('2026-11-21T12:00:30.000Z')
  note(DIGEST)
  // One connection after the other: what was asked before is done by the time that this is.
  await Promise.all(Array.from({ length: 10 }, () => database.ping()))
  assert.equal(await noted(database), '2026-11-21T12:00:00.000Z')
})

it('remembers ten thousand keys, and forgets them all for the next one', async test => {
  const { database, clock, errors, note } = await keyUnderTest(test)
  note(DIGEST)
  await eventually('it is noted', async () => (await noted(database)) !== null)
  for (let key = 1; key < KEYS_MAX; key += 1) note(hash('sha256', `another key ${key}`, 'buffer'))
  clock.now = new Date('2026-11-21T12:00:30.000Z')
  note(DIGEST)
  const isAllNoted = async () => (await notedCount(database)) === KEYS_MAX
  await eventually('all are noted', isAllNoted)
  assert.equal(await noted(database), '2026-11-21T12:00:00.000Z', 'the first is remembered still')
  note(hash('sha256', 'one key too many', 'buffer'))
  note(DIGEST)
  const isAgain = async () => (await noted(database)) === '2026-11-21T12:00:30.000Z'
  await eventually('the first is noted again', isAgain)
  assert.deepEqual(errors, [])
})
