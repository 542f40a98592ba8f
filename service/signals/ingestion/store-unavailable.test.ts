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

/** A hang would last until the statement is canceled, after a minute. */
const ANSWER_SECONDS_MAX = 6

it('answers 503 while a lock is held, says so in /readyz, and stores no event twice', async test => {
  const service = await startTestService(test, { isShared: false })
  const lock = await adminOf(test, service)
  await lock.query('begin; lock table events in access exclusive mode')
  const purchases = ['a', 'b', 'c'].map(event_id => samplePurchase({ event_id }))
  const batch = ['d', 'e'].map(event_id => samplePurchase({ event_id }))
  const submitBatch = () =>
    service.request('POST', '/api/v1/events/batch', { body: { events: batch } })
  const verify = () => service.request('POST', '/api/v1/verification-events')
  const answers = Promise.all([...purchases.map(body => service.submit(body)), verify()])
  const ofBatch = submitBatch()
  const hang = delay(ANSWER_SECONDS_MAX * 1_000, null, { ref: false })
  const replies = await Promise.race([answers, hang])
  assert.ok(replies, `no answer within ${ANSWER_SECONDS_MAX} s`)
  for (const reply of replies) assertUnavailable(reply)
  for (const result of (await ofBatch).body.results) {
    assert.deepEqual([result.status, result.retry_after], [503, 2])
  }
  const ready = await service.request('GET', '/readyz', { secret: null })
  assert.deepEqual([ready.status, ready.body.causes], [503, { commits: 'lock_timeout' }])
  assert.equal(service.server.commitHealth.failures.event, 0, 'the lock is not the event’s fault')
  await lock.query('commit')
  // A group that was waiting may still be stored: its retry is then a duplicate.
  for (const body of purchases) assert.ok([200, 202].includes((await service.submit(body)).status))
  for (const { status } of (await submitBatch()).body.results)
    assert.ok([200, 202].includes(status))
  assert.ok([200, 202].includes((await verify()).status))
  const { rows } = await lock.query(
    'select count(*)::integer as count, count(distinct id_digest)::integer as ids from event_keys',
  )
  assert.deepEqual(rows, [{ count: 6, ids: 6 }])
  assert.equal((await service.request('GET', '/readyz', { secret: null })).status, 200)
})

it('answers 503 while the store is slow, goes on storing, and calls the retry a duplicate', async test => {
  const service = await startTestService(test, { isShared: false })
  const admin = await adminOf(test, service)
  await admin.query(
    `create function wait() returns trigger language plpgsql as
       $$ begin perform pg_sleep(8); return new; end $$;
     create trigger wait before insert on event_keys for each statement execute function wait()`,
  )
  const slow = samplePurchase({ event_id: 'slow' })
  assertUnavailable(await service.submit(slow))
  const ready = await service.request('GET', '/readyz', { secret: null })
  assert.deepEqual([ready.status, ready.body.causes], [503, { commits: 'timeout' }])
  // The same commit goes on: nothing else stores the event.
  for (let polls = 0; (await service.read('slow')).status === 404; polls += 1) {
    assert.ok(polls < ASKS_MAX, 'the commit was given up')
    await delay(10)
  }
  await admin.query('drop function wait cascade')
  const retry = await service.submit(slow)
  assert.deepEqual([retry.status, retry.body.duplicate], [200, true])
  assert.equal((await service.read('slow')).body.deliveries.length, 1)
})

it('plans an event again when Citus divided its shard, and returns 503 after twice', async test => {
  const service = await startTestService(test)
  const admin = await adminOf(test, service)
  const failures = async (count: number) => {
    // A rollback does not set a sequence back.
    await admin.query(`
      drop sequence if exists attempts;
      create sequence attempts;
      create or replace function fail() returns trigger language plpgsql as $$ begin
        if nextval('attempts') <= ${count} then
          raise exception 'could not find valid entry for shard 102146' using errcode = 'XX000';
        end if;
        return new;
      end $$;
      create or replace trigger fail before insert on events for each row execute function fail()`)
  }
  await failures(1)
  assert.equal((await service.submit(samplePurchase({ event_id: 'once' }))).status, 202)
  await failures(2)
  assertUnavailable(await service.submit(samplePurchase({ event_id: 'twice' })))
  assert.equal((await service.read('twice')).status, 404)
  assert.equal((await service.submit(samplePurchase({ event_id: 'twice' }))).status, 202)
  assert.equal((await service.read('once')).body.deliveries.length, 1)
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
