import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { serviceUnderTest } from '../../testing/service-under-test.ts'

const KEYS = '/api/v1/sandbox/keys'

async function sandboxOfTwo(test: TestContext) {
  const clock = { seconds: 1_000 }
  const service = await serviceUnderTest(test, {
    limits: { sandboxRatePerMinute: 2 },
    monotonicSeconds: () => clock.seconds,
    trustedProxies: '127.0.0.1',
  })
  const ask = (method: string, forwardedFor = '203.0.113.5', path = KEYS) => {
    const headers = { 'x-forwarded-for': forwardedFor, origin: 'https://any.example' }
    return service.request(method, path, { secret: null, headers })
  }
  return { clock, ask }
}

it('429 limits all of the sandbox by address, and any page may read it', async test => {
  const { clock, ask } = await sandboxOfTwo(test)
  const first = await ask('GET')
  assert.equal(first.status, 200)
  assert.equal(first.headers.get('ratelimit-policy'), '"sandbox";q=2;w=60')
  assert.equal(first.headers.get('ratelimit'), '"sandbox";r=1;t=30')
  assert.equal((await ask('POST')).status, 201)
  const refused = await ask('GET', undefined, '/api/v1/sandbox')
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '30')
  assert.equal(refused.headers.get('ratelimit'), '"sandbox";r=0;t=30')
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  assert.match(refused.headers.get('access-control-expose-headers') ?? '', /Retry-After/)
  clock.seconds += 30
  assert.equal((await ask('GET')).status, 200)
})

it('another address has a quota of its own, and what it says of itself counts nothing', async test => {
  const { ask } = await sandboxOfTwo(test)
  for (const status of [200, 200, 429]) assert.equal((await ask('GET')).status, status)
  assert.equal((await ask('GET', '203.0.113.6')).status, 200)
  assert.equal((await ask('GET', '198.51.100.1, 203.0.113.5')).status, 429)
})

it('a preflight costs nothing and is never refused', async test => {
  const { ask } = await sandboxOfTwo(test)
  for (let count = 0; count < 5; count += 1) assert.equal((await ask('OPTIONS')).status, 204)
  for (const status of [200, 200, 429]) assert.equal((await ask('GET')).status, status)
  assert.equal((await ask('OPTIONS')).status, 204)
})
