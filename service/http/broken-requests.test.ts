import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { it } from 'node:test'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../../testing/service-under-test.ts'

const NOT_HTTP = 'Not a valid HTTP request.'
const POST = 'POST /api/v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const BODY = JSON.stringify(samplePurchase())
const SMUGGLED = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'

it('400 answers what is no HTTP in JSON, with the headers of every answer, and hangs up', async test => {
  const service = await serviceUnderTest(test)
  for (const [name, bytes] of Object.entries({
    text: 'hello\r\n\r\n',
    tls: Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    http2: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'unknown method': 'BREW /livez HTTP/1.1\r\nHost: a\r\n\r\n',
    'unencoded path': Buffer.from('GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n', 'latin1'),
    'space before colon': 'GET /livez HTTP/1.1\r\nHost : a\r\n\r\n',
    'NUL in a header': 'GET /livez HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n',
    'folded header': 'GET /livez HTTP/1.1\r\nHost: a\r\nX: a\r\n b: c\r\n\0\r\n\r\n',
    tunnel: 'CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  })) {
    const { head, body, answers } = await exchange(service, bytes)
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

it('400 answers two ways to say where the body ends with one refusal, and reads no more', async test => {
  const service = await serviceUnderTest(test)
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
  })) {
    const text = `${POST}${secret}${headers}\r\n${BODY}${SMUGGLED}`
    const { head, body, answers } = await exchange(service, text)
    assert.equal(answers, 1, name)
    assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/, name)
    assert.deepEqual(JSON.parse(body), { message: NOT_HTTP }, name)
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('400 answers a broken chunk, and takes it for no fault of its own', async test => {
  const service = await serviceUnderTest(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const chunked = `${POST}${secret}Transfer-Encoding: chunked\r\n\r\n`
  for (const chunk of ['zz\r\n', '-1\r\n', 'ffffffffffffffffff\r\n', '5\r\nabc']) {
    const { head, body } = await exchange(service, `${chunked}${chunk}xx\r\n0\r\n\r\n`)
    assert.match(head, /^HTTP\/1\.1 400 /, chunk)
    assert.deepEqual(Object.keys(JSON.parse(body)), ['message'])
  }
  assert.doesNotMatch(service.logged(), /"level":"error"/)
})

it('202 goes to a whole request before 400 goes to the garbage behind it', async test => {
  const service = await serviceUnderTest(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const whole = `${POST}${secret}Content-Length: ${BODY.length}\r\n\r\n${BODY}`
  const { head, text, answers } = await exchange(service, `${whole}garbage\r\n\r\n`)
  assert.equal(answers, 2)
  assert.match(head, /^HTTP\/1\.1 202 Accepted\r\n/)
  assert.ok(text.includes('{"event_id":"order-1001","duplicate":false,"warnings":[]}HTTP/1.1 400 '))
  assert.ok(text.endsWith(`{"message":"${NOT_HTTP}"}`))
})

it('431 answers headers, a path or a name of more than 16 KiB', async test => {
  const service = await serviceUnderTest(test)
  const large = 'x'.repeat(20_000)
  for (const request of [
    `GET /livez HTTP/1.1\r\nHost: a\r\nX: ${large}\r\n\r\n`,
    `GET /livez HTTP/1.1\r\nHost: a\r\n${large}: x\r\n\r\n`,
    `GET /${large} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /livez HTTP/1.1\r\nHost: a\r\n${'x: y\r\n'.repeat(5_000)}\r\n`,
  ]) {
    const { head, body } = await exchange(service, request)
    assert.match(head, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
    assert.deepEqual(JSON.parse(body), { message: 'The request headers are too large.' })
  }
})

it('400 asks HTTP/1.1 for a Host, and 200 asks nothing of HTTP/1.0', async test => {
  const service = await serviceUnderTest(test)
  const { head, body } = await exchange(service, 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/)
  assert.match(head, /\r\nrequest-id: req_[0-9a-f]{32}\r\n/)
  assert.deepEqual(JSON.parse(body), { message: 'An HTTP/1.1 request must name a Host.' })
  const old = await exchange(service, 'GET /livez HTTP/1.0\r\n\r\n')
  assert.match(old.head, /^HTTP\/1\.1 200 OK\r\n/)
})

it('200 ignores expectations and upgrades that it does not know', async test => {
  const service = await serviceUnderTest(test)
  for (const header of ['Expect: banana', 'Connection: Upgrade\r\nUpgrade: websocket']) {
    const request = `GET /livez HTTP/1.1\r\nHost: a\r\n${header}\r\nConnection: close\r\n\r\n`
    const { head, body } = await exchange(service, request)
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/, header)
    assert.equal(body, '{"status":"ok"}')
  }
})

it('401 comes before a word about the body, its type, its length or its coding', async test => {
  const service = await serviceUnderTest(test)
  for (const rest of [
    'Content-Length: 1\r\n\r\n{',
    'Content-Length: 70000\r\n\r\n',
    'Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\n{',
    'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n',
  ]) {
    for (const type of ['application/json', 'text/plain', 'garbage']) {
      const request = `${POST.replace('application/json', type)}Connection: close\r\n${rest}`
      const { head, body } = await exchange(service, request)
      assert.match(head, /^HTTP\/1\.1 401 Unauthorized\r\n/, rest)
      assert.equal(body, '{"message":"Unauthenticated."}')
    }
  }
})

it('survives callers who hang up in the middle, and takes it for no fault of its own', async test => {
  const service = await serviceUnderTest(test)
  const secret = `Authorization: Bearer ${service.tracker.trackerSecret}\r\n`
  const head = `${POST}${secret}Content-Length: ${BODY.length}\r\n\r\n`
  for (const part of ['POST /api', head, `${head}${BODY.slice(0, 30)}`]) await hangUp(service, part)
  const reply = await service.submit(samplePurchase())
  assert.equal(reply.status, 202)
  assert.doesNotMatch(service.logged(), /"level":"(error|warn)"/)
})

interface Exchange {
  text: string
  head: string
  body: string
  /** How many status lines came back. */
  answers: number
}

/** Sends bytes and reads until the service closes the connection. */
function exchange({ url }: ServiceUnderTest, bytes: string | Buffer): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
    })
    // The service may close before it has read all that was sent; what it said has come by then.
    socket.on('error', error => (text === '' ? reject(error) : undefined))
    socket.on('close', () => {
      const [head = '', body = ''] = text.split(/(?<=\r\n)\r\n/, 2)
      resolve({ text, head, body, answers: text.split('HTTP/1.1 ').length - 1 })
    })
  })
}

/** Sends bytes, and breaks the connection once the service must have them. */
function hangUp({ url }: ServiceUnderTest, bytes: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      socket.write(bytes, () => setImmediate(() => socket.resetAndDestroy()))
    })
    socket.on('error', reject)
    socket.on('close', () => resolve())
  })
}
