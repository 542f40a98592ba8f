import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../../testing/fixtures/sample-events.ts'
import { type RequestOptions, startTestService } from '../../../testing/fixtures/service.ts'
import { generateToken } from '../../runtime/util/token-format.ts'

const EVENTS = '/api/v1/events'
const ORIGIN = { origin: SHOP_ORIGIN }
const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
}

it('returns 204 for the preflight of every origin', async test => {
  const service = await startTestService(test)
  for (const origin of [SHOP_ORIGIN, 'https://evil.example', 'http://127.0.0.1:5173', 'null']) {
    const headers = { origin, ...PREFLIGHT }
    const reply = await service.request('OPTIONS', EVENTS, { secret: null, headers })
    assert.equal(reply.status, 204)
    assert.equal(reply.text, '')
    for (const [name, value] of Object.entries({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'Authorization, Content-Type, Content-Encoding, Idempotency-Key',
      'access-control-max-age': '7200',
      'access-control-allow-credentials': null,
      vary: 'Origin',
    })) {
      assert.equal(reply.headers.get(name), value, name)
    }
    assert.match(reply.headers.get('request-id') ?? '', /^req_/)
  }
})

it('returns 204 with the allowed methods and without CORS headers to other clients', async test => {
  const service = await startTestService(test)
  const reply = await service.request('OPTIONS', EVENTS, { secret: null })
  assert.equal(reply.status, 204)
  assert.equal(reply.headers.get('allow'), 'POST, OPTIONS')
  assert.equal(reply.headers.get('access-control-allow-origin'), null)
})

it('lets the page read 2xx, 4xx and 5xx when it sent a publishable key', async test => {
  const service = await startTestService(test)
  const secret = service.tracker.publishableKey
  const post = (options: RequestOptions) =>
    service.request('POST', EVENTS, { secret, headers: ORIGIN, ...options })
  const csv = { headers: { ...ORIGIN, 'content-type': 'text/csv' } }
  const replies = [
    [202, await post({ body: samplePageView() })],
    [200, await post({ body: samplePageView() })],
    [400, await post({ rawBody: '{' })],
    [401, await post({ secret: generateToken('publishable'), body: samplePageView() })],
    [401, await post({ secret: null, body: samplePageView() })],
    [401, await post({ secret: 'sbx_pk_mistyped', body: samplePageView() })],
    [403, await post({ headers: { origin: 'https://evil.example' }, body: samplePageView() })],
    [413, await post({ rawBody: ' '.repeat(65_537) })],
    [415, await post({ rawBody: 'x', ...csv })],
    [422, await post({ body: {} })],
  ] as const
  await service.database.pool.query('alter table events rename to lost')
  const failed = await post({ body: samplePageView({ event_id: 'view-2' }) })
  for (const [status, reply] of [...replies, [500, failed] as const]) {
    assert.equal(reply.status, status)
    const origin = status === 403 ? 'https://evil.example' : SHOP_ORIGIN
    for (const [name, value] of Object.entries({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': null,
      'access-control-expose-headers':
        'Location, Idempotency-Key, Request-Id, Retry-After, RateLimit, RateLimit-Policy',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'no-store',
      vary: 'Origin',
    })) {
      assert.equal(reply.headers.get(name), value, `${name} on ${status}`)
    }
  }
})

it('lets the page read a 503 and its Retry-After', async test => {
  const service = await startTestService(test, { ingestQueueMax: 0 })
  const secret = service.tracker.publishableKey
  const options = { secret, headers: ORIGIN, body: samplePageView() }
  const reply = await service.request('POST', EVENTS, options)
  assert.equal(reply.status, 503)
  assert.equal(reply.headers.get('access-control-allow-origin'), SHOP_ORIGIN)
  assert.equal(reply.headers.get('retry-after'), '1')
})

it('sends no CORS headers with other credentials or without an Origin', async test => {
  const service = await startTestService(test)
  const { trackerSecret, forwardingSecret, publishableKey } = service.tracker
  const kinds = [
    trackerSecret,
    forwardingSecret,
    generateToken('sandbox'),
    generateToken('execution'),
  ]
  for (const secret of kinds) {
    const options = { secret, headers: ORIGIN, body: samplePurchase() }
    const reply = await service.request('POST', EVENTS, options)
    assert.equal(reply.status, secret === trackerSecret ? 403 : 401)
    assert.equal(reply.headers.get('access-control-allow-origin'), null)
    assert.equal(reply.headers.get('cross-origin-resource-policy'), 'same-origin')
  }
  const fromServer = await service.request('POST', EVENTS, {
    secret: publishableKey,
    body: samplePageView(),
  })
  assert.equal(fromServer.status, 202)
  assert.equal(fromServer.headers.get('access-control-allow-origin'), null)
})

it('sends no CORS headers with the 405 and 401 of other routes', async test => {
  const service = await startTestService(test)
  const secret = service.tracker.publishableKey
  for (const [method, path, status] of [
    ['OPTIONS', `${EVENTS}/view-1`, 405],
    ['OPTIONS', '/api/v1/verification-events', 405],
    ['OPTIONS', '/livez', 405],
    ['GET', `${EVENTS}/view-1`, 401],
    ['POST', '/api/v1/verification-events', 401],
    ['PUT', EVENTS, 405],
  ] as const) {
    const headers = { ...ORIGIN, ...PREFLIGHT }
    const reply = await service.request(method, path, { secret, headers })
    assert.equal(reply.status, status, `${method} ${path}`)
    assert.equal(reply.headers.get('access-control-allow-origin'), null)
  }
})
