import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CONSENT, STUB, shopUnderTest } from '../../../clients/browser/testing/shop-under-test.ts'
import { samplePageView, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const EVENTS = '/api/v1/events'
const BLANK = '<!doctype html><title>Shop</title><link rel="icon" href="data:,">'

/** What a script of the page can read; `unreadable` when the browser blocks it. */
function seenBy(service: TestService, key: string, body: unknown): string {
  return `fetch(${JSON.stringify(service.url + EVENTS)}, {
    method: 'POST',
    headers: {
      authorization: ${JSON.stringify(`Bearer ${key}`)},
      'content-type': 'application/json',
      'idempotency-key': 'view-1',
    },
    body: ${JSON.stringify(JSON.stringify(body))},
  }).then(
    async answer => ({
      status: answer.status,
      location: answer.headers.get('location'),
      isNamed: answer.headers.has('request-id'),
      message: (await answer.json()).message,
    }),
    () => 'unreadable',
  )`
}

it('lets a page on another origin read 202, 401, 403 and 422', async test => {
  const service = await startTestService(test)
  const { page } = await shopUnderTest(test, { html: BLANK })
  const { publishableKey, trackerSecret } = await service.newTracker(['http://127.0.0.1:*'])
  const send = (key: string, body: unknown = samplePageView()) =>
    page.evaluate(seenBy(service, key, body))
  assert.deepEqual(await send(publishableKey), {
    status: 202,
    location: `${service.url}${EVENTS}/view-1?space=publishable`,
    isNamed: true,
    message: undefined,
  })
  for (const [key, body, status, message] of [
    [publishableKey, {}, 422, /^The event_name field is required\./],
    ['sbx_pk_mistyped', undefined, 401, /^Unauthenticated\.$/],
    [service.tracker.publishableKey, undefined, 403, /^The origin of this page is not registered /],
  ] as const) {
    const seen = (await send(key, body)) as { status: number; message: string }
    assert.equal(seen.status, status)
    assert.match(seen.message, message)
  }
  assert.equal(await send(trackerSecret), 'unreadable')
})

it('accepts the tag of a page on another origin, and its beacon', async test => {
  const service = await startTestService(test)
  const { publishableKey, trackerSecret } = await service.newTracker(['http://127.0.0.1:*'])
  const init = { key: publishableKey, endpoint: `${service.url}/api/v1` }
  const shop = await shopUnderTest(test, {
    initialScript: `${STUB} signalbox('init', ${JSON.stringify(init)});`,
    script: `${CONSENT} window.results = [];
      signalbox('event', 'Purchase', { event_id: 'order-1' }, result => results.push(result))`,
  })
  await shop.page.waitForFunction('results.length')
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'order-1', outcome: 'sent', status: 202 },
  ])
  const text = JSON.stringify(JSON.stringify(samplePageView({ event_id: 'beacon' })))
  const url = JSON.stringify(`${service.url}${EVENTS}?key=${publishableKey}`)
  const blob = `new Blob([${text}], { type: 'text/plain;charset=UTF-8' })`
  assert.equal(await shop.run(`navigator.sendBeacon(${url}, ${blob})`), true)
  const read = (id: string) => service.request('GET', `${EVENTS}/${id}`, { secret: trackerSecret })
  await waitUntil('the beacon is stored', async () => (await read('beacon')).status === 200)
  assert.equal((await read('order-1')).status, 200)
})

it("the visitor's no in the tag stops the purchases of the back end", async test => {
  const service = await startTestService(test)
  const { publishableKey, trackerSecret } = await service.newTracker(['http://127.0.0.1:*'])
  const init = { key: publishableKey, endpoint: `${service.url}/api/v1` }
  const shop = await shopUnderTest(test, {
    initialScript: `${STUB} signalbox('init', ${JSON.stringify(init)});`,
    script: `${CONSENT} window.results = []; window.note = result => results.push(result);
      signalbox('event', 'ViewContent', { event_id: 'view-1' }, note)`,
  })
  await shop.page.waitForFunction('results.length === 1')
  const [cookie] = await shop.page.context().cookies()
  const visitor_id = cookie?.value
  const secret = trackerSecret
  const buy = (event_id: string, person: object) => {
    const body = samplePurchase({ event_id, visitor_id: undefined, ...person })
    return service.request('POST', EVENTS, { secret, body })
  }
  await buy('order-1', { visitor_id, user_data: { em: 'jane@example.com' } })
  await shop.run(`signalbox('withdraw', note)`)
  await shop.page.waitForFunction('results.length === 2')
  await buy('order-2', { visitor_id, user_data: { ph: '+4930901820' } })
  await buy('order-3', { user_data: { em: 'jane@example.com' } })
  await buy('order-4', { user_data: { em: 'john@example.com' } })
  const statuses: string[] = []
  for (const id of ['order-1', 'order-2', 'order-3', 'order-4']) {
    const { body } = await service.request('GET', `${EVENTS}/${id}`, { secret })
    statuses.push(body.deliveries[0].status)
  }
  const skipped = 'skipped:consent'
  assert.deepEqual(statuses, [skipped, skipped, skipped, 'queued'])
})
