import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'

const KEYS = '/api/v1/sandbox/keys'

/** A sandbox that allows two requests per minute. */
async function limitedSandbox(test: TestContext) {
  const clock = { seconds: 1_000 }
  const service = await startTestService(test, {
    limits: { sandboxRatePerMinute: 2 },
    monotonicSeconds: () => clock.seconds,
    trustedProxies: '127.0.0.1',
  })
  const send = (method: string, forwardedFor = '203.0.113.5', path = KEYS) => {
    const headers = { 'x-forwarded-for': forwardedFor, origin: 'https://any.example' }
    return service.request(method, path, { secret: null, headers })
  }
  return { clock, send }
}

it('returns 429 for the whole sandbox by address, readable by any page', async test => {
  const { clock, send } = await limitedSandbox(test)
  const first = await send('GET')
  assert.equal(first.status, 200)
  assert.equal(first.headers.get('ratelimit-policy'), '"sandbox";q=2;w=60')
  assert.equal(first.headers.get('ratelimit'), '"sandbox";r=1;t=30')
  assert.equal((await send('POST')).status, 201)
  const refused = await send('GET', undefined, '/api/v1/sandbox')
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '30')
  assert.equal(refused.headers.get('ratelimit'), '"sandbox";r=0;t=30')
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  assert.match(refused.headers.get('access-control-expose-headers') ?? '', /Retry-After/)
  clock.seconds += 30
  assert.equal((await send('GET')).status, 200)
})

it('gives each address its own quota and ignores the X-Forwarded-For that the client sent', async test => {
  const { send } = await limitedSandbox(test)
  for (const status of [200, 200, 429]) assert.equal((await send('GET')).status, status)
  assert.equal((await send('GET', '203.0.113.6')).status, 200)
  assert.equal((await send('GET', '198.51.100.1, 203.0.113.5')).status, 429)
})

it('neither counts nor refuses preflights', async test => {
  const { send } = await limitedSandbox(test)
  for (let count = 0; count < 5; count += 1) assert.equal((await send('OPTIONS')).status, 204)
  for (const status of [200, 200, 429]) assert.equal((await send('GET')).status, status)
  assert.equal((await send('OPTIONS')).status, 204)
})
