import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startSandboxFixture } from '../../../testing/fixtures/sandbox.ts'

const ORIGIN = { origin: 'https://page.example' }
const EXPOSED = 'Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-Should-Retry'

it('returns 204 to preflights from any origin with the methods of the path', async test => {
  const sandbox = await startSandboxFixture(test)
  for (const [path, methods] of [
    ['/sandbox', 'GET'],
    ['/sandbox/keys', 'GET, POST'],
    ['/sandbox/keyed-events', 'POST'],
  ] as const) {
    const reply = await sandbox.request('OPTIONS', path, {
      headers: {
        ...ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
    assert.equal(reply.status, 204, path)
    assert.equal(reply.text, '')
    assert.equal(reply.headers.get('access-control-allow-origin'), '*')
    assert.equal(reply.headers.get('access-control-allow-methods'), methods)
    assert.equal(
      reply.headers.get('access-control-allow-headers'),
      'Authorization, Content-Type, Idempotency-Key',
    )
    assert.equal(reply.headers.get('access-control-max-age'), '7200')
    assert.equal(reply.headers.get('access-control-allow-credentials'), null)
    assert.match(reply.headers.get('request-id') ?? '', /^req_/)
  }
})

it('returns CORS headers with every response, including errors', async test => {
  const sandbox = await startSandboxFixture(test)
  const key = await sandbox.newKey()
  const validation = ['POST', '/sandbox/keyed-events'] as const
  for (const [status, method, path, options] of [
    [200, 'GET', '/sandbox', {}],
    [200, 'HEAD', '/sandbox', {}],
    [200, 'GET', '/sandbox/keys', {}],
    [201, 'POST', '/sandbox/keys', {}],
    [400, 'POST', '/sandbox/keys', { rawBody: '{' }],
    [200, ...validation, { key, body: { event_name: 'Lead' } }],
    [400, ...validation, { key, rawBody: '{' }],
    [401, ...validation, { body: {} }],
    [413, ...validation, { key, rawBody: ' '.repeat(65_537) }],
    [415, ...validation, { key, rawBody: 'x', headers: { 'content-type': 'text/csv' } }],
    [422, ...validation, { key, body: {} }],
  ] as const) {
    const headers = { ...ORIGIN, ...('headers' in options ? options.headers : {}) }
    const reply = await sandbox.request(method, path, { ...options, headers })
    assert.equal(reply.status, status, `${method} ${path}`)
    assert.equal(reply.headers.get('access-control-allow-origin'), '*')
    assert.equal(reply.headers.get('access-control-expose-headers'), EXPOSED)
    assert.equal(reply.headers.get('access-control-allow-credentials'), null)
  }
})

it('returns no-store with every response', async test => {
  const sandbox = await startSandboxFixture(test)
  const replies = [
    await sandbox.request('GET', '/sandbox'),
    await sandbox.request('GET', '/sandbox/keys'),
    await sandbox.request('POST', '/sandbox/keys'),
    await sandbox.validate({ event_name: 'Lead' }),
  ]
  for (const { headers } of replies) {
    assert.equal(headers.get('cache-control'), 'no-store, private')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(headers.get('etag'), null)
  }
})
