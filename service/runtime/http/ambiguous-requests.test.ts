import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { it } from 'node:test'
import { sendRawBytes } from '../../../testing/fixtures/raw-http.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const BODY = JSON.stringify(samplePurchase())
const CLOSE = 'Connection: close\r\n'
const GET = `GET /livez HTTP/1.1\r\nHost: a\r\n${CLOSE}`
const POST = `POST /api/v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${CLOSE}`
const LENGTH = `Content-Length: ${BODY.length}\r\n`

it('returns 400 and closes the connection for a head that two programs could read differently', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const whole = POST.replace(CLOSE, '') + secret
  const repeated = (name: string) => `The ${name} header must appear only once.`
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  for (const [request, message] of [
    ['GET /livez\r\n\r\n', 'Use HTTP/1.1.'],
    ['GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', 'Use HTTP/1.1.'],
    [`${whole.replace('1.1', '1.0')}${chunked}`, 'HTTP/1.0 has no Transfer-Encoding.'],
    [
      `${whole}${chunked.replace('chunked', 'gzip, chunked')}`,
      'Transfer-Encoding must be chunked.',
    ],
    ['GET /livez HTTP/1.1\r\n\r\n', 'An HTTP/1.1 request must name a Host.'],
    ['GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n', 'The Host header is invalid.'],
    ['GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n', 'The Host header is invalid.'],
    ['GET /livez HTTP/1.1\r\nHost: u@a\r\n\r\n', 'The Host header is invalid.'],
    ['GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', repeated('host')],
    ['GET /livez HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n', repeated('host')],
    [`${whole}Authorization: Bearer x\r\n${LENGTH}\r\n${BODY}`, repeated('authorization')],
    [`${whole}Content-Type: text/plain\r\n${LENGTH}\r\n${BODY}`, repeated('content-type')],
    [`${whole}Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n`, repeated('idempotency-key')],
    [`${whole}Content-Encoding: gzip\r\nContent-Encoding: x\r\n\r\n`, repeated('content-encoding')],
    [`${whole}Origin: https://a\r\nOrigin: https://b\r\n\r\n`, repeated('origin')],
  ] as const) {
    const { head, body, answers } = await sendRawBytes(service.url, request)
    assert.equal(answers, 1, request)
    assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/, request)
    assert.deepEqual(JSON.parse(body), { message }, request)
    assert.match(head, /\r\nconnection: close\r\n/)
    assert.match(head, /\r\nrequest-id: req_[0-9a-f]{32}\r\n/)
    assert.match(head, /\r\nx-should-retry: false\r\n/)
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('accepts every notation of a host and headers that may repeat', async test => {
  const service = await startTestService(test)
  const hosts = ['a', 'A.example:3000', '127.0.0.1', '[::1]:80', '', 'xn--bcher-kva.example']
  for (const host of hosts) {
    const request = GET.replace('Host: a', `Host: ${host}`)
    const { head } = await sendRawBytes(
      service.url,
      `${request}Via: a\r\nVia: b\r\nX: 1\r\nX: 2\r\n\r\n`,
    )
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/, host)
  }
  const old = await sendRawBytes(service.url, 'GET /livez HTTP/1.0\r\n\r\n')
  assert.match(old.head, /^HTTP\/1\.1 200 OK\r\n/)
})

it('routes an absolute-form target by its path', async test => {
  const service = await startTestService(test)
  const send = (line: string) =>
    sendRawBytes(service.url, `${line} HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`)
  assert.match((await send('GET http://evil.example/livez')).head, /^HTTP\/1\.1 200 /)
  const wrong = await send('DELETE http://evil.example/livez?a=b')
  assert.match(wrong.head, /^HTTP\/1\.1 405 /)
  assert.match(wrong.head, /\r\nallow: GET, HEAD\r\n/)
  const targets = [
    'http://evil.example',
    'ftp://evil.example/livez',
    '*',
    '/api/../livez',
    '/livez;a',
  ]
  for (const target of targets) {
    const { head, body } = await send(`GET ${target}`)
    assert.match(head, /^HTTP\/1\.1 404 /, target)
    assert.deepEqual(JSON.parse(body), { message: 'There is nothing at this path.' })
  }
  const { head, body } = await send('GET http://evil.example:99999/livez')
  assert.match(head, /^HTTP\/1\.1 400 /)
  assert.deepEqual(JSON.parse(body), { message: 'The request target is not a valid URL.' })
})

it('returns 405 for every other HTTP method and 400 for CONNECT', async test => {
  const service = await startTestService(test)
  const others = METHODS.filter(method => !['GET', 'HEAD', 'CONNECT'].includes(method))
  assert.ok(others.includes('TRACE') && others.length > 25)
  for (const method of others) {
    const { head, body } = await sendRawBytes(service.url, `${GET.replace('GET', method)}\r\n`)
    assert.match(head, /^HTTP\/1\.1 405 Method Not Allowed\r\n/, method)
    assert.deepEqual(JSON.parse(body), { message: `${method} is not allowed here; use GET, HEAD.` })
    assert.match(head, /\r\nallow: GET, HEAD\r\n/)
  }
  const tunnel = await sendRawBytes(service.url, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.match(tunnel.head, /^HTTP\/1\.1 400 /)
})

it('accepts chunk extensions and limits them with 413 and trailers with 431', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const chunked = (extension: string, trailer = '') =>
    `${POST}${secret}Transfer-Encoding: chunked\r\n\r\n` +
    `${BODY.length.toString(16)}${extension}\r\n${BODY}\r\n0\r\n${trailer}\r\n`
  const large = 'x'.repeat(20_000)
  for (const [request, line, message] of [
    [chunked(`;a=${large}`), 413, 'The chunk extensions are too large.'],
    [chunked('', `X: ${large}\r\n`), 431, 'The request headers are too large.'],
  ] as const) {
    const { head, body } = await sendRawBytes(service.url, request)
    assert.ok(head.startsWith(`HTTP/1.1 ${line} `), head)
    assert.deepEqual(JSON.parse(body), { message })
  }
  const taken = await sendRawBytes(
    service.url,
    chunked(';a=b;c="d"', 'Authorization: Bearer x\r\n'),
  )
  assert.match(taken.head, /^HTTP\/1\.1 202 /)
})

it('honors Expect: 100-continue', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const asking = `Expect: 100-continue\r\n${LENGTH}\r\n${BODY}`
  for (const [credential, status] of [
    [secret, 202],
    ['', 401],
  ] as const) {
    const { text } = await sendRawBytes(service.url, `${POST}${credential}${asking}`)
    const [first = '', second = ''] = text.split(/(?<=\r\n\r\n)/, 2)
    assert.match(first, /^HTTP\/1\.1 100 Continue\r\n/)
    assert.ok(second.startsWith(`HTTP/1.1 ${status} `), second)
    assert.match(second, /\r\nrequest-id: req_[0-9a-f]{32}\r\n/)
  }
})
