import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
  signForwardedRequest,
} from '../../../testing/fixtures/sample-events.ts'
import {
  type RequestOptions,
  startTestService,
  type TestService,
} from '../../../testing/fixtures/service.ts'
import { disconnectStore } from '../../../testing/fixtures/store-loss.ts'

const BATCH = '/api/v1/events/batch'

const purchases = (count: number, prefix = 'order') =>
  Array.from({ length: count }, (_, index) => samplePurchase({ event_id: `${prefix}-${index}` }))

function submit(service: TestService, events: unknown, options: Partial<RequestOptions> = {}) {
  return service.request('POST', BATCH, { body: { events }, ...options })
}

type Bytes = NonNullable<RequestOptions['rawBody']>

type Result = { status: number; event_id?: string; message?: string; retry_after?: number }
const statusesOf = ({ body }: { body: { results: Result[] } }) =>
  body.results.map(({ status }) => status)

it('answers for each event by position with what createEvent would have said', async test => {
  const service = await startTestService(test)
  const other = await startTestService(test)
  const events = [
    samplePurchase({ event_id: 'a' }),
    samplePurchase({ event_id: 'b', value_data: { value: '5' } }),
    samplePurchase({ event_id: 'a' }),
    samplePurchase({ event_id: 'a', event_name: 'Lead', value_data: undefined }),
    samplePurchase({ event_id: 'c', consent: { advertising: 'denied' } }),
    samplePurchase({ event_id: 'd', note: 'x', consent: { advertising: 'granted' } }),
    null,
    'text',
    [],
  ]
  const { status, body } = await submit(service, events)
  assert.equal(status, 200)
  const expected = []
  for (const event of events) {
    const { status, body } = await other.request('POST', '/api/v1/events', { body: event })
    expected.push({ status, ...body })
  }
  assert.deepEqual(body.results, expected)
  assert.deepEqual(statusesOf({ body }), [202, 422, 200, 200, 422, 202, 422, 422, 422])
  assert.equal(await service.deliver(), 2)
  assert.equal((await service.read('a')).body.event.event_name, 'Purchase')
})

it('stores nothing twice when a batch is sent again, alone or beside single requests', async test => {
  const service = await startTestService(test)
  const events = purchases(60)
  const replies = await Promise.all([
    submit(service, events),
    submit(service, events),
    ...events.map(async event => ({ body: { results: [await service.submit(event)] } })),
  ])
  const stored = replies.flatMap(statusesOf).filter(status => status === 202)
  assert.equal(stored.length, 60)
  assert.deepEqual(new Set(statusesOf(await submit(service, events))), new Set([200]))
  assert.equal(await service.deliver(), 60)
  assert.equal((await service.received()).count, 60)
})

it('refuses a request without events, with too many, or with an Idempotency-Key', async test => {
  const service = await startTestService(test)
  for (const body of [{}, { events: [] }, { events: {} }, { events: null }, [], null, 'x', 1]) {
    const { status, body: refused } = await service.request('POST', BATCH, { body })
    assert.equal(status, 422, JSON.stringify(body))
    assert.ok(refused.errors.events ?? refused.errors.body, JSON.stringify(refused))
  }
  const many = await submit(service, Array(201).fill({}))
  assert.deepEqual(Object.keys(many.body.errors), ['events'])
  const keyed = await submit(service, purchases(2), { headers: { 'idempotency-key': 'order-1' } })
  assert.deepEqual([keyed.status, Object.keys(keyed.body.errors)], [422, ['Idempotency-Key']])
  assert.equal((await submit(service, Array(200).fill(samplePurchase()))).status, 200)
})

async function limitedService(test: TestContext, limits: Record<string, number>) {
  return startTestService(test, {
    limits,
    monotonicSeconds: () => 1_000,
    trustedProxies: '127.0.0.1',
  })
}

it('counts each event against the limit, and refuses the tail for the moment', async test => {
  const service = await limitedService(test, { trackerRatePerSecond: 5 })
  const reply = await submit(service, purchases(12))
  assert.deepEqual(statusesOf(reply), [...Array(10).fill(202), 429, 429])
  assert.equal(reply.body.results[11].retry_after, 1)
  assert.equal((await submit(service, purchases(2))).status, 429)
  const exact = await limitedService(test, { trackerRatePerSecond: 5 })
  const last = await submit(exact, purchases(10))
  assert.equal(last.headers.get('ratelimit'), '"tracker";r=0;t=1')
})

it('takes twenty events of a page, under the limits and rules of pages', async test => {
  const service = await limitedService(test, { publishableRatePerSecond: 10 })
  const page = {
    secret: service.tracker.publishableKey,
    headers: { origin: SHOP_ORIGIN, 'x-forwarded-for': '203.0.113.5', 'sec-gpc': '1' },
  }
  const views = (count: number) =>
    Array.from({ length: count }, (_, index) => samplePageView({ event_id: `view-${index}` }))
  assert.equal((await submit(service, views(21), page)).status, 422)
  const reply = await submit(service, views(19), page)
  assert.deepEqual(statusesOf(reply), Array(19).fill(422))
  assert.equal(reply.headers.get('access-control-allow-origin'), SHOP_ORIGIN)
  const { 'sec-gpc': _, ...headers } = page.headers
  const raw = samplePageView({ user_data: { client_ip_address: '203.0.113.9' } })
  // One of the quota is left after the 19 and the one of the refused request.
  assert.equal((await submit(service, [raw], { ...page, headers })).status, 429)
  const foreign = { ...page, headers: { ...headers, origin: 'https://evil.example' } }
  assert.equal((await submit(service, views(1), foreign)).status, 403)
  const secret = { headers: { origin: SHOP_ORIGIN } }
  assert.equal((await submit(service, views(1), secret)).status, 403)
})

it('verifies the signature of a forwarder over the bytes as sent', async test => {
  const service = await startTestService(test)
  const { publishableKey, forwardingSecret } = service.tracker
  const bytes = gzipSync(JSON.stringify({ events: [samplePageView({ event_id: 'v-1' })] }))
  const signed = (body: Buffer) =>
    signForwardedRequest({
      secret: forwardingSecret,
      body: body as unknown as string,
      at: service.clock.now(),
      clientIp: '203.0.113.5',
      userAgent: 'Mozilla/5.0',
    })
  const forward = (headers: Record<string, string>) =>
    service.request('POST', BATCH, {
      secret: publishableKey,
      rawBody: bytes as Bytes,
      headers: { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip' },
    })
  const wrong = await forward(signed(Buffer.from('other')))
  assert.equal(wrong.status, 401)
  const headers = signed(bytes)
  assert.deepEqual(statusesOf(await forward(headers)), [202])
  assert.equal((await forward(headers)).status, 401)
})

it('stores a withdrawal before the events behind it are decided', async test => {
  const service = await startTestService(test)
  const event = (event_id: string) => samplePurchase({ event_id, visitor_id: 'visitor-1' })
  const withdrawal = {
    event_id: 'w-1',
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-1',
  }
  const reply = await submit(service, [event('before'), withdrawal, event('after')])
  assert.deepEqual(statusesOf(reply), [202, 202, 202])
  const statusOf = async (id: string) => (await service.read(id)).body.deliveries[0]?.status
  assert.equal(await statusOf('after'), 'skipped:consent')
  // As for single requests, the withdrawal stops what waits.
  assert.equal(await statusOf('before'), 'skipped:consent')
})

it('answers 503 for the events for which the queue has no place, and takes them later', async test => {
  const service = await startTestService(test, { ingestQueueMax: 2 })
  const reply = await submit(service, purchases(4))
  // On a cluster, the queue of a node takes a part of the places.
  const [first, ...others] = statusesOf(reply)
  assert.equal(first, 202)
  assert.deepEqual([new Set(others).has(503), others.at(-1)], [true, 503])
  assert.equal(reply.body.results[3].retry_after, 1)
  assert.deepEqual(statusesOf(await submit(service, purchases(4).slice(3))), [202])
})

it('answers 503 for the request when the store is away', async test => {
  const service = await startTestService(test)
  await disconnectStore(service)
  const away = await submit(service, purchases(3))
  assert.equal(away.status, 503)
  assert.ok(Number(away.headers.get('retry-after')) > 0)
})

it('needs a credential, and leaves the event named batch to getEvent', async test => {
  const service = await startTestService(test)
  assert.equal((await submit(service, purchases(1), { secret: null })).status, 401)
  await service.submit(samplePurchase({ event_id: 'batch' }))
  assert.equal((await service.read('batch')).body.event.event_name, 'Purchase')
  const preflight = await service.request('OPTIONS', BATCH, {
    secret: null,
    headers: { origin: SHOP_ORIGIN },
  })
  assert.deepEqual([preflight.status, preflight.headers.get('allow')], [204, 'POST, OPTIONS'])
})
