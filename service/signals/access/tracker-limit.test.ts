import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { type Reply, startTestService } from '../../../testing/fixtures/service.ts'
import { createRateLimit, type RateLimit } from '../../runtime/http/rate-limit.ts'
import { type BrowserRequest, takeFurtherEvents } from './tracker-limits.ts'

const EVENTS = '/api/v1/events'

/** A clock that the test sets. */
function fixedClock() {
  const clock = { seconds: 1_000 }
  return { clock, monotonicSeconds: () => clock.seconds }
}

function rateOf({ headers }: Reply) {
  return [headers.get('ratelimit-policy'), headers.get('ratelimit')]
}

it('announces the quota and the remainder in every response to an authenticated tracker', async test => {
  const { monotonicSeconds } = fixedClock()
  const limits = { trackerRatePerSecond: 1_000 }
  const service = await startTestService(test, { limits, monotonicSeconds })
  const json = { headers: { 'content-type': 'application/json' } }
  const text = { headers: { 'content-type': 'text/csv' } }
  const post = (options: object) => service.request('POST', EVENTS, options)
  const answers: [number, () => Promise<Reply>][] = [
    [202, () => service.submit(samplePurchase())],
    [200, () => service.submit(samplePurchase())],
    [200, () => service.read('order-1001')],
    [404, () => service.read('unknown')],
    [400, () => post({ rawBody: '{', ...json })],
    [413, () => post({ rawBody: ' '.repeat(70_000), ...json })],
    [415, () => post({ rawBody: 'a', ...text })],
    [422, () => post({ body: {} })],
  ]
  for (const [index, [status, send]] of answers.entries()) {
    const reply = await send()
    assert.equal(reply.status, status)
    assert.deepEqual(rateOf(reply), ['"tracker";q=2000;w=2', `"tracker";r=${1_999 - index};t=2`])
  }
})

it('returns 429 with Retry-After, stores nothing, and accepts the retry', async test => {
  const { clock, monotonicSeconds } = fixedClock()
  const service = await startTestService(test, {
    limits: { trackerRatePerSecond: 2 },
    monotonicSeconds,
  })
  for (const left of [3, 2, 1, 0]) {
    const reply = await service.read('unknown')
    assert.deepEqual(rateOf(reply), [
      '"tracker";q=4;w=2',
      `"tracker";r=${left};t=${left > 2 ? 2 : 1}`,
    ])
  }
  const refused = await service.submit(samplePurchase())
  assert.equal(refused.status, 429)
  assert.deepEqual(refused.body, {
    message:
      'Too many requests for this tracker; wait, then retry. An operator can raise ' +
      'SIGNALBOX_TRACKER_RATE_PER_SECOND.',
  })
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal(refused.headers.get('x-should-retry'), null)
  assert.deepEqual(rateOf(refused), ['"tracker";q=4;w=2', '"tracker";r=0;t=1'])
  assert.match(refused.headers.get('request-id') ?? '', /^req_/)

  clock.seconds += 1
  assert.equal((await service.submit(samplePurchase())).status, 202)
  assert.equal((await service.read('order-1001')).status, 200)
  assert.equal((await service.read('order-1001')).status, 429)
})

it('returns 429 before the body is read', async test => {
  const { monotonicSeconds } = fixedClock()
  const service = await startTestService(test, {
    limits: { trackerRatePerSecond: 1 },
    monotonicSeconds,
  })
  for (const id of ['a', 'b']) await service.read(id)
  for (const rawBody of ['{', ' '.repeat(70_000), new Uint8Array([0xff])]) {
    assert.equal((await service.request('POST', EVENTS, { rawBody })).status, 429)
  }
})

it('does not count other trackers or failed authentications against a tracker', async test => {
  const { monotonicSeconds } = fixedClock()
  const service = await startTestService(test, {
    limits: { trackerRatePerSecond: 1 },
    monotonicSeconds,
  })
  const other = await service.newTracker()
  for (const secret of [null, 'garbage', `${other.trackerSecret}x`]) {
    const reply = await service.request('GET', `${EVENTS}/x`, { secret })
    assert.equal(reply.status, 401)
    assert.deepEqual(rateOf(reply), [null, null])
  }
  const statusOf = async (secret: string) =>
    (await service.request('GET', `${EVENTS}/x`, { secret })).status
  for (const status of [404, 404, 429, 429]) {
    assert.equal(await statusOf(other.trackerSecret), status)
  }
  assert.equal(await statusOf(service.tracker.trackerSecret), 404)
})

it('neither limits nor announces a rate of 0', async test => {
  const { monotonicSeconds } = fixedClock()
  const service = await startTestService(test, {
    limits: { trackerRatePerSecond: 0 },
    monotonicSeconds,
  })
  for (let count = 0; count < 20; count += 1) {
    const reply = await service.read('unknown')
    assert.equal(reply.status, 404)
    assert.deepEqual(rateOf(reply), [null, null])
  }
})

it('counts each refused event of a batch once, under the limit that refuses it', () => {
  const refused: string[] = []
  const limitOf = (name: string, burst: number): RateLimit =>
    createRateLimit({
      name,
      message: name,
      perSecond: 1,
      burst,
      monotonicSeconds: () => 1_000,
      onRefused: () => refused.push(name),
    })
  const limitsOf = (address: number, publishableKey: number) => ({
    tracker: limitOf('tracker', 3),
    browser: { limit: limitOf('browser_address', address), addressOf: () => '203.0.113.5' },
    publishableKey: limitOf('publishable_key', publishableKey),
  })
  const take = (limits: ReturnType<typeof limitsOf>, browser: object | null) => {
    refused.length = 0
    const request = { tracker: { trackerId: 'a' }, browser, ip: '', headers: {} }
    const batch = { request: request as unknown as BrowserRequest, count: 5 }
    const { taken } = takeFurtherEvents(limits, batch, { header: () => {} })
    return [taken, ...refused]
  }
  const page = { keyId: 'key', edge: null, isForwarded: false }
  assert.deepEqual(take(limitsOf(9, 9), null), [3, 'tracker', 'tracker'])
  assert.deepEqual(take(limitsOf(4, 9), page), [4, 'browser_address'])
  assert.deepEqual(take(limitsOf(9, 2), page), [2, ...Array(3).fill('publishable_key')])
  assert.deepEqual(take(limitsOf(9, 9), page), [5])
})
