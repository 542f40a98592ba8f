import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

it('returns 503 while the queue is full, stores nothing, and accepts a retry', async test => {
  const service = await startTestService(test, { ingestQueueMax: 1 })
  const release = await lockEvents(test, service)
  const first = service.submit(samplePurchase({ event_id: 'in-flight' }))
  await someoneWaits(service)
  const others = ['a', 'b', 'c', 'd', 'e'].map(event_id => samplePurchase({ event_id }))
  const answers = others.map(body => service.submit(body))
  const refused = await firstOf(answers, others.length - 1)
  for (const reply of refused) {
    assert.equal(reply.status, 503)
    assert.deepEqual(reply.body, { message: 'Too many events are waiting; try again.' })
    assert.equal(reply.headers.get('retry-after'), '1')
    assert.equal(reply.headers.get('x-should-retry'), null)
  }
  await release()
  assert.equal((await first).status, 202)
  const settled = await Promise.all(answers)
  assert.deepEqual(settled.map(({ status }) => status).sort(), [202, 503, 503, 503, 503])
  for (const [index, body] of others.entries()) {
    const isStored = settled[index]?.status === 202
    const id = body.event_id as string
    assert.equal((await service.read(id)).status, isStored ? 200 : 404)
    assert.equal((await service.submit(body)).status, isStored ? 200 : 202)
  }
})

it('returns 503 for verification events as well, but never for reads', async test => {
  const service = await startTestService(test, { ingestQueueMax: 1 })
  await service.submit(samplePurchase())
  const release = await lockEvents(test, service, 'exclusive')
  const first = service.submit(samplePurchase({ event_id: 'in-flight' }))
  await someoneWaits(service)
  const path = '/api/v1/verification-events'
  const verifications = [1, 2].map(() => service.request('POST', path))
  const [refused] = await firstOf(verifications, 1)
  assert.equal(refused?.status, 503)
  assert.equal(refused?.headers.get('location'), null)
  assert.equal((await service.read('order-1001')).status, 200)
  await release()
  assert.equal((await first).status, 202)
  const statuses = (await Promise.all(verifications)).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [202, 503])
})

/** Keeps every commit of events waiting until the returned function is called. */
async function lockEvents(
  test: TestContext,
  { connectionString }: TestService,
  mode: 'exclusive' | 'access exclusive' = 'access exclusive',
): Promise<() => Promise<void>> {
  const client = new pg.Client({
    connectionString,
    options: '-c search_path=signalbox_store,public',
  })
  client.on('error', () => {})
  await client.connect()
  test.after(() => client.end())
  await client.query(`begin; lock table events in ${mode} mode`)
  return async () => void (await client.query('commit'))
}

const ASKS_MAX = 2_000

async function someoneWaits({ database }: TestService): Promise<void> {
  for (let asks = 0; asks < ASKS_MAX; asks += 1) {
    const { rows } = await database.pool.query(
      `select from pg_locks where not granted and database =
         (select oid from pg_database where datname = current_database())`,
    )
    if (rows.length > 0) return
    await delay(5)
  }
  assert.fail('no commit ever waited for the lock')
}

/** The first `count` answers, in the order in which they came. */
function firstOf<Answer>(answers: Promise<Answer>[], count: number): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const come: Answer[] = []
    for (const answer of answers) {
      answer.then(value => come.push(value) === count && resolve([...come]), reject)
    }
  })
}
