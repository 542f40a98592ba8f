import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { serviceUnderTest } from '../../testing/service-under-test.ts'

/** A service whose event loop is as late as the test says, second by second. */
async function lateService(test: TestContext, eventLoopDelayMillisecondsMax = 1_000) {
  const world = { seconds: 0, delay: 0 }
  const service = await serviceUnderTest(test, {
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

it('503 turns requests away while the process has too much to do, and keeps nothing', async test => {
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

it('503 comes before anybody is asked who they are or what they send', async test => {
  const { service, pass } = await lateService(test)
  await pass(2, 1.5)
  for (const options of [{ secret: null }, { secret: 'garbage' }, { rawBody: '{' }]) {
    assert.equal((await service.request('POST', '/api/v1/events', options)).status, 503)
  }
  assert.equal((await service.request('GET', '/api/v1/sandbox')).status, 503)
})

it('200 says that the process lives and is ready, while it turns others away', async test => {
  const { service, pass } = await lateService(test)
  await pass(2, 1.5)
  assert.equal((await service.read('x')).status, 503)
  for (const path of ['/livez', '/readyz']) {
    const reply = await service.request('GET', path, { secret: null })
    assert.equal(reply.status, 200)
    assert.equal(reply.body.status, 'ok')
  }
})

it('200 says that the process lives while its queue is full', async test => {
  const service = await serviceUnderTest(test, { ingestQueueMax: 0 })
  const full = await service.submit(samplePurchase())
  assert.equal(full.status, 503)
  assert.equal(full.headers.get('retry-after'), '1')
  for (const path of ['/livez', '/readyz']) {
    assert.equal((await service.request('GET', path)).status, 200)
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('a late loop below the limit, one long pause and a limit of 0 turn nobody away', async test => {
  const { service, pass } = await lateService(test)
  await pass(5, 0.9)
  assert.equal((await service.submit(samplePurchase())).status, 202)
  await pass(1, 30)
  assert.equal((await service.read('order-1001')).status, 200)
  const without = await lateService(test, 0)
  await without.pass(5, 30)
  assert.equal((await without.service.submit(samplePurchase())).status, 202)
})
