import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { it } from 'node:test'
import { createOpenapiDocument } from '@signalbox/contract/openapi-document.ts'
import { verifySignedDocument } from '@signalbox/contract/verify-openapi.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const CONTRACT = '/openapi.json'
const KEYS = '/.well-known/jwks.json'
const SECURITY = '/.well-known/security.txt'
const CONTACT = 'https://shop.example/security'

it('serves the contract without authentication, signed with a key of the key set', async test => {
  const service = await startTestService(test)
  const contract = await get(service, CONTRACT)
  const keys = await get(service, KEYS)
  assert.equal(contract.status, 200)
  assert.equal(keys.status, 200)
  const { document, isDevelopmentKey } = await verifySignedDocument(contract.text, keys.text)
  assert.equal(isDevelopmentKey, true)
  const { 'x-signed': marker, 'x-signature': _, 'x-signing-key': origin, ...content } = document
  assert.equal(marker, true)
  assert.equal(origin, 'development')
  assert.deepEqual(content, createOpenapiDocument(`${service.url}/api/v1`))
})

it('serves only public keys, each marked as development or release', async test => {
  const service = await startTestService(test)
  const { body } = await service.request('GET', KEYS, { secret: null })
  assert.equal(body.keys.length, 1)
  const { x, kid, ...rest } = body.keys[0]
  assert.match(x, /^[\w-]{43}$/)
  assert.match(kid, /^[\w-]{43}$/)
  assert.deepEqual(rest, {
    kty: 'OKP',
    crv: 'Ed25519',
    alg: 'EdDSA',
    use: 'sig',
    'x-signing-key': 'development',
  })
})

it('serves the same bytes and ETag to every caller', async test => {
  const service = await startTestService(test, { securityContact: CONTACT })
  for (const path of [CONTRACT, KEYS, SECURITY]) {
    const first = await get(service, path)
    assert.match(first.headers.get('etag') ?? '', /^"[\w-]{43}"$/)
    const secret = { authorization: `Bearer ${service.tracker.trackerSecret}` }
    for (const headers of [
      {},
      { origin: 'https://docs.example' },
      secret,
      { accept: 'text/html' },
    ]) {
      const again = await get(service, `${path}?x=1`, { headers })
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('etag'), first.headers.get('etag'))
    }
  }
})

it('allows caching and reading by any page, and nothing else in a browser', async test => {
  const service = await startTestService(test, { securityContact: CONTACT })
  for (const [path, type] of [
    [CONTRACT, 'application/json; charset=utf-8'],
    [KEYS, 'application/json; charset=utf-8'],
    [SECURITY, 'text/plain; charset=utf-8'],
  ] as const) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await get(service, path, { method })
      assert.equal(status, 200)
      assert.equal(text === '', method === 'HEAD')
      assert.equal(headers.get('content-type'), type)
      const { text: whole } = await get(service, path)
      assert.equal(headers.get('content-length'), String(Buffer.byteLength(whole)))
      assertPublic(headers)
    }
  }
})

it('returns 304 without a body for a matching If-None-Match and 200 otherwise', async test => {
  const service = await startTestService(test, { securityContact: CONTACT })
  for (const path of [CONTRACT, KEYS, SECURITY]) {
    const etag = (await get(service, path)).headers.get('etag') ?? ''
    for (const [status, value] of [
      [304, etag],
      [304, `W/${etag}`],
      [304, '*'],
      [304, `"other", ${etag}`],
      [200, '"other"'],
      [200, etag.replaceAll('"', '')],
      [200, 'garbage'],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const headers = { 'if-none-match': value }
        const reply = await get(service, path, { method, headers })
        assert.equal(reply.status, status, `${method} ${path} ${value}`)
        assert.equal(reply.text !== '', status === 200 && method === 'GET')
        assert.equal(reply.headers.get('etag'), etag)
        assertPublic(reply.headers)
        if (status === 304) assert.equal(reply.headers.get('content-type'), null)
      }
    }
  }
})

it('uses the public origin and ignores the Host header', async test => {
  const service = await startTestService(test, { securityContact: CONTACT })
  for (const path of [CONTRACT, SECURITY]) {
    const { port } = new URL(service.url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`)
    const response = await textOf(socket)
    assert.match(response, /^HTTP\/1.1 200 OK\r\n/)
    assert.equal(response.includes('evil.example'), false)
    assert.ok(response.endsWith((await get(service, path)).text))
  }
  const { servers } = JSON.parse((await get(service, CONTRACT)).text)
  assert.deepEqual(servers, [{ url: `${service.url}/api/v1` }])
})

it('returns 404 for security.txt without a configured contact', async test => {
  const service = await startTestService(test)
  const reply = await service.request('GET', SECURITY, { secret: null })
  assert.equal(reply.status, 404)
  assert.deepEqual(reply.body, { message: 'There is nothing at this path.' })
  assert.equal(reply.headers.get('cache-control'), 'no-store')
})

it('returns 405 with Allow for every other method', async test => {
  const service = await startTestService(test, { securityContact: CONTACT })
  for (const path of [CONTRACT, KEYS, SECURITY]) {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const reply = await service.request(method, path, { secret: null })
      assert.equal(reply.status, 405)
      assert.equal(reply.headers.get('allow'), 'GET, HEAD')
    }
  }
})

function assertPublic(headers: Headers): void {
  for (const [name, value] of Object.entries({
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'ETag, Request-Id',
    'access-control-allow-credentials': null,
    'cross-origin-resource-policy': 'cross-origin',
    'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
  })) {
    assert.equal(headers.get(name), value, name)
  }
  assert.match(headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/)
}

async function get({ url }: TestService, path: string, options: RequestInit = {}) {
  const response = await fetch(url + path, options)
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}
