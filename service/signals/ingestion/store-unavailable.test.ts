import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  type Reply,
  startTestService,
  type TestService,
} from '../../../testing/fixtures/service.ts'

const TABLES = ['events', 'event_payloads', 'sessions', 'delivery_queue']

it('returns 503 while the database is unavailable and recovers', async test => {
  const service = await startTestService(test)
  const admin = await adminOf(test, service)
  assert.equal((await service.submit(samplePurchase({ event_id: 'before' }))).status, 202)
  const mend = await cutOff(service, admin)
  const during = samplePurchase({ event_id: 'during' })
  assertUnavailable(await service.submit(during))
  assertUnavailable(await service.request('POST', '/api/v1/verification-events'))
  assertUnavailable(await service.read('before'))
  const ready = await service.request('GET', '/readyz', { secret: null })
  assert.equal(ready.status, 503)
  assert.deepEqual(ready.body, {
    status: 'unavailable',
    failed: ['store'],
    causes: { store: 'unreachable' },
  })
  assert.equal((await service.request('GET', '/livez', { secret: null })).status, 200)
  mend()
  assert.equal((await service.read('during')).status, 404)
  assert.equal((await service.submit(during)).status, 202)
  assert.equal((await service.read('before')).status, 200)
  assert.equal((await service.request('GET', '/readyz', { secret: null })).status, 200)
})

it('returns 503 instead of 401 for a secret that cannot be looked up', async test => {
  const service = await startTestService(test)
  const admin = await adminOf(test, service)
  const mend = await cutOff(service, admin)
  assertUnavailable(await service.read('order-1001'))
  const garbage = await service.request('GET', '/api/v1/events/x', { secret: 'garbage' })
  assert.equal(garbage.status, 401)
  mend()
  assert.equal((await service.read('order-1001')).status, 404)
})

it('returns 503 and stores nothing when the connection is lost during a commit', async test => {
  const service = await startTestService(test)
  const admin = await adminOf(test, service)
  const lock = await adminOf(test, service)
  // The last table that the statement writes: everything before it has been written by then.
  await lock.query('begin; lock table delivery_queue in access exclusive mode')
  const answer = service.submit(samplePurchase())
  await someoneWaits(admin)
  await disconnect(admin, lock)
  assertUnavailable(await answer)
  await lock.query('commit')
  for (const table of TABLES) {
    const { rows } = await admin.query(`select count(*)::integer as count from ${table}`)
    assert.equal(rows[0].count, 0, table)
  }
  assert.equal((await service.submit(samplePurchase())).status, 202)
  assert.equal((await service.read('order-1001')).body.deliveries.length, 1)
})

function assertUnavailable(reply: Reply): void {
  assert.equal(reply.status, 503)
  assert.deepEqual(reply.body, { message: 'The store is unavailable; try again.' })
  assert.equal(reply.headers.get('retry-after'), '2')
  assert.match(reply.headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/)
}

/** Points the service at a port without a listener. The returned function ends that. */
async function cutOff({ database }: TestService, admin: pg.Client): Promise<() => void> {
  const options = database.pool.options as { connectionString?: string }
  const before = options.connectionString ?? ''
  const nowhere = new URL(before)
  nowhere.port = '1'
  options.connectionString = nowhere.href
  await disconnect(admin)
  return () => {
    options.connectionString = before
  }
}

/** Ends every connection to the test's database but those given. */
async function disconnect(...spared: pg.Client[]): Promise<void> {
  const [admin] = spared
  const own = spared.map(client => (client as unknown as { processID: number }).processID)
  await admin?.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = current_database() and pid <> all($1::integer[])`,
    [own],
  )
}

async function adminOf(test: TestContext, { connectionString }: TestService): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString,
    options: '-c search_path=signalbox_store,public',
  })
  client.on('error', () => {})
  await client.connect()
  test.after(() => client.end())
  return client
}

const ASKS_MAX = 2_000

async function someoneWaits(admin: pg.Client): Promise<void> {
  for (let asks = 0; asks < ASKS_MAX; asks += 1) {
    const { rows } = await admin.query(
      `select from pg_locks where not granted and database =
         (select oid from pg_database where datname = current_database())`,
    )
    if (rows.length > 0) return
    await delay(5)
  }
  assert.fail('no commit ever waited for the lock')
}
