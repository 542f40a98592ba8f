import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
} from '../../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { type Database, openDatabase } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { eraseEvents } from './erase-store.ts'
import { ensurePartitions } from './partition-store.ts'
import {
  type ErasablePayload,
  findPayloadRefs,
  findPayloadsByDigest,
  readPayloads,
} from './payload-search-store.ts'
import { digestVisitorId, legacyIndexKey, matchesPerson } from './person-identifiers.ts'

const DIGEST = hash('sha256', 'jane@example.com')
const MIGRATIONS = join(import.meta.dirname, '../../migrations')

function findPayloads(database: Database, digest: string): Promise<ErasablePayload[]> {
  return findPayloadsByDigest(database, { trackerId: TRACKER_ID, digest, limit: 100 })
}

it('finds events of all days, page by page, in order of days', async test => {
  const { database } = await createTestDatabase(test)
  await ensurePartitions(database, STORED_AT, 2)
  const digests = { ph: ['a'.repeat(64), DIGEST] }
  const payload = { visitorId: null, identityMark: 'm', digests, plain: {} }
  const entries = [3, 1, 0, 2].map(day =>
    ledgerEntry({
      eventId: `event-${day}`,
      createdAt: new Date(STORED_AT.getTime() + day * DAY_MILLISECONDS),
      payload: { ...payload, clickIds: {} },
    }),
  )
  await storeEntries(database, [...entries, ledgerEntry({ eventId: 'of-another-person' })])
  const search = { trackerId: TRACKER_ID, digest: DIGEST, limit: 3 }
  const first = await findPayloadsByDigest(database, search)
  assert.deepEqual(
    first.map(({ eventId, receivedOn }) => [eventId, receivedOn]),
    [
      ['event-0', '2026-11-21'],
      ['event-1', '2026-11-22'],
      ['event-2', '2026-11-23'],
    ],
  )
  const refs = await findPayloadRefs(database, { ...search, limit: 10 })
  assert.deepEqual(await readPayloads(database, TRACKER_ID, refs.slice(0, 3)), first)
  const second = await readPayloads(database, TRACKER_ID, refs.slice(3))
  assert.deepEqual(
    second.map(({ eventId, digests }) => [eventId, digests]),
    [['event-3', payload.digests]],
  )
})

it('distinguishes digests that share an index key', async test => {
  const { database } = await createTestDatabase(test)
  const twin = DIGEST.slice(0, 8) + 'f'.repeat(56)
  const digests = { em: [twin] }
  const payload = { visitorId: null, identityMark: 'm', digests, plain: {}, clickIds: {} }
  await storeEntries(database, [ledgerEntry({ payload })])
  const [candidate] = await findPayloads(database, DIGEST)
  assert.ok(candidate)
  assert.equal(matchesPerson(candidate, { digest: DIGEST, keys: ['em'] }), false)
})

it('erases each event once when equal erasures run concurrently', async test => {
  const { database } = await createTestDatabase(test)
  const visitor = (index: number) => ({
    eventId: `event-${index}`,
    payload: {
      visitorId: `v-${index % 7}`,
      identityMark: 'm',
      digests: { em: [DIGEST] },
      plain: {},
      clickIds: {},
    },
    session: { visitorId: `v-${index % 7}`, landingSource: null, clickIds: {} },
  })
  const entries = Array.from({ length: 50 }, (_, index) => ledgerEntry(visitor(index)))
  await storeEntries(database, entries)
  const payloads = await findPayloads(database, DIGEST)
  assert.equal(payloads.length, 50)
  const orders = [payloads, payloads.toReversed(), payloads.slice(10), payloads.slice(0, 40)]
  const erased = await Promise.all(orders.map(some => eraseEvents(database, TRACKER_ID, some)))
  assert.equal(
    erased.reduce((sum, { events }) => sum + events, 0),
    50,
  )
  assert.equal(
    erased.reduce((sum, { sessions }) => sum + sessions, 0),
    7,
  )
})

it('indexes payloads from before the migration', async test => {
  const database = await storeBefore0006(test)
  const external = hash('sha256', 'crm-1')
  const long = `GA1.2.${'0123456789'.repeat(7)}`
  const visitors = [
    ...['Customer-9', `sha256:${DIGEST}`, external.toUpperCase(), 'Ünïcode Jane', null],
    ...[long, `${DIGEST}.AbCd-_12`, 'ID with spaces'],
  ]
  const stored: [string, string | null, object][] = [
    ['mail', null, { em: ['b'.repeat(64), DIGEST], fn: ['c'.repeat(64)] }],
    ['id', null, { external_id: [external] }],
    ['anonymous', null, {}],
    ...visitors.map((visitor, index) => [`visitor-${index}`, visitor, {}] as const),
  ].map(([id, visitor, digests]) => [id as string, visitor as string | null, digests as object])
  for (const [eventId, visitor, digests] of stored)
    await insertBefore0006(database, eventId, visitor, digests)
  await database.pool.query(migration('0006-erasure.sql'))
  // A process of the earlier version keeps running until it restarts.
  await insertBefore0006(database, 'by-old-process', null, { em: [DIGEST] })

  const named = async (digest: string) => {
    const person = { digest, keys: ['em', 'ph', 'external_id'] } as const
    const { rows } = await database.pool.query(
      `select event_id, visitor_id as "visitorId", user_data -> 'digests' as digests
       from event_payloads where identifier_keys && array[$1::integer, 0] order by event_id`,
      [legacyIndexKey(digest)],
    )
    return rows.filter(payload => matchesPerson(payload, person)).map(({ event_id }) => event_id)
  }
  assert.deepEqual(await named(DIGEST), ['by-old-process', 'mail', 'visitor-1', 'visitor-6'])
  assert.deepEqual(await named(external), ['id', 'visitor-2'])
  for (const visitor of ['Customer-9', 'Ünïcode Jane', long, 'ID with spaces']) {
    assert.equal((await named(digestVisitorId(visitor))).length, 1, visitor)
  }
  const { rows } = await database.pool.query(
    `select event_id from event_payloads where identifier_keys && '{0}' order by event_id`,
  )
  assert.deepEqual(
    rows.map(({ event_id }) => event_id),
    ['by-old-process', 'visitor-3'],
  )
})

it('removes identifiers from planner statistics and collects no new ones after the migration', async test => {
  const database = await storeBefore0006(test)
  const { pool } = database
  const store = async (index: number) => {
    const visitor = `visitor-${index}`
    await insertBefore0006(database, `event-${index}`, visitor, {})
    for (const [table, columns, values] of [
      [
        'sessions',
        'first_seen_at, last_seen_at, landing_source, click_ids',
        `now(), now(), $2, '{}'`,
      ],
      ['consent_withdrawals', 'withdrawn_at', 'now()'],
    ]) {
      await pool.query(
        `insert into ${table} (tracker_id, visitor_id, ${columns}) values ('${TRACKER_ID}', $1, ${values})`,
        values?.includes('$2') ? [visitor, `https://shop.example/?fbclid=${visitor}`] : [visitor],
      )
    }
  }
  const countStatistics = async () => {
    await pool.query('analyze')
    const { rows } = await pool.query('select s::text as row from pg_statistic s')
    return rows.filter(({ row }) => row.includes('visitor-')).length
  }
  for (let index = 0; index < 5; index += 1) await store(index)
  assert.ok((await countStatistics()) > 3)
  await pool.query(migration('0006-erasure.sql'))
  assert.equal(await countStatistics(), 0)
})

function migration(file: string): string {
  return readFileSync(join(MIGRATIONS, file), 'utf8')
}

async function storeBefore0006(test: TestContext): Promise<Database> {
  const database = openDatabase({
    connectionString: await createDatabaseFromTemplate(test, 'template0'),
    connectionsMax: 1,
    applicationName: 'migration test',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  for (const file of readdirSync(MIGRATIONS).sort()) {
    if (file < '0006') await database.pool.query(migration(file))
  }
  return database
}

async function insertBefore0006(
  { pool }: Database,
  eventId: string,
  visitorId: string | null,
  digests: object,
): Promise<void> {
  await pool.query(
    `insert into event_payloads (tracker_id, event_id, received_on, visitor_id, user_data, click_ids)
     values ($1, $2, '2026-11-21', $3, $4, '{}')`,
    [TRACKER_ID, eventId, visitorId, JSON.stringify({ digests, plain: {} })],
  )
}
