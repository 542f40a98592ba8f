import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import { listKeys } from './key-store.ts'

const MIGRATION = join(import.meta.dirname, '../../migrations/0018-key-uses.sql')
const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'

it('migrates the times of last use', async test => {
  const { database } = await createTestDatabase(test)
  const createdAt = new Date('2026-11-20T12:00:00.000Z')
  await insertTrackerWithWorkspace(database, { id: TRACKER_ID, createdAt })
  await database.pool.query(
    `drop table tracker_key_uses;
     alter table tracker_keys add column last_used_at timestamptz;
     insert into tracker_keys
       (tracker_id, key_digest, kind, last_characters, created_at, last_used_at)
     values ('${TRACKER_ID}', '\\x01', 'publishable', 'used', now(), '2026-11-21T12:00:00Z'),
       ('${TRACKER_ID}', '\\x02', 'tracker_secret', 'idle', now(), null)`,
  )
  await database.pool.query(readFileSync(MIGRATION, 'utf8'))
  const keys = await listKeys(database, TRACKER_ID)
  assert.deepEqual(
    keys.map(key => [key.lastCharacters, key.lastUsedAt?.toISOString() ?? null]).sort(),
    [
      ['idle', null],
      ['used', '2026-11-21T12:00:00.000Z'],
    ],
  )
})
