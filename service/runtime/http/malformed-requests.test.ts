import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { it } from 'node:test'
import { sendRawBytes } from '../../../testing/fixtures/raw-http.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const NOT_HTTP = 'Not a valid HTTP request.'
const POST = 'POST /api/v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const BODY = JSON.stringify(samplePurchase())
const SMUGGLED = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'

it('returns 400 in JSON with the common headers for bytes that are not HTTP', async test => {
  const service = await startTestService(test)
  for (const [name, bytes] of Object.entries({
    text: 'hello\r\n\r\n',
    tls: Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    http2: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'unknown method': 'BREW /livez HTTP/1.1\r\nHost: a\r\n\r\n',
    'unencoded path': Buffer.from('GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n', 'latin1'),
    'space before colon': 'GET /livez HTTP/1.1\r\nHost : a\r\n\r\n',
    'NUL in a header': 'GET /livez HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n',
    'NUL in the path': 'GET /live\0z HTTP/1.1\r\nHost: a\r\n\r\n',
    'folded header': 'GET /livez HTTP/1.1\r\nHost: a\r\nX: a\r\n b: c\r\n\r\n',
    'folded first header': 'GET /livez HTTP/1.1\r\n Host: a\r\n\r\n',
    'space in a name': 'GET /livez HTTP/1.1\r\nHost: a\r\nX Y: a\r\n\r\n',
    'empty name': 'GET /livez HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n',
    'lines that end in LF': 'GET /livez HTTP/1.1\nHost: a\n\n',
    'a line that ends in LF': 'GET /livez HTTP/1.1\r\nHost: a\nX: a\r\n\r\n',
    'CR in a header': 'GET /livez HTTP/1.1\r\nHost: a\rX: a\r\n\r\n',
    'tabs around the path': 'GET\t/livez\tHTTP/1.1\r\nHost: a\r\n\r\n',
    'method in lower case': 'get /livez HTTP/1.1\r\nHost: a\r\n\r\n',
    'unknown version': 'GET /livez HTTP/1.2\r\nHost: a\r\n\r\n',
    'authority for a path': 'GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n',
    tunnel: 'CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  })) {
    const { head, body, answers } = await sendRawBytes(service.url, bytes)
    assert.equal(answers, 1, name)
    assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/, name)
    assert.deepEqual(JSON.parse(body), { message: NOT_HTTP }, name)
    for (const line of [
      'content-type: application/json; charset=utf-8',
      'cache-control: no-store',
      'x-content-type-options: nosniff',
      'connection: close',
      `content-length: ${body.length}`,
    ]) {
      assert.ok(head.includes(`\r\n${line}\r\n`), `${name}: ${line}`)
    }
    assert.match(head, /\r\nrequest-id: req_[0-9a-f]{32}\r\n/)
  }
  assert.equal((await service.request('GET', '/livez')).status, 200)
})

it('returns one 400 for a body with two framings and reads no further', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const bytes = Buffer.byteLength(BODY)
  for (const [name, headers] of Object.entries({
    'both lengths': `Content-Length: ${bytes}\r\nTransfer-Encoding: chunked\r\n`,
    'both lengths, turned': `Transfer-Encoding: chunked\r\nContent-Length: ${bytes}\r\n`,
    'unlike lengths': `Content-Length: ${bytes}\r\nContent-Length: 5\r\n`,
    'equal lengths': `Content-Length: ${bytes}\r\nContent-Length: ${bytes}\r\n`,
    'a list of lengths': `Content-Length: ${bytes}, ${bytes}\r\n`,
    'a signed length': `Content-Length: +${bytes}\r\n`,
    'a hexadecimal length': 'Content-Length: 0x10\r\n',
    'chunked is not last': 'Transfer-Encoding: chunked, identity\r\n',
    'chunked twice': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
    'an unknown coding': 'Transfer-Encoding: xchunked\r\n',
    'a coding behind a control': 'Transfer-Encoding: \x0bchunked\r\n',
    'a length beyond all numbers': 'Content-Length: 99999999999999999999\r\n',
    'a length after a tab': `Transfer-Encoding:\tchunked\r\nContent-Length:\t${bytes}\r\n`,
  })) {
    const text = `${POST}${secret}${headers}\r\n${BODY}${SMUGGLED}`
    const { head, body, answers } = await sendRawBytes(service.url, text)
    assert.equal(answers, 1, name)
    assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/, name)
    assert.deepEqual(JSON.parse(body), { message: NOT_HTTP }, name)
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('returns 400 for a malformed chunk and logs no error', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const chunked = `${POST}${secret}Transfer-Encoding: chunked\r\n\r\n`
  const sizes = ['zz\r\n', '-1\r\n', '0x5\r\n', ' 5\r\n', 'ffffffffffffffffff\r\n', '5\n', '5;a\n']
  for (const chunk of [...sizes, '5\r\nabc', '0\r\nContent-Length: 5\r\n\r\n']) {
    const { head, body } = await sendRawBytes(service.url, `${chunked}${chunk}xx\r\n0\r\n\r\n`)
    assert.match(head, /^HTTP\/1\.1 400 /, chunk)
    assert.deepEqual(Object.keys(JSON.parse(body)), ['message'])
  }
  assert.doesNotMatch(service.logged(), /"level":"error"/)
})

it('answers a complete request before the malformed bytes behind it', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const whole = `${POST}${secret}Content-Length: ${BODY.length}\r\n\r\n${BODY}`
  const { head, text, answers } = await sendRawBytes(service.url, `${whole}garbage\r\n\r\n`)
  assert.equal(answers, 2)
  assert.match(head, /^HTTP\/1\.1 202 Accepted\r\n/)
  const accepted = '{"event_id":"order-1001","duplicate":false,"warnings":[],"notices":[]}'
  assert.ok(text.includes(`${accepted}HTTP/1.1 400 `))
  assert.ok(text.endsWith(`{"message":"${NOT_HTTP}"}`))
})

it('returns 431 for headers or a path of more than 16 KiB', async test => {
  const service = await startTestService(test)
  const large = 'x'.repeat(20_000)
  for (const request of [
    `GET /livez HTTP/1.1\r\nHost: a\r\nX: ${large}\r\n\r\n`,
    `GET /livez HTTP/1.1\r\nHost: a\r\n${large}: x\r\n\r\n`,
    `GET /${large} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /livez HTTP/1.1\r\nHost: a\r\n${'x: y\r\n'.repeat(5_000)}\r\n`,
  ]) {
    const { head, body } = await sendRawBytes(service.url, request)
    assert.match(head, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
    assert.deepEqual(JSON.parse(body), { message: 'The request headers are too large.' })
  }
})

it('ignores unknown expectations and upgrades', async test => {
  const service = await startTestService(test)
  for (const header of [
    'Expect: banana',
    'Connection: Upgrade\r\nUpgrade: websocket',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  ]) {
    const request = `GET /livez HTTP/1.1\r\nHost: a\r\n${header}\r\nConnection: close\r\n\r\n`
    const { head, body } = await sendRawBytes(service.url, request)
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/, header)
    assert.equal(body, '{"status":"ok"}')
  }
})

it('returns 401 before any error about the body', async test => {
  const service = await startTestService(test)
  for (const rest of [
    'Content-Length: 1\r\n\r\n{',
    'Content-Length: 70000\r\n\r\n',
    'Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\n{',
    'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n',
  ]) {
    for (const type of ['application/json', 'text/plain', 'garbage']) {
      const request = `${POST.replace('application/json', type)}Connection: close\r\n${rest}`
      const { head, body } = await sendRawBytes(service.url, request)
      assert.match(head, /^HTTP\/1\.1 401 Unauthorized\r\n/, rest)
      assert.equal(body, '{"message":"Unauthenticated."}')
    }
  }
})

it('returns 400 to a caller that half-closes in the middle of a request', async test => {
  const service = await startTestService(test)
  const head = `${POST}Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  for (const part of [
    'POST /api',
    'GET /livez HTTP/1.1\r\nHost: a\r\n',
    `${head}Content-Length: 50\r\n\r\n{"a"`,
    `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nabc`,
  ]) {
    const answer = await sendRawBytes(service.url, part, { thenEnd: true })
    assert.match(answer.head, /^HTTP\/1\.1 400 Bad Request\r\n/, part)
    assert.deepEqual(JSON.parse(answer.body), { message: NOT_HTTP })
  }
  assert.doesNotMatch(service.logged(), /"level":"(error|warn)"/)
})

it('survives disconnects in the middle of a request and logs no error', async test => {
  const service = await startTestService(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const head = `${POST}${secret}Content-Length: ${BODY.length}\r\n\r\n`
  for (const part of ['POST /api', head, `${head}${BODY.slice(0, 30)}`]) await hangUp(service, part)
  const reply = await service.submit(samplePurchase())
  assert.equal(reply.status, 202)
  assert.doesNotMatch(service.logged(), /"level":"(error|warn)"/)
})

/** Sends bytes and resets the connection once the service must have received them. */
function hangUp({ url }: TestService, bytes: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      socket.write(bytes, () => setImmediate(() => socket.resetAndDestroy()))
    })
    socket.on('error', reject)
    socket.on('close', () => resolve())
  })
}
