import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'

const UNAVAILABLE = { respond: { status: 503, code: 2, message: 'Service unavailable' } }

interface Receipt {
  event_id: string
  event_time: number
  deduplicated: boolean
}

async function deliveryOf(service: TestService, eventId = 'order-1001') {
  const { body } = await service.read(eventId)
  return body.deliveries[0]
}

async function receipts(service: TestService): Promise<Receipt[]> {
  return (await service.received()).events as unknown as Receipt[]
}

it('retries after the backoff and explains what happened and when it continues', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, ...UNAVAILABLE }])
  await service.submit(samplePurchase())
  assert.equal(await service.deliver(), 1)
  const waiting = await deliveryOf(service)
  assert.equal(waiting.status, 'retrying')
  assert.equal(waiting.attempt_count, 1)
  assert.equal(waiting.next_attempt_at, '2026-11-21T12:00:05.000Z')
  assert.equal(waiting.last_error.code, 2)
  assert.equal(
    waiting.explanation,
    'The first attempt failed. Code 2: Service unavailable. ' +
      'It is tried again at 2026-11-21T12:00:05.000Z.',
  )
  service.clock.advance(4.999)
  assert.equal(await service.deliver(), 0)
  service.clock.advance(0.001)
  assert.equal(await service.deliver(), 1)
  const done = await deliveryOf(service)
  assert.deepEqual([done.status, done.attempt_count], ['accepted', 2])
  assert.equal(done.next_attempt_at, null)
})

it('waits longer after each attempt and keeps the event ID and time', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_time: '2026-11-21T11:30:00Z' }))
  await scriptFaults(service.simulatorUrl, [{ abort: 'after_store' }])
  const waits = [5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200]
  for (const [attempt, seconds] of waits.entries()) {
    assert.equal(await service.deliver(), 1)
    const { next_attempt_at, attempt_count } = await deliveryOf(service)
    assert.equal(attempt_count, attempt + 1)
    const waited = Date.parse(next_attempt_at) - service.clock.now().getTime()
    assert.equal(waited, seconds * 1_000)
    service.clock.advance(seconds)
  }
  const all = await receipts(service)
  assert.equal(all.length, waits.length)
  const same = all.every(
    ({ event_id, event_time }) =>
      event_id === 'order-1001' && event_time === Date.parse('2026-11-21T11:30:00Z') / 1_000,
  )
  assert.equal(same, true)
})

it('retries an event with an unknown outcome, which the platform counts once', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.submit(samplePurchase())
  await service.deliver()
  const unclear = await deliveryOf(service)
  assert.equal(unclear.status, 'retrying')
  assert.equal(unclear.last_error.class, 'unknown')
  service.clock.advance(5)
  await service.deliver()
  assert.equal((await deliveryOf(service)).status, 'accepted')
  const twice = await receipts(service)
  assert.deepEqual(
    twice.map(({ deduplicated }) => deduplicated),
    [false, true],
  )
})

it('honors the wait of a throttling platform and counts no failure', async test => {
  const service = await startTestService(test)
  const headers = { 'x-app-usage': '{"call_count":100,"total_time":25,"total_cputime":25}' }
  const respond = { status: 400, code: 4, subcode: 1_504_022, headers }
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond }])
  await service.submit(samplePurchase())
  await service.deliver()
  const { status, next_attempt_at } = await deliveryOf(service)
  assert.deepEqual([status, next_attempt_at], ['retrying', '2026-11-21T12:01:00.000Z'])
  service.clock.advance(60)
  await service.deliver()
  assert.equal((await deliveryOf(service)).status, 'accepted')
})

it('stores every request with its answer and links the event to them', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, ...UNAVAILABLE }])
  await service.submit(samplePurchase())
  await service.deliver()
  service.clock.advance(5)
  await service.deliver()
  const { rows } = await service.database.pool.query(
    `select outcome, http_status, event_count, is_test, trace_id, answer, started_at
     from send_attempts order by started_at`,
  )
  const kept = rows.map(({ outcome, http_status, event_count }) => [
    outcome,
    http_status,
    event_count,
  ])
  assert.deepEqual(kept, [
    ['retry', 503, 1],
    ['accepted', 200, 1],
  ])
  assert.deepEqual(rows[1].started_at, service.clock.now())
  const delivery = await deliveryOf(service)
  assert.equal(delivery.platform_trace_id, rows[1].trace_id)
  const { attempts, ...lastAnswer } = delivery.platform_response
  assert.deepEqual(lastAnswer, rows[1].answer)
  assert.equal(typeof attempts[0].duration_milliseconds, 'number')
  const shown = attempts.map((attempt: Record<string, unknown>) => ({
    ...attempt,
    duration_milliseconds: 0,
  }))
  assert.deepEqual(
    shown,
    rows.map(({ outcome, started_at, is_test: _, ...row }) => ({
      started_at: started_at.toISOString(),
      duration_milliseconds: 0,
      class: outcome,
      ...row,
    })),
  )
  const { rows: carried } = await service.database.pool.query(
    'select cardinality(attempt_ids) as count from all_deliveries',
  )
  assert.equal(carried[0].count, 2)
})

it('fails with an explanation when the window would end before the next attempt', async test => {
  const service = await startTestService(test)
  const almostOver = '2026-11-14T12:01:10Z'
  await service.submit(samplePurchase({ event_time: almostOver }))
  await scriptFaults(service.simulatorUrl, [UNAVAILABLE])
  await service.deliver()
  service.clock.advance(5)
  await service.deliver()
  const given = await deliveryOf(service)
  assert.deepEqual([given.status, given.attempt_count], ['retrying', 2])
  service.clock.advance(40)
  await service.deliver()
  const { status, attempt_count, explanation, next_attempt_at } = await deliveryOf(service)
  assert.deepEqual([status, attempt_count, next_attempt_at], ['failed:unknown', 2, null])
  assert.match(explanation, /^Given up after 2 attempts: .* Code 2: Service unavailable\.$/)
})

it('expires an event that was never sent within its window', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_time: '2026-11-14T12:30:00Z' }))
  service.clock.advance(1_800)
  assert.equal(await service.deliver(), 1)
  const { status, attempt_count, explanation } = await deliveryOf(service)
  assert.deepEqual([status, attempt_count], ['expired', 0])
  assert.match(explanation, /^Not sent: the event of 2026-11-14T12:30:00.000Z is older/)
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).requests, 0)
})

it('does not expire an event whose worker died while sending it', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_time: '2026-11-14T12:02:00Z' }))
  await service.database.pool.query(
    `update delivery_queue set status = 'sent', attempt_count = 1, leased_until = created_at`,
  )
  service.clock.advance(120)
  await service.deliver()
  const { status, attempt_count } = await deliveryOf(service)
  assert.deepEqual([status, attempt_count], ['failed:unknown', 1])
})

it('delivers a store visit of last month', async test => {
  const service = await startTestService(test)
  const visit = { action_source: 'physical_store', event_time: '2026-10-21T12:00:00Z' }
  await service.submit(samplePurchase(visit))
  await service.deliver()
  assert.equal((await deliveryOf(service)).status, 'accepted')
})

it('clamps a future event time to the time of receipt in every attempt', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_time: '2026-11-21T12:04:00Z' }))
  await scriptFaults(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.deliver()
  service.clock.advance(5)
  await service.deliver()
  const times = (await receipts(service)).map(({ event_time }) => event_time)
  const received = Date.parse('2026-11-21T12:00:00Z') / 1_000
  assert.deepEqual(times, [received, received])
})
