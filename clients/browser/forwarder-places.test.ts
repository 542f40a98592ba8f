import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { it } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  express,
  expressForwarder,
  listening,
  SECRET,
  startNext,
  startWorker,
} from './testing/forwarder-under-test.ts'
import { assertSigned, recordingEndpoint } from './testing/recording-endpoint.ts'

const BODY = '{"event_id":"order-1001","event_name":"Purchase"}'
const JSON_HEADERS = { 'content-type': 'application/json' }
const POST = { method: 'POST', headers: JSON_HEADERS, body: BODY }
const CLIENT_IP = 'x-signalbox-client-ip'

it('cloudflare-worker: on a route that is too wide, passes other paths on to the shop', async test => {
  const shop = await recordingEndpoint(test)
  shop.serve('/checkout', { body: 'Pay here', headers: {} })
  const worker = await startWorker(test, { baseUrl: 'http://127.0.0.1', shopUrl: shop.url })
  assert.equal(await (await worker.send('/checkout')).text(), 'Pay here')
  assert.equal((await worker.send('/sb/events/other', POST)).status, 202)
  const [request] = await shop.received(1)
  assert.equal(request?.url, '/sb/events/other')
  assert.equal(request?.headers['x-signalbox-forwarding-signature'], undefined)
})

it('next-route: sends no address without a configured header, and none of a list', async test => {
  const service = await recordingEndpoint(test)
  const named = await startNext(test, { baseUrl: service.url, clientIp: '203.0.113.7' })
  await named.send('/sb/events', POST)
  delete process.env.SIGNALBOX_CLIENT_IP_HEADER
  await named.send('/sb/events', POST)
  const list = await startNext(test, { baseUrl: service.url, clientIp: '1.1.1.1, 203.0.113.7' })
  await list.send('/sb/events', POST)
  const requests = await service.received(3)
  const addresses = requests.map(({ headers }) => headers[CLIENT_IP])
  assert.deepEqual(addresses, ['203.0.113.7', undefined, undefined])
  for (const request of requests) assertSigned(request, SECRET)
})

it('express: uses the address of the socket and ignores headers', async test => {
  const service = await recordingEndpoint(test)
  const app = express().set('trust proxy', true)
  app.use('/sb', await expressForwarder(test, { baseUrl: service.url }))
  const url = await listening(test, createServer(app))
  const headers = { ...JSON_HEADERS, 'x-forwarded-for': '198.51.100.1' }
  await fetch(`${url}/sb/events`, { ...POST, headers })
  const [request] = await service.received(1)
  assert.match(String(request?.headers[CLIENT_IP]), /^(::ffff:)?127\.0\.0\.1$/)
})

it('express: leaves other paths below its own to the shop', async test => {
  const app = express()
  app.use('/sb', await expressForwarder(test, { baseUrl: 'http://127.0.0.1' }))
  app.get('/sb/sale', (_request: unknown, response: { send(text: string): void }) =>
    response.send('Sale'),
  )
  const url = await listening(test, createServer(app))
  assert.equal(await (await fetch(`${url}/sb/sale`)).text(), 'Sale')
})

for (const parser of ['json', 'text', 'raw']) {
  it(`express: forwards and signs a body already parsed by express.${parser}()`, async test => {
    const service = await recordingEndpoint(test)
    const app = express()
    app.use(express[parser]({ type: '*/*' }))
    app.use('/sb', await expressForwarder(test, { baseUrl: service.url }))
    const url = await listening(test, createServer(app))
    const response = await fetch(`${url}/sb/events`, POST)
    assert.equal(response.status, 202)
    // These parsers decompress.
    const headers = { ...POST.headers, 'content-encoding': 'gzip' }
    const compressed = { ...POST, headers, body: new Uint8Array(gzipSync(BODY)) }
    assert.equal((await fetch(`${url}/sb/events/batch`, compressed)).status, 200)
    for (const request of await service.received(2)) {
      assert.equal(request.headers['content-encoding'], undefined)
      assert.equal(request.bytes.toString(), BODY)
      assertSigned(request, SECRET)
    }
  })
}

it('express: survives a browser that disconnects while sending', async test => {
  const service = await recordingEndpoint(test)
  const app = express()
  app.use('/sb', await expressForwarder(test, { baseUrl: service.url }))
  const url = await listening(test, createServer(app))
  const endless = new ReadableStream({ start: stream => stream.enqueue(Buffer.from('{')) })
  const gone = new AbortController()
  const sending = fetch(`${url}/sb/events`, {
    ...POST,
    body: endless,
    duplex: 'half',
    signal: gone.signal,
  })
  gone.abort()
  await assert.rejects(sending)
  assert.equal((await fetch(`${url}/sb/events`, POST)).status, 202)
  assert.equal(service.requests.length, 1)
})
