import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

/** A service whose event loop delay and clock the test sets. */
async function lateService(test: TestContext, eventLoopDelayMillisecondsMax = 1_000) {
  const world = { seconds: 0, delay: 0 }
  const service = await startTestService(test, {
    limits: { eventLoopDelayMillisecondsMax },
    monotonicSeconds: () => world.seconds,
    readDelaySeconds: () => world.delay,
  })
  const pass = async (seconds: number, delay: number) => {
    world.delay = delay
    for (let second = 0; second < seconds; second += 1) {
      world.seconds += 1
      await service.request('GET', '/livez')
    }
  }
  return { service, pass }
}

it('returns 503 and stores nothing while the process is overloaded', async test => {
  const { service, pass } = await lateService(test)
  await pass(2, 1.5)
  const { headers, ...reply } = await service.submit(samplePurchase())
  assert.equal(reply.status, 503)
  const message = 'Too many requests at once; wait, then send the same request again.'
  assert.deepEqual(reply.body, { message })
  assert.equal(headers.get('retry-after'), '2')
  assert.equal(headers.get('x-should-retry'), null)
  assert.match(headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/)
  await pass(1, 0.1)
  assert.equal((await service.read('order-1001')).status, 404)
  assert.equal((await service.submit(samplePurchase())).status, 202)
})

it('returns 503 before authentication and before the body is read', async test => {
  const { service, pass } = await lateService(test)
  await pass(2, 1.5)
  for (const options of [{ secret: null }, { secret: 'garbage' }, { rawBody: '{' }]) {
    assert.equal((await service.request('POST', '/api/v1/events', options)).status, 503)
  }
  assert.equal((await service.request('GET', '/api/v1/sandbox')).status, 503)
})

it('returns 200 from the health checks while it sheds other requests', async test => {
  const { service, pass } = await lateService(test)
  await pass(2, 1.5)
  assert.equal((await service.read('x')).status, 503)
  for (const path of ['/livez', '/readyz']) {
    const reply = await service.request('GET', path, { secret: null })
    assert.equal(reply.status, 200)
    assert.equal(reply.body.status, 'ok')
  }
})

it('returns 200 from /livez while the commit queue is full', async test => {
  const service = await startTestService(test, { ingestQueueMax: 0 })
  const full = await service.submit(samplePurchase())
  assert.equal(full.status, 503)
  assert.equal(full.headers.get('retry-after'), '1')
  for (const path of ['/livez', '/readyz']) {
    assert.equal((await service.request('GET', path)).status, 200)
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('does not shed below the limit, for one long pause or with a limit of 0', async test => {
  const { service, pass } = await lateService(test)
  await pass(5, 0.9)
  assert.equal((await service.submit(samplePurchase())).status, 202)
  await pass(1, 30)
  assert.equal((await service.read('order-1001')).status, 200)
  const without = await lateService(test, 0)
  await without.pass(5, 30)
  assert.equal((await without.service.submit(samplePurchase())).status, 202)
})
