import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { type RequestOptions, startTestService } from '../../../testing/fixtures/service.ts'

const EVENTS = '/api/v1/events'
const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const JSON_TYPE = { 'content-type': 'application/json' }
const EVERY_KIND: [status: number, method: string, path: string, options?: RequestOptions][] = [
  [200, 'GET', '/livez'],
  [202, 'POST', EVENTS, { body: samplePurchase() }],
  [200, 'POST', EVENTS, { body: samplePurchase() }],
  [200, 'GET', `${EVENTS}/order-1001`],
  [200, 'HEAD', `${EVENTS}/order-1001`],
  [400, 'POST', EVENTS, { rawBody: '{' }],
  [400, 'GET', `${EVENTS}/%zz`],
  [401, 'GET', `${EVENTS}/order-1001`, { secret: null }],
  [404, 'GET', `${EVENTS}/unknown`],
  [404, 'GET', '/nowhere'],
  [404, 'HEAD', '/nowhere'],
  [404, 'GET', `${EVENTS}/${'x'.repeat(3_000)}`],
  [405, 'DELETE', EVENTS],
  [413, 'POST', EVENTS, { rawBody: ' '.repeat(65_537) }],
  [415, 'POST', EVENTS, { rawBody: 'a=b', headers: { 'content-type': 'text/plain' } }],
  [422, 'POST', EVENTS, { body: {} }],
]

it('sends a request id, no-store and browser security headers with every response', async test => {
  const service = await startTestService(test)
  const ids = new Set<string>()
  for (const [status, method, path, options] of EVERY_KIND) {
    const reply = await service.request(method, path, options)
    assert.equal(reply.status, status, `${method} ${path.slice(0, 40)}`)
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      assert.equal(reply.headers.get(name), value, `${status} ${name}`)
    }
    const id = reply.headers.get('request-id') ?? ''
    assert.match(id, /^req_[0-9a-f]{32}$/)
    ids.add(id)
    assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(reply.headers.get('server'), null)
    assert.equal(reply.headers.get('x-powered-by'), null)
    const isHopeless = status >= 400 ? 'false' : null
    assert.equal(reply.headers.get('x-should-retry'), isHopeless)
  }
  assert.equal(ids.size, EVERY_KIND.length)
})

it('returns the same 404 for every unknown path, before authentication and body', async test => {
  const service = await startTestService(test)
  for (const path of ['/', '/api/v1', '/api/v1/', '/api/v1/event', '/API/v1/events', '//livez']) {
    for (const options of [{}, { secret: null }, { secret: 'garbage' }]) {
      const reply = await service.request('GET', path, options)
      assert.equal(reply.status, 404, path)
      assert.deepEqual(reply.body, { message: 'There is nothing at this path.' })
    }
  }
  for (const rawBody of ['{', ' '.repeat(70_000)]) {
    const reply = await service.request('POST', '/nowhere', { rawBody })
    assert.equal(reply.status, 404)
  }
})

it('returns 405 with the allowed methods before it reads the body', async test => {
  const service = await startTestService(test)
  for (const [method, path, allow] of [
    ['GET', EVENTS, 'POST, OPTIONS'],
    ['PUT', EVENTS, 'POST, OPTIONS'],
    ['OPTIONS', `${EVENTS}/order-1001`, 'GET, HEAD'],
    ['POST', `${EVENTS}/order-1001`, 'GET, HEAD'],
    ['DELETE', `${EVENTS}/order%2F1001?x=1`, 'GET, HEAD'],
    ['GET', '/api/v1/verification-events', 'POST'],
    ['POST', '/livez', 'GET, HEAD'],
    ['POST', '/', 'GET, HEAD'],
    ['OPTIONS', '/', 'GET, HEAD'],
  ] as const) {
    const options = method === 'PUT' ? { rawBody: '{' } : {}
    const reply = await service.request(method, path, { secret: null, ...options })
    assert.equal(reply.status, 405, `${method} ${path}`)
    assert.equal(reply.headers.get('allow'), allow)
    assert.deepEqual(reply.body, { message: `${method} is not allowed here; use ${allow}.` })
  }
})

it('accepts JSON under any spelling of its media type and returns 415 for the rest', async test => {
  const service = await startTestService(test)
  const rawBody = JSON.stringify(samplePurchase())
  const post = (headers: Record<string, string>) =>
    service.request('POST', EVENTS, { rawBody, headers })
  for (const type of ['text/plain', 'application/xml', 'application/jsonx', 'garbage', 'a/b/c']) {
    const reply = await post({ 'content-type': type })
    assert.equal(reply.status, 415, type)
    assert.deepEqual(reply.body, { message: 'Send the body as application/json.' })
  }
  const coded = await post({ ...JSON_TYPE, 'content-encoding': 'gzip' })
  assert.equal(coded.status, 415)
  assert.deepEqual(coded.body, { message: 'Send the body without a content coding.' })
  assert.equal((await service.read('order-1001')).status, 404)
  for (const [type, status] of [
    ['application/json', 202],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;charset="UTF-8"', 200],
  ] as const) {
    assert.equal((await post({ 'content-type': type })).status, status, type)
  }
})

it('returns 413 with the limit and the next step, also without a Content-Length', async test => {
  const service = await startTestService(test)
  for (const bytes of [65_537, 1_000_000]) {
    const response = await fetch(`${service.url}${EVENTS}`, {
      method: 'POST',
      headers: { ...JSON_TYPE, authorization: `Bearer ${service.tracker.trackerSecret}` },
      body: new Blob([' '.repeat(bytes)]).stream(),
      duplex: 'half',
    })
    assert.equal(response.status, 413)
    assert.deepEqual(await response.json(), {
      message:
        'The body is larger than 65536 bytes; split a batch into several requests, or leave out ' +
        'optional data such as custom properties.',
    })
  }
})

// Closing after the response would reset the connection of a client that is still sending.
it('reads the rest of a refused body, so that the client gets its response', async test => {
  const service = await startTestService(test)
  const secret = `Bearer ${service.tracker.trackerSecret}`
  const lengthOf = 'content-length: 8000000\r\n'
  const cases: [
    path: string,
    type: string,
    framing: string,
    authorization: string,
    code: number,
  ][] = [
    [EVENTS, 'application/json', lengthOf, secret, 413],
    [EVENTS, 'application/json', 'transfer-encoding: chunked\r\n', secret, 413],
    [EVENTS, 'application/json', lengthOf, 'Bearer nobody', 401],
    [EVENTS, 'application/json', `origin: https://shop.example\r\n${lengthOf}`, secret, 403],
    [`${EVENTS}/batch`, 'application/json', lengthOf, secret, 413],
    ['/sign-in', 'application/x-www-form-urlencoded', lengthOf, secret, 413],
    ['/api/v1/nothing', 'application/json', lengthOf, secret, 404],
  ]
  for (const [path, type, framing, authorization, code] of cases) {
    const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1')
    test.after(() => socket.destroy())
    const head = `host: ${new URL(service.url).host}\r\nauthorization: ${authorization}\r\n`
    const origin = path === '/sign-in' ? `origin: ${service.url}\r\n` : ''
    const block = framing.endsWith(lengthOf)
      ? ' '.repeat(80_000)
      : `13880\r\n${' '.repeat(80_000)}\r\n`
    socket.write(`POST ${path} HTTP/1.1\r\n${head}${origin}content-type: ${type}\r\n${framing}\r\n`)
    let answers = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      answers += text
    })
    for (let sent = 0; sent < 100; sent += 1) {
      if (!socket.write(block)) await once(socket, 'drain')
    }
    if (!framing.endsWith(lengthOf)) socket.write('0\r\n\r\n')
    // The connection is still good for the next request.
    socket.write(`GET /livez HTTP/1.1\r\n${head}connection: close\r\n\r\n`)
    await once(socket, 'close')
    const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(match => Number(match[1]))
    assert.deepEqual(statuses, [code, 200], `${path} ${type} ${framing}`)
  }
})

it('returns 413 with the limit of forms on a page', async test => {
  const service = await startTestService(test)
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
  const rawBody = `email=${'x'.repeat(16_384)}`
  const reply = await service.request('POST', '/sign-in', { rawBody, headers: form })
  assert.equal(reply.status, 413)
  assert.match(reply.text, /The body is larger than 16384 bytes; /)
})
