import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeBodyTooLarge } from '@signalbox/contract/errors.ts'
import { SANDBOX_PUBLIC_ORIGIN, startSandboxFixture } from '../../../testing/fixtures/sandbox.ts'

const BASE = `${SANDBOX_PUBLIC_ORIGIN}/api/v1`
const TRY = {
  event_id: 'sandbox-order-1001',
  event_name: 'Purchase',
  action_source: 'website',
  value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
}
const MESSAGE =
  'Valid, assuming consent_basis "consent": production rejects an event without it. ' +
  'Production would store it, but a platform would reject it: its user_data is too weak to match ' +
  'a person. Add an email, phone, or external_id. ' +
  'Nothing was stored or sent.'

it('returns a complete key that expires after fifteen minutes', async test => {
  const sandbox = await startSandboxFixture(test)
  for (const [method, status] of [
    ['GET', 200],
    ['POST', 201],
  ] as const) {
    const reply = await sandbox.request(method, '/sandbox/keys')
    assert.equal(reply.status, status)
    const { api_key } = reply.body
    assert.match(api_key, /^sbx_test_[\w-]+\.[\w-]{43}$/)
    assert.deepEqual(reply.body, {
      api_key,
      token_type: 'Bearer',
      expires_in: 900,
      expires_at: '2026-11-21T12:15:00.000Z',
      scope: 'sandbox:events.validate',
      production_access: false,
      use: {
        method: 'POST',
        url: `${BASE}/sandbox/keyed-events`,
        authorization: `Bearer ${api_key}`,
      },
    })
  }
})

it('returns a complete discovery document with a key', async test => {
  const sandbox = await startSandboxFixture(test)
  const { status, body } = await sandbox.request('GET', '/sandbox')
  assert.equal(status, 200)
  const { issued_key, description, ...self } = body.self_serve_key
  assert.match(issued_key.api_key, /^sbx_test_/)
  assert.equal(issued_key.expires_at, '2026-11-21T12:15:00.000Z')
  assert.match(description, /^issued_key works now, .+\.$/)
  assert.deepEqual(self, {
    method: 'POST',
    url: `${BASE}/sandbox/keys`,
    authentication_required: false,
  })
  assert.match(body.description, /^Validates conversion events .+ Nothing is stored .+\.$/)
  assert.deepEqual(body, {
    environment: 'sandbox',
    authentication_required: true,
    account_required: false,
    production_data: false,
    persists_data: false,
    provider_delivery: false,
    description: body.description,
    self_serve_key: body.self_serve_key,
    try: {
      method: 'POST',
      url: `${BASE}/sandbox/keyed-events`,
      content_type: 'application/json',
      body: TRY,
    },
  })
})

it('accepts the example of the discovery document with its key', async test => {
  const sandbox = await startSandboxFixture(test)
  const { body: discovery } = await sandbox.request('GET', '/sandbox')
  const { method, url, content_type, body } = discovery.try
  const { use } = discovery.self_serve_key.issued_key
  assert.equal(use.method, method)
  assert.equal(use.url, url)
  const headers = { authorization: use.authorization, 'content-type': content_type }
  const reply = await sandbox.request(method, url.slice(BASE.length), { body, headers })
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.body, {
    sandbox: true,
    accepted: true,
    event_id: 'sandbox-order-1001',
    status: 'validated',
    persisted: false,
    provider_delivery: false,
    message: MESSAGE,
  })
})

it('takes the event ID from event_id or Idempotency-Key, or generates one', async test => {
  const sandbox = await startSandboxFixture(test)
  const { event_id: _, ...unnamed } = TRY
  const byKey = await sandbox.validate(unnamed, { 'idempotency-key': '"order-7"' })
  assert.equal(byKey.body.event_id, 'order-7')
  const both = await sandbox.validate(TRY, { 'idempotency-key': TRY.event_id })
  assert.equal(both.body.event_id, TRY.event_id)
  const anew = await sandbox.validate(unnamed)
  const uuidV7 = /^evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  assert.match(anew.body.event_id, uuidV7)
  assert.notEqual((await sandbox.validate(unnamed)).body.event_id, anew.body.event_id)
})

it('creates a key without a body and ignores one', async test => {
  const sandbox = await startSandboxFixture(test)
  for (const options of [{}, { rawBody: '' }, { body: null }, { body: { any: ['thing'] } }]) {
    assert.equal((await sandbox.request('POST', '/sandbox/keys', options)).status, 201)
  }
})

it('returns 400, 413, and 415 for unreadable bodies', async test => {
  const sandbox = await startSandboxFixture(test)
  const key = await sandbox.newKey()
  const text = { 'content-type': 'text/plain' }
  for (const path of ['/sandbox/keys', '/sandbox/keyed-events']) {
    for (const [status, message, options] of [
      [400, 'The body is not valid JSON.', { rawBody: '{' }],
      [413, describeBodyTooLarge(65_536), { rawBody: ' '.repeat(65_537) }],
      [415, 'Send the body as application/json.', { rawBody: 'a=b', headers: text }],
    ] as const) {
      const reply = await sandbox.request('POST', path, { key, ...options })
      assert.equal(reply.status, status, path)
      assert.deepEqual(reply.body, { message })
    }
  }
})

it('returns 404 and 405 for other paths and methods', async test => {
  const sandbox = await startSandboxFixture(test)
  for (const path of ['/sandbox/', '/sandbox/key', '/sandbox/keys/1', '/sandbox/events']) {
    const reply = await sandbox.request('GET', path)
    assert.equal(reply.status, 404, path)
    assert.deepEqual(reply.body, { message: 'There is nothing at this path.' })
  }
  for (const [method, path, allow] of [
    ['POST', '/sandbox', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/sandbox/keys', 'GET, HEAD, POST, OPTIONS'],
    ['GET', '/sandbox/keyed-events', 'POST, OPTIONS'],
  ] as const) {
    const reply = await sandbox.request(method, path)
    assert.equal(reply.status, 405)
    assert.equal(reply.headers.get('allow'), allow)
    assert.deepEqual(reply.body, { message: `${method} is not allowed here; use ${allow}.` })
  }
})

it('returns 500 without details after an internal error', async test => {
  const broken = () => {
    throw new Error('the clock is gone')
  }
  const sandbox = await startSandboxFixture(test, { now: broken })
  const reply = await sandbox.request('GET', '/sandbox')
  assert.equal(reply.status, 500)
  assert.deepEqual(Object.keys(reply.body), ['message'])
  assert.doesNotMatch(reply.text, /clock/)
  assert.equal(reply.headers.get('access-control-allow-origin'), '*')
})
