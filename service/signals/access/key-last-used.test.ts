import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Database } from '../../runtime/db/database.ts'
import { singleNode } from '../../runtime/db/store-nodes.ts'
import { createLastUseRecorder } from './authenticate-tracker.ts'

const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'
const DIGEST = hash('sha256', 'the key', 'buffer')
const KEYS_MAX = 10_000

/** A stored key, a clock and a recorder of its uses. */
async function keyUnderTest(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const clock = { now: new Date('2026-11-21T12:00:00.000Z') }
  const createdAt = clock.now
  await insertTrackerWithWorkspace(database, { id: TRACKER_ID, createdAt })
  await database.pool.query(
    `insert into tracker_keys (key_digest, tracker_id, kind, last_characters, created_at)
     values ($1, $2, $3, 'abcd', $4)`,
    [DIGEST, TRACKER_ID, 'tracker_secret', createdAt],
  )
  const errors: unknown[] = []
  const recordUse = createLastUseRecorder({
    nodes: singleNode(database),
    now: () => clock.now,
    onTouchError: error => errors.push(error),
  })
  const record = (digest: Buffer) => recordUse({ trackerId: TRACKER_ID, digest })
  return { database, clock, errors, record }
}

async function recordedAt(database: Database): Promise<string | null> {
  const { rows } = await database.pool.query(
    'select last_used_at from tracker_key_uses where tracker_id = $1 and key_digest = $2',
    [TRACKER_ID, DIGEST],
  )
  return rows[0]?.last_used_at.toISOString() ?? null
}

async function recordedCount({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select count(*) from tracker_key_uses')
  return rows[0].count
}

it('records a use of a key once a minute', async test => {
  const { database, clock, record } = await keyUnderTest(test)
  record(DIGEST)
  await waitUntil('it is recorded', async () => (await recordedAt(database)) !== null)
  clock.now = new Date('2026-11-21T12:00:30.000Z')
  record(DIGEST)
  // The pool serves requests in order, so an earlier write has finished after these.
  await Promise.all(Array.from({ length: 10 }, () => database.ping()))
  assert.equal(await recordedAt(database), '2026-11-21T12:00:00.000Z')
})

it('remembers ten thousand keys and drops the oldest for the next one', async test => {
  const { database, clock, errors, record } = await keyUnderTest(test)
  record(DIGEST)
  await waitUntil('it is recorded', async () => (await recordedAt(database)) !== null)
  for (let key = 1; key < KEYS_MAX; key += 1) record(hash('sha256', `another key ${key}`, 'buffer'))
  clock.now = new Date('2026-11-21T12:00:30.000Z')
  record(DIGEST)
  const areAllRecorded = async () => (await recordedCount(database)) === KEYS_MAX
  await waitUntil('all are recorded', areAllRecorded)
  assert.equal(
    await recordedAt(database),
    '2026-11-21T12:00:00.000Z',
    'the first is still remembered',
  )
  record(hash('sha256', 'one key too many', 'buffer'))
  record(DIGEST)
  const isRecordedAgain = async () => (await recordedAt(database)) === '2026-11-21T12:00:30.000Z'
  await waitUntil('the first is recorded again', isRecordedAgain)
  assert.deepEqual(errors, [])
})
