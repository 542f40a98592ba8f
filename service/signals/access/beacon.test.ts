import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { generateToken } from '../../runtime/util/token-format.ts'

const EVENTS = '/api/v1/events'
const TEXT = { 'content-type': 'text/plain;charset=UTF-8', origin: SHOP_ORIGIN }

/** As navigator.sendBeacon does: no Authorization, the type that needs no preflight. */
function beacon(service: TestService, query: string, rawBody = JSON.stringify(samplePageView())) {
  return service.request('POST', `${EVENTS}${query}`, { secret: null, rawBody, headers: TEXT })
}

it('accepts a beacon with the key in the query and JSON as text', async test => {
  const service = await startTestService(test)
  const key = `?key=${service.tracker.publishableKey}`
  const reply = await beacon(service, key)
  assert.equal(reply.status, 202)
  assert.equal(reply.headers.get('access-control-allow-origin'), SHOP_ORIGIN)
  assert.equal((await beacon(service, key)).status, 200)
  for (const type of ['text/plain', 'Text/Plain; charset=utf-8']) {
    const headers = { ...TEXT, 'content-type': type }
    const options = { secret: null, rawBody: JSON.stringify(samplePageView()), headers }
    assert.equal((await service.request('POST', EVENTS + key, options)).status, 200, type)
  }
  const json = { secret: null, body: samplePageView(), headers: { origin: SHOP_ORIGIN } }
  assert.equal((await service.request('POST', EVENTS + key, json)).status, 200)
})

it('accepts JSON as text with the key in the header', async test => {
  const service = await startTestService(test)
  const secret = service.tracker.publishableKey
  const options = { secret, rawBody: JSON.stringify(samplePageView()), headers: TEXT }
  assert.equal((await service.request('POST', EVENTS, options)).status, 202)
})

it('validates JSON as text like JSON', async test => {
  const service = await startTestService(test)
  const key = `?key=${service.tracker.publishableKey}`
  assert.equal((await beacon(service, key, '{"event_name"')).status, 400)
  assert.equal((await beacon(service, key, '')).status, 422)
  assert.equal((await beacon(service, key, '{}')).status, 422)
  const headers = { ...TEXT, 'content-encoding': 'gzip' }
  const coded = { secret: null, rawBody: '{}', headers }
  assert.equal((await service.request('POST', EVENTS + key, coded)).status, 415)
})

it('returns 415 for text from other callers and on other routes', async test => {
  const service = await startTestService(test)
  const rawBody = JSON.stringify(samplePurchase())
  const headers = { 'content-type': 'text/plain;charset=UTF-8' }
  for (const path of [EVENTS, '/api/v1/deliveries/replay']) {
    const reply = await service.request('POST', path, { rawBody, headers })
    assert.equal(reply.status, 415)
    assert.deepEqual(reply.body, { message: 'Send the body as application/json.' })
  }
})

it('returns 401 for any other credential in the query and never logs it', async test => {
  const service = await startTestService(test)
  const { trackerSecret, forwardingSecret, publishableKey } = service.tracker
  const wrong = [
    ...[trackerSecret, forwardingSecret, generateToken('sandbox'), generateToken('publishable')],
    ...['', 'garbage', publishableKey.slice(0, -1), `${publishableKey}&key=${publishableKey}`],
    ...[`Bearer ${publishableKey}`, ` ${publishableKey}`].map(encodeURIComponent),
  ]
  for (const key of wrong) {
    const reply = await beacon(service, `?key=${key}`)
    assert.equal(reply.status, 401, key)
    assert.equal(reply.text, '{"message":"Unauthenticated."}')
  }
  assert.equal((await beacon(service, `?KEY=${publishableKey}`)).status, 401)
  assert.equal((await service.read('view-1')).status, 404)
  assert.match(service.logged(), /"status":401/)
  for (const secret of [trackerSecret, forwardingSecret, publishableKey]) {
    assert.ok(!service.logged().includes(secret.slice(7, 40)))
  }
})

it('returns 401 for a secret in the query even with a valid one in the header', async test => {
  const service = await startTestService(test)
  const { trackerSecret, publishableKey } = service.tracker
  const post = (secret: string, key: string) =>
    service.request('POST', `${EVENTS}?key=${key}`, { secret, body: samplePurchase() })
  assert.equal((await post(trackerSecret, trackerSecret)).status, 401)
  assert.equal((await post(publishableKey, trackerSecret)).status, 401)
})

it('prefers the key in the header when both places have one', async test => {
  const service = await startTestService(test)
  const { publishableKey, trackerSecret } = service.tracker
  const [unknown, known] = [generateToken('publishable'), publishableKey]
  const post = (secret: string, key: string) =>
    service.request('POST', `${EVENTS}?key=${key}`, { secret, body: samplePageView() })
  assert.equal((await post(known, unknown)).status, 202)
  assert.equal((await post(trackerSecret, unknown)).status, 202)
  assert.equal((await post(unknown, known)).status, 401)
})

it('returns 401 for a key in the query on every other route', async test => {
  const service = await startTestService(test)
  const { publishableKey } = service.tracker
  for (const [method, path] of [
    ['GET', '/api/v1/events/view-1'],
    ['POST', '/api/v1/verification-events'],
    ['POST', '/api/v1/deliveries/replay'],
  ] as const) {
    const reply = await service.request(method, `${path}?key=${publishableKey}`, { secret: null })
    assert.equal(reply.status, 401, path)
  }
})
