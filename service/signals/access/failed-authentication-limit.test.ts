import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { limitFailedAuthentications } from '../../runtime/http/client-address.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { createRateLimit } from '../../runtime/http/rate-limit.ts'
import { createServiceApp } from '../../runtime/http/service-app.ts'
import { generateToken } from '../../runtime/util/token-format.ts'

const EVENT = '/api/v1/events/order-1001'

/** Three failures a minute, on a clock that the test sets, behind a trusted proxy. */
async function guardedService(test: TestContext) {
  const clock = { seconds: 1_000 }
  const service = await startTestService(test, {
    limits: { failedAuthRatePerMinute: 3 },
    monotonicSeconds: () => clock.seconds,
    trustedProxies: '127.0.0.1',
  })
  const read = (secret: string | null, forwardedFor = '203.0.113.5') =>
    service.request('GET', EVENT, { secret, headers: { 'x-forwarded-for': forwardedFor } })
  const guess = (forwardedFor?: string) => read(generateToken('tracker_secret'), forwardedFor)
  return { service, clock, read, guess }
}

it('returns 429 to an address that guesses, before the store is queried', async test => {
  const { service, clock, guess } = await guardedService(test)
  for (let count = 0; count < 3; count += 1) assert.equal((await guess()).status, 401)
  let queries = 0
  service.database.pool.on('acquire', () => {
    queries += 1
  })
  const refused = await guess()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '20')
  assert.equal(refused.headers.get('ratelimit-policy'), '"failed_authentications";q=3;w=60')
  assert.equal(refused.headers.get('ratelimit'), '"failed_authentications";r=0;t=20')
  assert.equal(refused.headers.get('x-should-retry'), null)
  assert.deepEqual(refused.body, {
    message: 'Too many requests from this address had no valid credential; wait, then check yours.',
  })
  assert.equal(queries, 0)
  clock.seconds += 20
  assert.equal((await guess()).status, 401)
  assert.equal((await guess()).status, 429)
})

it('counts every kind of invalid credential and a missing one', async test => {
  const { read } = await guardedService(test)
  for (const secret of [null, 'garbage', generateToken('tracker_secret')]) {
    assert.equal((await read(secret)).status, 401)
  }
  assert.equal((await read(null)).status, 429)
})

it('counts failures of the client behind a proxy, by /64', async test => {
  const { guess } = await guardedService(test)
  for (const host of ['1', '2', '3']) {
    assert.equal((await guess(`2001:db8:0:7::${host}`)).status, 401)
  }
  assert.equal((await guess('2001:db8:0:7:ffff::4')).status, 429)
  assert.equal((await guess('2001:db8:0:8::1')).status, 401)
  assert.equal((await guess('203.0.113.9')).status, 401)
})

it('keeps accepting a secret that worked, behind the address that guesses', async test => {
  const { service, read, guess, clock } = await guardedService(test)
  assert.equal((await service.submit(samplePurchase())).status, 202)
  assert.equal((await guess()).status, 401)
  assert.equal((await read(service.tracker.trackerSecret)).status, 200)
  for (const status of [401, 401, 429, 429]) assert.equal((await guess()).status, status)
  assert.equal((await read(service.tracker.trackerSecret)).status, 200)

  const late = await service.newTracker()
  assert.equal((await read(late.trackerSecret)).status, 429)
  clock.seconds += 20
  assert.equal((await read(late.trackerSecret)).status, 404)
})

it('returns 401 for a revoked secret that worked before', async test => {
  const { service, read, guess } = await guardedService(test)
  assert.equal((await guess()).status, 401)
  const { trackerSecret } = service.tracker
  assert.equal((await read(trackerSecret)).status, 404)
  for (const status of [401, 401, 429]) assert.equal((await guess()).status, status)
  await service.database.pool.query('update tracker_keys set revoked_at = now()')
  // Valid credentials are cached for half a second.
  await waitUntil('it is refused', async () => (await read(trackerSecret)).status === 401)
})

it('does not count a wrong sandbox key as a failed authentication', async test => {
  const { service, read } = await guardedService(test)
  for (let count = 0; count < 5; count += 1) {
    const options = { secret: null, headers: { 'x-forwarded-for': '203.0.113.5' } }
    const path = '/api/v1/sandbox/keyed-events'
    assert.equal((await service.request('POST', path, options)).status, 401)
  }
  assert.equal((await read(service.tracker.trackerSecret)).status, 404)
})

/** An application that accepts every token of the office while another address has failed. */
function appUnderAttack() {
  const limit = createRateLimit({
    name: 'failed_authentications',
    message: 'Wait.',
    onRefused: () => {},
    perSecond: 1 / 60,
    burst: 1,
    monotonicSeconds: () => 1_000,
  })
  const failFrom = (address: string) => limit.limiter.take(address)
  const app = createServiceApp(createLogger('silent'))
  limitFailedAuthentications(app, { limit, addressOf: () => 'office' })
  app.get('/', { config: { credential: 'agent' } }, async () => ({}))
  const statusOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await app.inject({ url: '/', headers })).statusCode
  }
  failFrom('elsewhere')
  return { failFrom, statusOf }
}

/** Sends this many valid credentials and then fails from the same address. */
async function statusesAfter(credentials: number): Promise<number[]> {
  const { failFrom, statusOf } = appUnderAttack()
  for (let count = 1; count <= credentials; count += 1) await statusOf(`token-${count}`)
  failFrom('office')
  return Promise.all(['token-1', `token-${credentials}`, 'unseen'].map(statusOf))
}

it('remembers ten thousand valid credentials and clears them for the next one', async () => {
  assert.deepEqual(await statusesAfter(10_000), [200, 200, 429])
  assert.deepEqual(await statusesAfter(10_001), [429, 200, 429])
})
