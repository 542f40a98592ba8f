import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { type Reply, serviceUnderTest } from '../../testing/service-under-test.ts'

const EVENTS = '/api/v1/events'

/** A clock of the limits that stands still until the test moves it. */
function stillClock() {
  const clock = { seconds: 1_000 }
  return { clock, steadySeconds: () => clock.seconds }
}

function rateOf({ headers }: Reply) {
  return [headers.get('ratelimit-policy'), headers.get('ratelimit')]
}

it('every answer to a known tracker tells its quota and what is left of it', async test => {
  const { steadySeconds } = stillClock()
  const limits = { trackerRatePerSecond: 1_000 }
  const service = await serviceUnderTest(test, { limits, monotonicSeconds: steadySeconds })
  const json = { headers: { 'content-type': 'application/json' } }
  const text = { headers: { 'content-type': 'text/csv' } }
  const send = (options: object) => service.request('POST', EVENTS, options)
  const answers: [number, () => Promise<Reply>][] = [
    [202, () => service.submit(samplePurchase())],
    [200, () => service.submit(samplePurchase())],
    [200, () => service.read('order-1001')],
    [404, () => service.read('unknown')],
    [400, () => send({ rawBody: '{', ...json })],
    [413, () => send({ rawBody: ' '.repeat(70_000), ...json })],
    [415, () => send({ rawBody: 'a', ...text })],
    [422, () => send({ body: {} })],
  ]
  for (const [index, [status, ask]] of answers.entries()) {
    const reply = await ask()
    assert.equal(reply.status, status)
    assert.deepEqual(rateOf(reply), ['"tracker";q=2000;w=2', `"tracker";r=${1_999 - index};t=2`])
  }
})

it('429 tells a tracker when to come again, keeps nothing, and lets it in then', async test => {
  const { clock, steadySeconds } = stillClock()
  const service = await serviceUnderTest(test, {
    limits: { trackerRatePerSecond: 2 },
    monotonicSeconds: steadySeconds,
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
    message: 'Too many requests for this tracker; wait, then send the same request again.',
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

it('429 comes before the body is read', async test => {
  const { steadySeconds } = stillClock()
  const service = await serviceUnderTest(test, {
    limits: { trackerRatePerSecond: 1 },
    monotonicSeconds: steadySeconds,
  })
  for (const id of ['a', 'b']) await service.read(id)
  for (const rawBody of ['{', ' '.repeat(70_000), new Uint8Array([0xff])]) {
    assert.equal((await service.request('POST', EVENTS, { rawBody })).status, 429)
  }
})

it('one tracker is not held up by another, by strangers or by its own wrong secrets', async test => {
  const { steadySeconds } = stillClock()
  const service = await serviceUnderTest(test, {
    limits: { trackerRatePerSecond: 1 },
    monotonicSeconds: steadySeconds,
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

it('a publishable key uses up the same quota, and its page may read that it did', async test => {
  const { steadySeconds } = stillClock()
  const service = await serviceUnderTest(test, {
    limits: { trackerRatePerSecond: 1 },
    monotonicSeconds: steadySeconds,
  })
  const headers = { origin: 'https://shop.example' }
  const options = { secret: service.tracker.publishableKey, headers }
  const fromPage = () => service.request('POST', EVENTS, { ...options, body: {} })
  assert.equal((await service.read('x')).status, 404)
  assert.equal((await fromPage()).status, 422)
  const refused = await fromPage()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://shop.example')
  const exposed = refused.headers.get('access-control-expose-headers') ?? ''
  for (const name of ['Retry-After', 'RateLimit', 'RateLimit-Policy']) {
    assert.ok(exposed.includes(name), name)
  }
})

it('a rate of 0 limits nothing and says nothing', async test => {
  const { steadySeconds } = stillClock()
  const service = await serviceUnderTest(test, {
    limits: { trackerRatePerSecond: 0 },
    monotonicSeconds: steadySeconds,
  })
  for (let count = 0; count < 20; count += 1) {
    const reply = await service.read('unknown')
    assert.equal(reply.status, 404)
    assert.deepEqual(rateOf(reply), [null, null])
  }
})
