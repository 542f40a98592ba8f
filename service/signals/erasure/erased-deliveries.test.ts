import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { dumpAsText, findEmailTraces } from '../../../testing/fixtures/database-dump.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { deliverDueBatch } from '../delivery/deliver-batch.ts'
import { findDueQueues } from '../delivery/destination-queue-store.ts'
import { tryStopErased } from '../delivery/skip-store.ts'

const DIGEST = hash('sha256', 'jane@example.com')
const JOHN = { visitor_id: 'visitor-2', user_data: { em: 'john@example.com' } }
/** A platform whose answers repeat the request. */
const ECHO = {
  status: 400,
  code: 100,
  subcode: 2_804_050,
  message: 'jane@example.com is wrong',
  user_title: 'jane@example.com',
  user_msg: 'No user jane@example.com',
}

async function forget(service: TestService) {
  const body = { identifier_hash: DIGEST }
  const reply = await service.request('DELETE', '/api/v1/user-data', { body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

async function deliveryOf(service: TestService, eventId = 'order-1001') {
  return (await service.read(eventId)).body.deliveries[0]
}

async function counts({ database }: TestService) {
  const { rows } = await database.pool.query(
    `select (select sum(events)::integer from event_counts) as events,
       sum(planned)::integer as planned, sum(accepted)::integer as accepted from delivery_counts`,
  )
  return rows[0]
}

it('stops queued deliveries of the person only', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  await service.submit(samplePurchase({ event_id: 'tried' }))
  await service.deliver()
  assert.equal((await deliveryOf(service, 'tried')).status, 'retrying')
  await service.submit(samplePurchase())
  await service.submit(samplePurchase({ event_id: 'of-john', ...JOHN }))
  assert.deepEqual(await counts(service), { events: 3, planned: 3, accepted: 0 })
  service.clock.advance(60)
  await forget(service)
  const notSent = { 'order-1001': 'Not sent', tried: 'Not sent again after one attempt' }
  for (const [eventId, beginning] of Object.entries(notSent)) {
    const stopped = await deliveryOf(service, eventId)
    assert.deepEqual([stopped.status, stopped.next_attempt_at], ['skipped:consent', null])
    assert.equal(stopped.updated_at, '2026-11-21T12:01:00.000Z')
    assert.equal(
      stopped.explanation,
      `${beginning}: the person's data was erased on request. The event stays in the ledger, ` +
        'without identity.',
    )
  }
  assert.deepEqual(await counts(service), { events: 3, planned: 1, accepted: 0 })
  assert.equal(await service.deliver(), 1)
  assert.equal((await deliveryOf(service, 'of-john')).status, 'accepted')
  assert.deepEqual(await counts(service), { events: 3, planned: 1, accepted: 1 })
})

it('keeps the outcomes of earlier deliveries and deletes the platform answers', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: ECHO }])
  await service.submit(samplePurchase())
  await service.deliver()
  const refused = await deliveryOf(service)
  assert.equal(refused.status, 'failed:permanent')
  assert.match(JSON.stringify(refused), /No user jane@example\.com/)
  await forget(service)
  const { last_error, platform_response, status, attempt_count } = await deliveryOf(service)
  assert.deepEqual([status, attempt_count], ['failed:permanent', 1])
  assert.deepEqual(last_error, {
    class: 'permanent',
    code: 100,
    subcode: 2_804_050,
    message: '',
    user_title: null,
    user_message: null,
    http_status: 400,
  })
  const [{ answer, http_status }] = platform_response.attempts
  assert.deepEqual([answer, http_status], [null, 400])
  assert.doesNotMatch((await service.read('order-1001')).text, /jane/)
})

it('keeps the count of accepted deliveries', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.deliver()
  await forget(service)
  assert.equal((await deliveryOf(service)).status, 'accepted')
  assert.deepEqual(await counts(service), { events: 1, planned: 1, accepted: 1 })
})

it('discards the answer of a request in flight and sends no retry', async test => {
  for (const [respond, status] of [
    [{ status: 503, code: 2, message: 'jane@example.com later' }, 'skipped:consent'],
    [ECHO, 'failed:permanent'],
  ] as const) {
    const service = await startTestService(test)
    await service.submit(samplePurchase())
    await scriptFaults(service.simulatorUrl, [{ times: 1, respond }])
    await deliverWhile(service, () => forget(service))
    const { last_error, platform_response, ...delivery } = await deliveryOf(service)
    assert.deepEqual([delivery.status, delivery.next_attempt_at], [status, null])
    assert.deepEqual([last_error.message, platform_response.attempts[0].answer], ['', null])
    assert.deepEqual(
      findEmailTraces('jane@example.com', DIGEST, await dumpAsText(service.database)),
      [],
    )
    service.clock.advance(60)
    assert.equal(await service.deliver(), 0)
    assert.equal((await service.received()).count, 0)
    const replay = await service.request('POST', '/api/v1/deliveries/replay')
    assert.equal(replay.body.queued, 0)
  }
})

it('counts a delivery that is accepted during the erasure', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await deliverWhile(service, () => forget(service))
  assert.equal((await deliveryOf(service)).status, 'accepted')
  assert.equal((await service.read('order-1001')).body.event.payload_expired, true)
})

it('clears an answer that arrived before the payload was deleted', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: ECHO }])
  const holder = await service.database.pool.connect()
  await holder.query('begin; select from event_payloads for update')
  let erasing: Promise<unknown> | null = null
  await deliverWhile(service, async () => {
    erasing = forget(service)
    await waitUntil('the erasure waits', () => isBlocked(service))
  })
  // The worker has read the payload already, so the erasure must run last.
  assert.match(JSON.stringify(await deliveryOf(service)), /No user jane@example\.com/)
  await holder.query('rollback')
  holder.release()
  await erasing
  assert.deepEqual(
    findEmailTraces('jane@example.com', DIGEST, await dumpAsText(service.database)),
    [],
  )
  assert.equal((await deliveryOf(service)).status, 'failed:permanent')
})

/** Whether a statement waits for a locked row. */
async function isBlocked({ database }: TestService): Promise<boolean> {
  const { rows } = await database.pool.query(
    `select from pg_stat_activity
     where datname = current_database() and wait_event = 'transactionid'`,
  )
  return rows.length > 0
}

it('stores no platform answer that belongs to no delivery', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.submit(samplePurchase({ event_id: 'of-john', ...JOHN }))
  // The request with both events is refused, and each event alone is accepted.
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: ECHO }])
  await service.deliver()
  assert.equal((await deliveryOf(service)).status, 'accepted')
  const { rows } = await service.database.pool.query(
    'select answer, outcome, event_count from send_attempts where event_count = 2',
  )
  assert.deepEqual(rows, [{ answer: null, outcome: 'permanent', event_count: 2 }])
})

it('stores no platform answer for a worker with an expired lease', async test => {
  const service = await startTestService(test)
  const { database } = service
  await service.submit(samplePurchase())
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: ECHO }])
  await deliverWhile(service, async () => {
    await database.pool.query(`update delivery_queue set leased_until = now() - interval '1 hour'`)
  })
  const { rows } = await database.pool.query('select answer, outcome from send_attempts')
  assert.deepEqual(rows, [{ answer: null, outcome: 'permanent' }])
})

/** Sends due deliveries and runs a callback while the request is in flight. */
async function deliverWhile(
  { database, delivery, clock }: TestService,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const platforms = delivery.platforms.map(platform => ({
    ...platform,
    send: async (...request) => {
      await meanwhile()
      return platform.send(...request)
    },
  }))
  const due = { now: clock.now(), queuesMax: 1, excludedDestinationIds: [] }
  const [queue] = await findDueQueues(database, due)
  assert.ok(queue)
  await deliverDueBatch({ ...delivery, platforms }, queue, () => {})
}

it('skips a delivery that a worker is settling until the next call', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  await service.submit(samplePurchase())
  await service.submit(samplePurchase({ event_id: 'free' }))
  const erased = {
    trackerId: tracker.trackerId,
    events: ['order-1001', 'free'].map(eventId => ({ eventId, createdAt: clock.now(), space: 0 })),
    at: clock.now(),
  }
  const worker = await database.pool.connect()
  await worker.query(`begin; select from delivery_queue where event_id = 'order-1001' for update`)
  assert.equal((await tryStopErased(database, erased)).missed, 1)
  assert.equal((await deliveryOf(service)).status, 'queued')
  assert.equal((await deliveryOf(service, 'free')).status, 'skipped:consent')
  await worker.query('rollback')
  worker.release()
  assert.equal((await tryStopErased(database, erased)).missed, 0)
  assert.equal((await deliveryOf(service)).status, 'skipped:consent')
  assert.deepEqual(await counts(service), { events: 2, planned: 0, accepted: 0 })
})
