import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
  signForwardedRequest,
} from '../../../testing/fixtures/sample-events.ts'
import { type Reply, startTestService } from '../../../testing/fixtures/service.ts'
import { generateToken } from '../../runtime/util/token-format.ts'
import { issueKey } from './tracker-keys.ts'

const EVENTS = '/api/v1/events'

/** A service whose clock stands still until the test moves it. */
async function limitedService(test: TestContext, limits: Record<string, number>) {
  const clock = { seconds: 1_000 }
  const service = await startTestService(test, {
    limits,
    monotonicSeconds: () => clock.seconds,
    trustedProxies: '127.0.0.1',
  })
  let events = 0
  const nextBody = () => {
    events += 1
    return JSON.stringify(samplePageView({ event_id: `view-${events}` }))
  }
  const fromPage = (address = '203.0.113.5', secret = service.tracker.publishableKey) => {
    const headers = { origin: SHOP_ORIGIN, 'x-forwarded-for': address }
    return service.request('POST', EVENTS, { secret, headers, rawBody: nextBody() })
  }
  const fromForwarder = (clientIp: string, secret = service.tracker.forwardingSecret) => {
    const body = nextBody()
    const at = service.clock.now()
    const headers = signForwardedRequest({ secret, body, at, clientIp, userAgent: 'Mozilla/5.0' })
    const options = { secret: service.tracker.publishableKey, headers, rawBody: body }
    return service.request('POST', EVENTS, options)
  }
  return { clock, service, fromPage, fromForwarder }
}

function rateOf({ headers }: Reply) {
  return [headers.get('ratelimit-policy'), headers.get('ratelimit')]
}

it('accepts events of the back end while a page floods the publishable key', async test => {
  const { service, fromPage } = await limitedService(test, {
    trackerRatePerSecond: 2,
    publishableRatePerSecond: 2,
  })
  for (const status of [202, 202, 202, 202, 429, 429, 429, 429]) {
    assert.equal((await fromPage()).status, status)
  }
  const purchase = await service.submit(samplePurchase())
  assert.equal(purchase.status, 202)
  assert.deepEqual(rateOf(purchase), ['"tracker";q=4;w=2', '"tracker";r=3;t=2'])
})

it('accepts events of pages while the back end has used up its own rate', async test => {
  const { service, fromPage } = await limitedService(test, {
    trackerRatePerSecond: 1,
    publishableRatePerSecond: 1,
  })
  for (const status of [404, 404, 429]) assert.equal((await service.read('x')).status, status)
  const reply = await fromPage()
  assert.equal(reply.status, 202)
  assert.deepEqual(rateOf(reply), ['"publishable_key";q=2;w=2', '"publishable_key";r=1;t=1'])
})

it('returns 429 that the page can read, and accepts the retry', async test => {
  const { clock, fromPage } = await limitedService(test, { publishableRatePerSecond: 1 })
  for (const status of [202, 202]) assert.equal((await fromPage()).status, status)
  const refused = await fromPage()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal(refused.headers.get('access-control-allow-origin'), SHOP_ORIGIN)
  const exposed = refused.headers.get('access-control-expose-headers') ?? ''
  for (const name of ['Retry-After', 'RateLimit', 'RateLimit-Policy']) {
    assert.ok(exposed.includes(name), name)
  }
  clock.seconds += 1
  assert.equal((await fromPage()).status, 202)
})

it('gives each publishable key of a tracker its own rate', async test => {
  const { service, fromPage } = await limitedService(test, { publishableRatePerSecond: 1 })
  const { trackerId, workspaceId } = service.tracker
  const second = await issueKey(
    { database: service.database, audit: createTestAuditTrail(service) },
    {
      trackerId,
      workspaceId,
      kind: 'publishable',
      origins: [SHOP_ORIGIN],
      issuedAt: service.clock.now(),
    },
  )
  for (const status of [202, 202, 429]) assert.equal((await fromPage()).status, status)
  assert.equal((await fromPage('203.0.113.5', second)).status, 202)
})

it('limits one address without using up the key for other visitors', async test => {
  const { fromPage } = await limitedService(test, {
    publishableRatePerSecond: 2,
    browserRatePerMinute: 2,
  })
  const first = await fromPage('203.0.113.5')
  assert.deepEqual(rateOf(first), ['"browser_address";q=2;w=60', '"browser_address";r=1;t=30'])
  for (const status of [202, 429, 429, 429, 429, 429]) {
    assert.equal((await fromPage('203.0.113.5')).status, status)
  }
  for (const status of [202, 202]) assert.equal((await fromPage('203.0.113.6')).status, status)
})

it('counts an address separately for each tracker', async test => {
  const { service, fromPage } = await limitedService(test, { browserRatePerMinute: 1 })
  const other = await service.newTracker()
  for (const status of [202, 429]) assert.equal((await fromPage()).status, status)
  assert.equal((await fromPage('203.0.113.5', other.publishableKey)).status, 202)
})

it('counts forwarded requests by the address that the forwarder signed', async test => {
  const { fromForwarder } = await limitedService(test, { browserRatePerMinute: 1 })
  for (const status of [202, 429]) assert.equal((await fromForwarder('8.8.8.8')).status, status)
  assert.equal((await fromForwarder('8.8.4.4')).status, 202)
  for (let count = 0; count < 3; count += 1) assert.equal((await fromForwarder('')).status, 202)
})

it('does not count forged forwarding signatures against the key or an address', async test => {
  const { fromForwarder } = await limitedService(test, {
    publishableRatePerSecond: 1,
    browserRatePerMinute: 1,
  })
  const forged = generateToken('forwarding')
  for (let count = 0; count < 4; count += 1) {
    assert.equal((await fromForwarder('8.8.8.8', forged)).status, 401)
  }
  assert.equal((await fromForwarder('8.8.8.8')).status, 202)
})
