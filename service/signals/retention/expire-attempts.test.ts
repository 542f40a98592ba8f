import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { expireAttempts } from './expire-events.ts'

const ATTEMPT_DAYS = 90

function expire({ database, clock }: TestService, batchesMax = 100) {
  return expireAttempts({ database, now: clock.now(), attemptDays: ATTEMPT_DAYS, batchesMax })
}

it('returns 200 for an event whose attempts expired, with the status of the delivery', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [
    { respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await service.submit(samplePurchase())
  await service.deliver()
  const before = (await service.read('order-1001')).body
  assert.ok(before.deliveries[0].platform_response.attempts.length > 0)

  service.clock.advance((ATTEMPT_DAYS + 1) * DAY_SECONDS)
  const { attempts, more } = await expire(service)
  assert.ok(attempts > 0)
  assert.equal(more, false)
  const { status, body } = await service.read('order-1001')
  assert.equal(status, 200)
  const [delivery] = body.deliveries
  assert.deepEqual(delivery, { ...before.deliveries[0], platform_response: null })
  assert.equal(delivery.last_error.code, 100)
  const list = await service.request('GET', '/api/v1/dashboard/events')
  assert.equal(list.body.events.data[0].deliveries[0].platform_response, null)
})

it('keeps attempts for exactly ninety days', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.deliver()
  service.clock.advance(ATTEMPT_DAYS * DAY_SECONDS + 12 * 3_600 - 1)
  assert.deepEqual(await expire(service), { attempts: 0, more: false })
  service.clock.advance(1)
  assert.deepEqual(await expire(service), { attempts: 1, more: false })
  assert.deepEqual(await expire(service), { attempts: 0, more: false })
})

/** Stores `count` attempts of the first tracker, one second apart, up to the current time. */
async function storeAttempts(service: TestService, count: number): Promise<void> {
  const { database, tracker, clock } = service
  await database.pool.query(
    `insert into send_attempts (tracker_id, id, destination_id, started_at,
       duration_milliseconds, event_count, is_test, outcome)
     select $1, gen_random_uuid(), $2, $3::timestamptz - make_interval(secs => number),
       1, 1, false, 'accepted'
     from generate_series(1, $4::integer) number`,
    [tracker.trackerId, tracker.destinationId, clock.now(), count],
  )
}

async function countAttempts({ database }: TestService): Promise<number> {
  return (await database.pool.query('select count(*) as count from send_attempts')).rows[0].count
}

it('stops at its batch limit, reports more, and continues in the next run', async test => {
  const service = await startTestService(test)
  await storeAttempts(service, 2_500)
  service.clock.advance((ATTEMPT_DAYS + 1) * DAY_SECONDS)
  await storeAttempts(service, 3)
  assert.deepEqual(await expire(service, 1), { attempts: 1_000, more: true })
  assert.deepEqual(await expire(service, 1), { attempts: 1_000, more: true })
  assert.deepEqual(await expire(service), { attempts: 500, more: false })
  assert.equal(await countAttempts(service), 3)
})

it('runs in several processes concurrently while a worker delivers', async test => {
  const service = await startTestService(test)
  await storeAttempts(service, 3_000)
  service.clock.advance((ATTEMPT_DAYS + 1) * DAY_SECONDS)
  await service.submit(samplePurchase())
  const [sent, ...runs] = await Promise.all([
    service.deliver(),
    ...Array.from({ length: 3 }, () => expire(service)),
  ])
  await expire(service)
  assert.equal(sent, 1)
  assert.ok(runs.every(({ more }) => !more))
  assert.equal(await countAttempts(service), 1)
})
