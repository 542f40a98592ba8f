import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SHOP_HOST } from './testing/chromium-under-test.ts'
import { recordingEndpoint } from './testing/recording-endpoint.ts'
import { CONSENT, INIT, KEY, STUB, shopUnderTest } from './testing/shop-under-test.ts'

const EVENT = `signalbox('event', 'Purchase', { event_id: 'order-1' });`
const REPORTED = `window.results = []; signalbox('event', 'Purchase', { event_id: 'order-1' },
  result => results.push(result));`

it('sends an event with the publishable key, page URL and members, without cookies', async test => {
  const script = `document.cookie = 'session=private'; ${CONSENT}
    signalbox('event', 'Purchase', {
      value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
      user_data: { em: 'jane@example.com', client_ip_address: '1.2.3.4', client_user_agent: 'x' },
    });`
  const query = '?q=shoes#reviews'
  const shop = await shopUnderTest(test, { script, query })
  const [request] = await shop.received(1)
  assert.equal(request?.url, '/sb/events')
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`)
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.equal(request?.headers.cookie, undefined)
  const { event_id, visitor_id, ...event } = request?.event ?? {}
  assert.match(event_id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/)
  assert.match(visitor_id, /^[\da-f-]{36}$/)
  assert.deepEqual(event, {
    event_name: 'Purchase',
    event_source: `${shop.url}/?q=shoes`,
    consent_basis: 'consent',
    value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
    user_data: { em: 'jane@example.com' },
    click_ids: {},
  })
})

it('sends to a service of another origin without credentials', async test => {
  const service = await recordingEndpoint(test)
  const endpoint = `${service.url}/api/v1/`
  const beginning = `${STUB} signalbox('init', { key: '${KEY}', endpoint: '${endpoint}' });`
  const shop = await shopUnderTest(test, {
    initialScript: beginning,
    script: CONSENT + REPORTED,
  })
  const [request] = await service.received(1)
  assert.equal(request?.url, '/api/v1/events')
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`)
  assert.equal(request?.headers.origin, shop.url)
  await shop.page.waitForFunction('results.length')
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'order-1', outcome: 'sent', status: 202 },
  ])
})

it("sends the Pixel's cookies and the landing page's click ID after consent", async test => {
  const script = `document.cookie = '_fbp=fb.1.1795262400000.1234567890';
    document.cookie = '_fbc=fb.1.1795262400000.IwAR0';
    history.replaceState({}, '', '/thanks'); ${EVENT}`
  const query = '?fbclid=IwAR1-Case_Sensitive'
  const beginning = STUB + INIT
  const shop = await shopUnderTest(test, { initialScript: beginning, query })
  await shop.run(script + CONSENT)
  const [request] = await shop.received(1)
  assert.equal(request?.event.event_source, `${shop.url}/thanks`)
  assert.deepEqual(request?.event.click_ids, {
    fbclid: 'IwAR1-Case_Sensitive',
    fbc: 'fb.1.1795262400000.IwAR0',
    fbp: 'fb.1.1795262400000.1234567890',
  })
})

it('sends the click IDs of every platform, the URL before the cookie of the same name', async test => {
  const cookies = {
    ttclid: 'E.C.P.earlier',
    _ttp: '2abc.tt.1',
    _epik: 'dj0yJnU9',
    _scid: '5d2c-11',
    _rdt_uuid: '1684189007728.7c73e1c4',
    __oppref: 'opp-1',
    __obref: 'ob-1',
    _gcl_aw: 'GCL.1795262400.Cj0K-x',
    scid: 'session-of-the-shop',
  }
  const script = Object.entries(cookies)
    .map(([name, value]) => `document.cookie = '${name}=${value}';`)
    .join('')
  const query = '?ttclid=E.C.P.now&ttclid=E.C.P.second&ScCid=Ab-1&gad_source=1&other=x&msclkid='
  const shop = await shopUnderTest(test, { script: script + CONSENT + EVENT, query })
  const [request] = await shop.received(1)
  assert.deepEqual(request?.event.click_ids, {
    ttclid: 'E.C.P.now',
    ttp: '2abc.tt.1',
    epik: 'dj0yJnU9',
    ScCid: 'Ab-1',
    scid: '5d2c-11',
    rdt_uuid: '1684189007728.7c73e1c4',
    oppref: 'opp-1',
    obref: 'ob-1',
    gcl_aw: 'GCL.1795262400.Cj0K-x',
    gad_source: '1',
  })
})

it('keeps one visitor ID across pages in a first-party cookie of at most 13 months', async test => {
  const shop = await shopUnderTest(test, { script: CONSENT + EVENT })
  await shop.received(1)
  const [cookie] = await shop.page.context().cookies()
  const { name, path, sameSite, httpOnly, domain } = cookie ?? {}
  const kept = { name: '_sbx', path: '/', sameSite: 'Lax', httpOnly: false, domain: '127.0.0.1' }
  assert.deepEqual({ name, path, sameSite, httpOnly, domain }, kept)
  assert.ok((cookie?.expires ?? 0) <= Date.now() / 1_000 + 395 * 86_400)

  await shop.page.reload()
  const [first, second] = await shop.received(2)
  assert.equal(first?.event.visitor_id, cookie?.value)
  assert.equal(second?.event.visitor_id, cookie?.value)
  const [later] = await shop.page.context().cookies()
  assert.equal(later?.expires, cookie?.expires)
})

it('generates IDs on plain HTTP, where browsers lack randomUUID', async test => {
  const script = `${CONSENT} signalbox('event', 'Search');`
  const shop = await shopUnderTest(test, { host: SHOP_HOST, script })
  assert.equal(await shop.run('isSecureContext'), false)
  const [request] = await shop.received(1)
  const { event_id, visitor_id } = request?.event ?? {}
  for (const id of [event_id, visitor_id]) {
    assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/)
  }
})

it('tracks the event with the Pixel under the same ID, once and after consent', async test => {
  const beginning = `${STUB} signalbox('init', { key: '${KEY}', endpoint: '/sb', pixel: true });
    window.pixel = []; window.fbq = (...call) => pixel.push(call);`
  const script = `signalbox('event', 'Purchase', { value_data: { value: '19.95', currency: 'EUR' } })`
  const shop = await shopUnderTest(test, { initialScript: beginning, script })
  assert.deepEqual(await shop.run('pixel'), [])
  shop.answerNext({ status: 503, headers: { 'retry-after': '1' } })
  await shop.run(CONSENT)
  const [request] = await shop.received(2)
  const { event_id, value_data } = request?.event ?? {}
  const calls = [['track', 'Purchase', value_data, { eventID: event_id }]]
  assert.deepEqual(await shop.run('pixel'), calls)
})

it('does not call the Pixel unless init enables it', async test => {
  const script = `window.pixel = []; window.fbq = (...call) => pixel.push(call); ${CONSENT} ${EVENT}`
  const shop = await shopUnderTest(test, { script })
  await shop.received(1)
  assert.deepEqual(await shop.run('pixel'), [])
})

it('sends the last event of a page as a beacon, with the key in the URL', async test => {
  const script = `${CONSENT} addEventListener('pagehide', () => { ${EVENT} });`
  const shop = await shopUnderTest(test, { script })
  await shop.page.goto(`${shop.url}/other`)
  const [request] = await shop.received(1)
  assert.equal(request?.url, `/sb/events?key=${KEY}`)
  // Chromium writes it in lower case, other browsers as it was given.
  assert.match(request?.headers['content-type'] ?? '', /^text\/plain;charset=utf-8$/i)
  assert.equal(request?.headers.authorization, undefined)
  assert.equal(request?.event.event_id, 'order-1')
})

it('sends beacons where fetch does not support keepalive', async test => {
  const browserScript = 'delete Request.prototype.keepalive'
  const shop = await shopUnderTest(test, { browserScript, script: CONSENT + REPORTED })
  const [request] = await shop.received(1)
  assert.equal(request?.url, `/sb/events?key=${KEY}`)
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'order-1', outcome: 'unconfirmed', status: undefined },
  ])
})

it('retries once after Retry-After, under the same ID', async test => {
  const shop = await shopUnderTest(test)
  await shop.page.clock.install()
  shop.answerNext({ status: 503, headers: { 'retry-after': '120' } })
  const answered = shop.page.waitForResponse('**/sb/events')
  await shop.run(CONSENT + REPORTED)
  await answered
  await shop.settled()
  await shop.page.clock.fastForward(119_000)
  await shop.settled()
  assert.equal(shop.startedRequests.length, 1)

  await shop.page.clock.fastForward(2_000)
  const [first, second] = await shop.received(2)
  assert.deepEqual(second?.event, first?.event)
  await shop.page.waitForFunction('results.length')
  const sent = { event_id: 'order-1', outcome: 'sent', status: 202 }
  assert.deepEqual(await shop.run('results'), [sent])
})

const FAILURES: [what: string, status: number, outcome: string][] = [
  ['a second 500', 500, 'refused'],
  ['a second 429', 429, 'refused'],
]
for (const [what, status, outcome] of FAILURES) {
  it(`gives up after ${what}`, async test => {
    const shop = await shopUnderTest(test)
    shop.answerNext({ status, headers: { 'retry-after': '1' } }, { status })
    await shop.run(CONSENT + REPORTED)
    await shop.page.waitForFunction('results.length')
    assert.deepEqual(await shop.run('results'), [{ event_id: 'order-1', outcome, status }])
    assert.equal(shop.requests.length, 2)
  })
}

it('does not retry a rejected event, and warns on the console', async test => {
  const shop = await shopUnderTest(test)
  shop.answerNext({ status: 422, headers: { 'retry-after': '1' } })
  await shop.run(CONSENT + REPORTED)
  await shop.page.waitForFunction('results.length')
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'order-1', outcome: 'refused', status: 422 },
  ])
  assert.match(shop.consoleMessages.join(), /signalbox order-1 refused 422/)
})

it('retries once after a network error, and reports the failure', async test => {
  const shop = await shopUnderTest(test)
  await shop.page.route('**/sb/events', route => route.abort())
  await shop.run(CONSENT + REPORTED)
  await shop.page.waitForFunction('results.length')
  const failed = { event_id: 'order-1', outcome: 'failed' }
  assert.deepEqual(await shop.run('results'), [{ ...failed, status: undefined }])
  assert.equal(shop.startedRequests.length, 2)
})

it('sends a pending retry when the page is left', async test => {
  const shop = await shopUnderTest(test)
  shop.answerNext({ status: 503, headers: { 'retry-after': '120' } })
  const answered = shop.page.waitForResponse('**/sb/events')
  await shop.run(CONSENT + EVENT)
  await answered
  await shop.settled()
  await shop.page.goto(`${shop.url}/other`)
  const [first, second] = await shop.received(2)
  assert.equal(second?.url, `/sb/events?key=${KEY}`)
  assert.deepEqual(second?.event, first?.event)
  // Within one second a forwarder would sign equal bytes alike, which the service takes for a replay.
  assert.notDeepEqual(second?.bytes, first?.bytes)
})

it('does nothing on a prerendered page until it is activated', async test => {
  const browserScript = `window.isAhead = true;
    Object.defineProperty(Document.prototype, 'prerendering', { get: () => isAhead })`
  const shop = await shopUnderTest(test, { browserScript, script: CONSENT + EVENT })
  await shop.settled()
  assert.deepEqual(shop.startedRequests, [])
  assert.deepEqual(await shop.cookies(), [])
  await shop.run(`isAhead = false; document.dispatchEvent(new Event('prerenderingchange'))`)
  await shop.received(1)
})
