import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { it, type TestContext } from 'node:test'
import { express, expressForwarder, listening, SECRET } from './testing/forwarder-under-test.ts'
import { nginxMissing, startShop } from './testing/nginx-under-test.ts'
import {
  assertSigned,
  type RecordingEndpoint,
  recordingEndpoint,
} from './testing/recording-endpoint.ts'
import { CONSENT, KEY, shopUnderTest } from './testing/shop-under-test.ts'

const SCRIPT = `document.cookie = 'session=private'; ${CONSENT} window.results = [];
  signalbox('event', 'Purchase', { event_id: 'order-1' }, result => results.push(result));
  addEventListener('pagehide', () => signalbox('event', 'Leave', { event_id: 'leave-1' }));`

it('through Express, the service gets the event with the signed browser data', async test => {
  const service = await recordingEndpoint(test)
  const front = (pagesUrl: string) => startExpressShop(test, service, pagesUrl)
  const agent = await visit(test, service, front)
  const [purchase, leave] = await service.received(2)
  for (const request of [purchase, leave]) {
    assertSigned(request ?? assert.fail(), SECRET)
    assert.match(String(request?.headers['x-signalbox-client-ip']), /^(::ffff:)?127\.0\.0\.1$/)
    assert.equal(request?.headers['x-signalbox-client-user-agent'], agent)
    assert.equal(request?.headers.cookie, undefined)
  }
  assert.equal(purchase?.headers.authorization, `Bearer ${KEY}`)
  assert.equal(leave?.url, `/api/v1/events?key=${KEY}`)
})

it("through nginx, the service gets the event with the browser's address", {
  skip: nginxMissing,
}, async test => {
  const service = await recordingEndpoint(test)
  const upstream = { baseUrl: `${service.url}/api/v1` }
  const agent = await visit(test, service, pagesUrl => startShop(test, upstream, pagesUrl))
  const [purchase, leave] = await service.received(2)
  for (const request of [purchase, leave]) {
    assert.equal(request?.headers['x-forwarded-for'], '127.0.0.1')
    assert.equal(request?.headers['user-agent'], agent)
    assert.equal(request?.headers.cookie, undefined)
  }
  assert.equal(purchase?.headers.authorization, `Bearer ${KEY}`)
  assert.equal(leave?.url, `/api/v1/events?key=${KEY}`)
})

/** Opens the shop, waits for the answer to its event and leaves again. */
async function visit(
  test: TestContext,
  service: RecordingEndpoint,
  front: (pagesUrl: string) => Promise<string>,
): Promise<unknown> {
  const shop = await shopUnderTest(test, { script: SCRIPT, front })
  await service.received(1)
  await shop.page.waitForFunction('results.length')
  const sent = { event_id: 'order-1', outcome: 'sent', status: 202 }
  assert.deepEqual(await shop.run('results'), [sent])
  const agent = await shop.run('navigator.userAgent')
  await shop.page.goto(new URL('/other', shop.page.url()).href)
  assert.deepEqual(shop.consoleMessages, [])
  return agent
}

/** A shop in Express, whose pages come from elsewhere. */
async function startExpressShop(
  test: TestContext,
  service: RecordingEndpoint,
  pagesUrl: string,
): Promise<string> {
  const app = express()
  app.use('/sb', await expressForwarder(test, { baseUrl: `${service.url}/api/v1` }))
  // biome-ignore lint/suspicious/noExplicitAny: Express's types are not installed
  app.use(async (request: any, response: any) => {
    const page = await fetch(`${pagesUrl}${request.url}`)
    response.type(page.headers.get('content-type')).send(await page.text())
  })
  return listening(test, createServer(app))
}
