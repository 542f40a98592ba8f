import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { sendRawBytes } from '../../../testing/fixtures/raw-http.ts'
import { respondToMalformedRequest } from './error-responses.ts'
import { createLogger } from './logger.ts'
import { createServiceApp } from './service-app.ts'

it('names the error that Node reports', async test => {
  for (const [code, status, message] of [
    ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large', /headers are too large/],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Content Too Large', /chunk extensions/],
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', /did not arrive in time/],
    ['HPE_INVALID_METHOD', '400 Bad Request', /^Not a valid HTTP request\.$/],
    ['', '400 Bad Request', /^Not a valid HTTP request\.$/],
  ] as const) {
    const answer = await answerOf(test, socket => {
      respondToMalformedRequest(Object.assign(new Error('with the bytes in it'), { code }), socket)
    })
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    assert.ok(head.startsWith(`HTTP/1.1 ${status}\r\n`), head)
    assert.ok(head.includes(`\r\ncontent-length: ${body.length}\r\n`))
    assert.match((JSON.parse(body) as { message: string }).message, message)
    assert.equal(head.includes('\r\nx-should-retry: false\r\n'), !status.startsWith('408'))
    assert.ok(!answer.includes('with the bytes in it'))
  }
})

it('writes nothing to a closed connection or after a complete response', async test => {
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  const ofReset = await answerOf(test, socket => {
    respondToMalformedRequest(reset, socket)
    socket.end()
  })
  assert.equal(ofReset, '')
  const said = await answerOf(test, socket => {
    socket.end('said')
    respondToMalformedRequest(new Error('more bytes'), socket)
  })
  assert.equal(said, 'said')
})

it('returns 408 and closes the connection when headers or body are late', async test => {
  const limits = { headersTimeout: 20, requestTimeout: 40, connectionsCheckingInterval: 10 }
  const server = createHttpServer(limits, () => {})
  server.on('clientError', respondToMalformedRequest)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const head = 'POST / HTTP/1.1\r\nHost: a\r\n'
  for (const part of [head, `${head}Content-Length: 5\r\n\r\nab`]) {
    const { head: answer, body } = await sendRawBytes(url, part)
    assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)
    assert.match(answer, /\r\nrequest-id: req_[0-9a-f]{32}\r\n/)
    assert.match(answer, /\r\nconnection: close\r\n/)
    assert.deepEqual(JSON.parse(body), { message: 'The request did not arrive in time.' })
  }
})

it('waits for a whole request as long as documented: Node swaps a longer time for the head', () => {
  const { server } = createServiceApp(createLogger('silent'))
  assert.deepEqual([server.headersTimeout, server.requestTimeout], [30_000, 30_000])
})

/** Returns what a client reads while `act` uses the server side of its connection. */
async function answerOf(test: TestContext, act: (socket: Socket) => void): Promise<string> {
  const server = createServer(act)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => server.close())
  const caller = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  caller.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  await once(caller, 'close')
  return text
}
