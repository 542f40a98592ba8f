import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import {
  type CredentialKeys,
  openCredential,
  sealCredential,
} from '../../runtime/util/sealed-credential.ts'
import { everyDestination, resealCredentials } from './credential-store.ts'
import { insertDestination } from './destination-store.ts'

const OLD = randomBytes(32)
const LOST = randomBytes(32)
const KEYS: CredentialKeys = { current: randomBytes(32), previous: [OLD] }
const AT = new TestClock().now()

/** A store with a tracker, and a way to give it destinations sealed with a key of one's choice. */
async function storeOfCredentials(test: TestContext) {
  const { database, connectionString } = await createTestDatabase(test)
  const trackerId = randomUUID()
  const tracker = { id: trackerId, createdAt: AT }
  await insertTrackerWithWorkspace(database, tracker)
  const insert = async (key: Buffer, credential: string): Promise<string> => {
    const id = randomUUID()
    const sealedCredential = sealCredential({ current: key, previous: [] }, id, credential)
    const destination = {
      trackerId,
      id,
      platform: 'meta',
      config: { dataset_id: '1' },
      createdAt: AT,
    }
    await insertDestination(database, { ...destination, sealedCredential })
    return id
  }
  /** By destination: what opens with the current key alone. */
  const opened = async () => {
    const current = { current: KEYS.current, previous: [] }
    const found: Record<string, string | null> = {}
    for await (const { id, sealedCredential } of everyDestination(database)) {
      found[id] = openCredential(current, id, sealedCredential)?.credential ?? null
    }
    return found
  }
  return { database, connectionString, insert, opened }
}

it('reseals the credentials of previous keys and counts the others', async test => {
  const { database, insert, opened } = await storeOfCredentials(test)
  const [first, second] = [await insert(OLD, 'first'), await insert(OLD, 'second')]
  const third = await insert(KEYS.current, 'third')
  const lost = await insert(LOST, 'lost')
  assert.deepEqual(await resealCredentials(database, KEYS), {
    alreadyCurrent: 1,
    resealed: 2,
    unreadable: [lost],
  })
  const expected = { [first]: 'first', [second]: 'second', [third]: 'third', [lost]: null }
  assert.deepEqual(await opened(), expected)
  assert.deepEqual(await resealCredentials(database, KEYS), {
    alreadyCurrent: 3,
    resealed: 0,
    unreadable: [lost],
  })
})

it('changes nothing else of a destination', async test => {
  const { database, insert } = await storeOfCredentials(test)
  await insert(OLD, 'token')
  const rest = async () => {
    const { sealed_credential: _, ...row } = await database.query
      .selectFrom('destinations')
      .selectAll()
      .executeTakeFirstOrThrow()
    return row
  }
  const before = await rest()
  await resealCredentials(database, KEYS)
  assert.deepEqual(await rest(), before)
})

it('reads every destination once across pages', async test => {
  const { database, insert, opened } = await storeOfCredentials(test)
  for (let number = 0; number < 501; number += 1) await insert(OLD, `token-${number}`)
  const { resealed } = await resealCredentials(database, KEYS)
  assert.equal(resealed, 501)
  assert.equal(new Set(Object.values(await opened())).size, 501)
})

it('keeps a credential that is set concurrently', async test => {
  const { database, connectionString, insert, opened } = await storeOfCredentials(test)
  const id = await insert(OLD, 'former')
  const other = new pg.Client({ connectionString }).on('error', () => {})
  await other.connect()
  const newer = sealCredential({ current: OLD, previous: [] }, id, 'newer')
  await other.query('begin')
  await other.query('update destinations set sealed_credential = $1', [newer])

  const resealing = resealCredentials(database, KEYS)
  await waitUntil('the resealing waits for the row', async () => {
    const { rows } = await other.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
  await other.query('commit')
  await other.end()
  assert.deepEqual(await resealing, { alreadyCurrent: 0, resealed: 1, unreadable: [] })
  assert.deepEqual(await opened(), { [id]: 'newer' })
})
