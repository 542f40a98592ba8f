import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import type { Connection, Platform } from '../platform.ts'
import { metaPlatform } from './client.ts'
import type { MetaTarget } from './payload.ts'

const TOKEN = 'EAABsbCS1iHgBO7ZC|secret'
const CONNECTION: Connection<MetaTarget> = {
  target: { datasetId: '1234' },
  accessToken: TOKEN,
  testCode: null,
}

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  body: string
}

interface Wire {
  platform: Platform
  seen: Seen[]
}

/** A server that records requests and sends the given response. */
async function wire(test: TestContext, respond: (response: ServerResponse) => void): Promise<Wire> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    let body = ''
    request.setEncoding('utf8').on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      seen.push({ method, url, headers, body })
      respond(response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const baseUrl = `http://127.0.0.1:${port}`
  const platform = metaPlatform({
    baseUrl,
    version: 'v26.0',
    timeoutMilliseconds: 30_000,
    now: () => new Date(),
  })
  return { platform, seen }
}

it('posts JSON with the token in a header, not in the URL', async test => {
  const { platform, seen } = await wire(test, response => {
    response.end('{"events_received":1,"messages":[],"fbtrace_id":"A1"}')
  })
  const answer = await platform.send(CONNECTION, [sampleOutboundEvent()])
  assert.equal(answer.outcome, 'accepted')
  const [request] = seen
  assert.equal(request?.method, 'POST')
  assert.equal(request?.url, '/v26.0/1234/events')
  assert.equal(request?.headers.authorization, `Bearer ${TOKEN}`)
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.equal(request?.body.includes('secret'), false)
  assert.equal(JSON.stringify(answer).includes('secret'), false)
})

it('removes the token from the stored response when the platform repeats it', async test => {
  const error = {
    message: `Malformed access token ${TOKEN}`,
    type: 'OAuthException',
    code: 190,
    error_user_msg: `The token ${TOKEN} is no token.`,
    error_data: { blamed: [TOKEN] },
    fbtrace_id: 'A2',
  }
  const { platform } = await wire(test, response => {
    response.writeHead(400).end(JSON.stringify({ error }))
  })
  const answer = await platform.send(CONNECTION, [sampleOutboundEvent()])
  assert.equal(answer.outcome, 'auth')
  assert.equal(answer.error?.message, 'Malformed access token [redacted]')
  assert.equal(JSON.stringify(answer).includes('secret'), false)
})

it('stops reading an endless response', async test => {
  const chunk = Buffer.alloc(16_384, 'x')
  const closed = Promise.withResolvers<void>()
  const { platform } = await wire(test, response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', pour)
    response.on('close', () => closed.resolve())
    pour()
  })
  const answer = await platform.send(CONNECTION, [sampleOutboundEvent()])
  assert.equal(answer.outcome, 'unknown')
  assert.equal(answer.error?.message, 'The platform answered HTTP 200 without a readable body.')
  await closed.promise
})

it('treats a valid response that is far too large as no response', async test => {
  const { platform } = await wire(test, response => {
    const messages = ['x'.repeat(200_000)]
    response.end(JSON.stringify({ events_received: 1, messages, fbtrace_id: 'A3' }))
  })
  const answer = await platform.send(CONNECTION, [sampleOutboundEvent()])
  assert.equal(answer.outcome, 'unknown')
  assert.ok(JSON.stringify(answer).length < 1_000)
})

it('sends a thousand events in one request', async test => {
  const { platform, seen } = await wire(test, response => {
    response.end('{"events_received":1000,"messages":[],"fbtrace_id":"A4"}')
  })
  const events = Array.from({ length: platform.batchMax }, (_, index) =>
    sampleOutboundEvent({ eventId: `event-${index}` }),
  )
  assert.equal((await platform.send(CONNECTION, events)).outcome, 'accepted')
  assert.equal(seen.length, 1)
  assert.equal(JSON.parse(seen[0]?.body ?? '').data.length, 1_000)
})

it('rejects a dataset ID that would change the path', async test => {
  const { platform, seen } = await wire(test, response => {
    response.end('{"events_received":1}')
  })
  await platform.send({ ...CONNECTION, target: { datasetId: '../me?x=1#' } }, [
    sampleOutboundEvent(),
  ])
  assert.equal(seen[0]?.url, '/v26.0/..%2Fme%3Fx%3D1%23/events')
})
