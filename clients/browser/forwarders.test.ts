import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import {
  SECRET,
  type StartForwarder,
  startExpress,
  startNext,
  startWorker,
} from './testing/forwarder-under-test.ts'
import { nginxMissing, startNginx } from './testing/nginx-under-test.ts'
import { assertSigned, recordingEndpoint } from './testing/recording-endpoint.ts'

const KEY = 'sbx_pk_example-of-the-documents'
const BODY = '{"event_id":"order-1001", "event_name":"Purchase", "user_data":{"fn":"Zoë"}}'
const AGENT = 'Mozilla/5.0 (X11; Linux x86_64) Example/1.0'
const POST = {
  method: 'POST',
  headers: {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'user-agent': AGENT,
    origin: 'https://shop.example',
  },
  body: BODY,
}

interface Kind {
  start: StartForwarder
  /** nginx cannot sign: it is trusted by its address, and passes both on under their own names. */
  isSigning: boolean
  skip: string | false
}

const KINDS: Record<string, Kind> = {
  'cloudflare-worker': { start: startWorker, isSigning: true, skip: false },
  'next-route': { start: startNext, isSigning: true, skip: false },
  express: { start: startExpress, isSigning: true, skip: false },
  nginx: { start: startNginx, isSigning: false, skip: nginxMissing },
}

for (const [name, { start, isSigning, skip }] of Object.entries(KINDS)) {
  describe(name, { skip }, () => {
    it("202 forwards the body byte for byte, the key, and the browser's address and user agent", async test => {
      const service = await recordingEndpoint(test)
      const clientIp = isSigning ? '203.0.113.7' : '127.0.0.1'
      const forwarder = await start(test, { baseUrl: `${service.url}/api/v1`, clientIp })
      assert.equal((await forwarder.send('/sb/events', POST)).status, 202)
      const [request] = await service.received(1)
      const { headers, bytes, url } = request ?? assert.fail()
      assert.equal(url, '/api/v1/events')
      assert.equal(bytes.toString(), BODY)
      assert.equal(headers.authorization, `Bearer ${KEY}`)
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers.origin, 'https://shop.example')
      const address = isSigning ? 'x-signalbox-client-ip' : 'x-forwarded-for'
      const agent = isSigning ? 'x-signalbox-client-user-agent' : 'user-agent'
      assert.equal(headers[address], clientIp)
      assert.equal(headers[agent], AGENT)
      if (isSigning) assertSigned(request ?? assert.fail(), SECRET)
    })

    it('202 forwards a beacon with its key from the URL, and nothing else of the URL', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      const headers = { 'content-type': 'text/plain;charset=UTF-8' }
      const beacon = { method: 'POST', headers, body: BODY }
      await forwarder.send(`/sb/events?session=private&key=${KEY}&x=1`, beacon)
      await forwarder.send('/sb/events?key=sbx_sk_secret', beacon)
      const [request, other] = await service.received(2)
      assert.equal(request?.url, `/events?key=${KEY}`)
      assert.equal(request?.headers['content-type'], 'text/plain;charset=UTF-8')
      assert.equal(request?.bytes.toString(), BODY)
      assert.equal(other?.url, '/events')
    })

    it('forwards a batch byte for byte, signed as it was sent', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: `${service.url}/api/v1` })
      const events = Array.from({ length: 20 }, (_, at) => BODY.replace('1001', `10${at}`))
      const body = `{"events": [${events.join(', ')}]}`
      assert.equal((await forwarder.send('/sb/events/batch', { ...POST, body })).status, 200)
      assert.equal((await forwarder.send(`/sb/events/batch?key=${KEY}`, POST)).status, 200)
      const [request, beacon] = await service.received(2)
      assert.equal(request?.url, '/api/v1/events/batch')
      assert.equal(request?.bytes.toString(), body)
      assert.equal(beacon?.url, `/api/v1/events/batch?key=${KEY}`)
      if (isSigning) assertSigned(request ?? assert.fail(), SECRET)
    })

    it('forwards a compressed batch as it was compressed', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: `${service.url}/api/v1` })
      const body = gzipSync(`{"events": [${BODY}]}`)
      const headers = { ...POST.headers, 'content-encoding': 'gzip' }
      const compressed = { ...POST, headers, body: new Uint8Array(body) }
      assert.equal((await forwarder.send('/sb/events/batch', compressed)).status, 200)
      const [request] = await service.received(1)
      assert.equal(request?.headers['content-encoding'], 'gzip')
      assert.deepEqual(request?.bytes, body)
      if (isSigning) assertSigned(request ?? assert.fail(), SECRET)
    })

    it('202 drops cookies, other credentials and forged headers', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      const forged = {
        authorization: 'Basic c2hvcDpwcml2YXRl',
        cookie: 'session=private',
        referer: 'https://shop.example/account',
        te: 'trailers',
        'x-forwarded-for': '198.51.100.1',
        'x-forwarded-host': 'evil.example',
        'x-real-ip': '198.51.100.1',
        'x-signalbox-client-ip': '198.51.100.1',
        'x-signalbox-client-user-agent': 'forged',
        'x-signalbox-forwarding-signature': 'forged',
      }
      await forwarder.send('/sb/events', { ...POST, headers: forged })
      const [request] = await service.received(1)
      const { authorization, cookie, referer, te, ...headers } = request?.headers ?? {}
      const gone = [authorization, cookie, referer, te, headers['x-forwarded-host']]
      assert.deepEqual(gone, [undefined, undefined, undefined, undefined, undefined])
      assert.doesNotMatch(JSON.stringify(headers), /198\.51\.100\.1|forged|evil/)
    })

    it('202 passes Global Privacy Control on, signed where the kind signs, and nothing else of it', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      for (const value of ['1', '0']) {
        const headers = { ...POST.headers, 'sec-gpc': value }
        assert.equal((await forwarder.send('/sb/events', { ...POST, headers })).status, 202)
      }
      assert.equal((await forwarder.send('/sb/events', POST)).status, 202)
      const requests = await service.received(3)
      const sent = requests.map(({ headers }) => headers['sec-gpc'])
      assert.deepEqual(sent, isSigning ? ['1', undefined, undefined] : ['1', '0', undefined])
      if (isSigning) for (const request of requests) assertSigned(request, SECRET)
    })

    it("returns the service's response with its headers and without its cookies", async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      const body = '{"message":"Wait.","errors":{}}'
      const answer = {
        location: `${service.url}/events/order-1001`,
        'request-id': 'req_1',
        'idempotency-key': 'order-1001',
        'retry-after': '7',
      }
      service.answerNext({ status: 429, headers: { ...answer, 'set-cookie': 'a=b' }, body })
      const response = await forwarder.send('/sb/events', POST)
      assert.equal(response.status, 429)
      assert.equal(await response.text(), body)
      for (const [header, value] of Object.entries(answer)) {
        assert.equal(response.headers.get(header), value, header)
      }
      assert.equal(response.headers.get('content-type'), 'application/json')
      assert.equal(response.headers.get('set-cookie'), null)
    })

    it('413 for more than 64 KiB, with or without a content-length, and accepts 64 KiB', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      const full = ' '.repeat(65_536)
      assert.equal((await forwarder.send('/sb/events', { ...POST, body: full })).status, 202)
      const declared = await forwarder.send('/sb/events', { ...POST, body: `${full} ` })
      assert.deepEqual(await declared.json(), { message: 'Send at most 65536 bytes.' })
      assert.equal(declared.status, 413)
      const streamed = { ...POST, body: new Blob([full, ' ']).stream(), duplex: 'half' as const }
      assert.equal((await forwarder.send('/sb/events', streamed)).status, 413)
      assert.equal(service.requests.length, 1)
    })

    it('405 for anything but POST, and 204 for OPTIONS', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      for (const method of ['GET', 'PUT', 'DELETE']) {
        assert.equal((await forwarder.send('/sb/events', { method })).status, 405, method)
      }
      const options = await forwarder.send('/sb/events', { method: 'OPTIONS' })
      assert.equal(options.status, 204)
      assert.equal(options.headers.get('allow'), 'POST, OPTIONS')
      assert.equal(service.requests.length, 0)
    })

    it('502 when the service is unreachable or times out', async test => {
      const message = 'Signalbox cannot be reached: send the event again under the same event_id.'
      const nowhere = await start(test, { baseUrl: `http://127.0.0.1:${await findFreePort()}` })
      const refused = await nowhere.send('/sb/events', POST)
      assert.equal(refused.status, 502)
      assert.deepEqual(await refused.json(), { message })
      assert.equal(refused.headers.get('content-type'), 'application/json')

      const service = await recordingEndpoint(test)
      const hurried = await start(test, { baseUrl: service.url, timeoutMilliseconds: 100 })
      service.answerNext({ status: 202, isSilent: true })
      const late = await hurried.send('/sb/events', POST)
      assert.equal(late.status, 502)
      assert.deepEqual(await late.json(), { message })
    })

    it('200 serves the tag without identifying the browser, when configured', async test => {
      const service = await recordingEndpoint(test)
      const javascript = { 'content-type': 'text/javascript; charset=utf-8' }
      service.serve('/tag.js', { body: 'window.tag = 1', headers: javascript })
      const forwarder = await start(test, { baseUrl: `${service.url}/api/v1`, tagPath: '/tag.js' })
      const response = await forwarder.send('/sb/tag.js', {
        headers: { cookie: 'session=private' },
      })
      assert.equal(response.status, 200)
      assert.equal(await response.text(), 'window.tag = 1')
      assert.equal(response.headers.get('cache-control'), 'public, max-age=3600')
      assert.equal(response.headers.get('content-type'), 'text/javascript; charset=utf-8')
    })
  })
}

for (const [name, { start, isSigning }] of Object.entries(KINDS)) {
  if (!isSigning) continue
  describe(name, () => {
    it('sanitizes and truncates the user agent before signing and sending it', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      const agents = ['  Agent\t/1 é ', 'A'.repeat(2_000), `${'A'.repeat(1_023)} B`]
      for (const agent of agents) {
        await forwarder.send('/sb/events', { ...POST, headers: { 'user-agent': agent } })
      }
      const requests = await service.received(3)
      const sent = requests.map(({ headers }) => headers['x-signalbox-client-user-agent'])
      assert.deepEqual(sent, ['Agent/1', 'A'.repeat(1_024), 'A'.repeat(1_023)])
      for (const request of requests) assertSigned(request, SECRET)
    })

    it('502 instead of following a redirect with the event', async test => {
      const service = await recordingEndpoint(test)
      const forwarder = await start(test, { baseUrl: service.url })
      service.answerNext({ status: 307, headers: { location: `${service.url}/elsewhere` } })
      assert.equal((await forwarder.send('/sb/events', POST)).status, 502)
      assert.equal(service.requests.length, 1)
    })

    it('500 names the missing secret, and nothing is signed with a blank one', async test => {
      for (const secret of [undefined, '', ' ']) {
        const forwarder = await start(test, { baseUrl: 'http://127.0.0.1', secret })
        const response = await forwarder.send('/sb/events', POST)
        assert.equal(response.status, 500)
        const message = 'Set SIGNALBOX_FORWARDING_SECRET where the forwarder runs.'
        assert.deepEqual(await response.json(), { message })
      }
    })
  })
}
