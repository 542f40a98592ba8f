import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CONSENT, KEY, shopUnderTest } from './testing/shop-under-test.ts'

it('keeps the last 50 events and reports older ones as dropped', async test => {
  const script = `window.results = [];
    for (let n = 1; n < 53; n++) {
      signalbox('event', 'Search', { event_id: 'n' + n }, result => results.push(result));
    }`
  const shop = await shopUnderTest(test, { script })
  const dropped = { outcome: 'dropped', status: undefined }
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'n1', ...dropped },
    { event_id: 'n2', ...dropped },
  ])
  await shop.run(CONSENT)
  const batches = (await shop.received(3)).map(
    ({ event }) => event.events as { event_id: string }[],
  )
  // They are sent at the same time, so they arrive in any order.
  const sizes = batches.map(({ length }) => length).toSorted((one, other) => other - one)
  assert.deepEqual(sizes, [20, 20, 10])
  const ids = new Set(batches.flat().map(event => event.event_id))
  assert.equal(ids.size, 50)
  assert.equal(ids.has('n2'), false)
})

const THREE = `window.results = [];
  for (const event_id of ['a', 'b', 'c'])
    signalbox('event', 'Search', { event_id }, result => results.push(result));`

it('sends waiting events as one batch and reports each, with a retry of its own', async test => {
  const shop = await shopUnderTest(test, { script: THREE })
  const results = [{ status: 202 }, { status: 422 }, { status: 429, retry_after: 1 }]
  shop.answerNext({ status: 200, body: JSON.stringify({ results }) })
  await shop.run(CONSENT)
  const [batch, retry] = await shop.received(2)
  assert.equal(batch?.url, '/sb/events/batch')
  assert.equal(batch?.headers.authorization, `Bearer ${KEY}`)
  const sent = batch?.event.events.map((event: { event_id: string }) => event.event_id)
  assert.deepEqual(sent, ['a', 'b', 'c'])
  assert.equal(retry?.url, '/sb/events')
  assert.deepEqual(retry?.event, batch?.event.events[2])
  await shop.page.waitForFunction('results.length > 2')
  assert.deepEqual(await shop.run('results'), [
    { event_id: 'a', outcome: 'sent', status: 202 },
    { event_id: 'b', outcome: 'refused', status: 422 },
    { event_id: 'c', outcome: 'sent', status: 202 },
  ])
})

for (const status of [404, 405, 413]) {
  it(`sends single events for the rest of the page after a batch got ${status}`, async test => {
    const shop = await shopUnderTest(test, { script: THREE })
    shop.answerNext({ status, body: '<p>The page of a shop' })
    await shop.run(CONSENT)
    await shop.page.waitForFunction('results.length > 2')
    await shop.run(THREE)
    await shop.page.waitForFunction('results.length > 2')
    const urls = shop.requests.map(({ url }) => url)
    assert.deepEqual(urls, ['/sb/events/batch', ...Array(6).fill('/sb/events')])
    const sent = new Set(shop.requests.slice(1).map(({ event }) => event.event_id))
    assert.deepEqual([...sent].sort(), ['a', 'b', 'c'])
  })
}

it('waits for a busy service before it sends the events of a batch again', async test => {
  const shop = await shopUnderTest(test, { script: THREE })
  shop.answerNext({ status: 503, body: '<p>Busy', headers: { 'retry-after': '120' } })
  const answered = shop.page.waitForResponse('**/sb/events/batch')
  await shop.run(CONSENT)
  await answered
  await shop.settled()
  // What waits is sent when the page is left.
  await shop.page.goto(`${shop.url}/other`)
  const urls = (await shop.received(4)).map(({ url }) => url)
  assert.deepEqual(urls, ['/sb/events/batch', ...Array(3).fill(`/sb/events?key=${KEY}`)])
})

it('sends the events singly for which a batch has no result, and reports each once', async test => {
  const shop = await shopUnderTest(test, { script: THREE })
  shop.answerNext({ status: 200, body: '{"results":[{"status":202},{"status":202}]}' })
  await shop.run(CONSENT)
  await shop.page.waitForFunction('results.length > 2')
  const [, single, ...others] = shop.requests
  assert.deepEqual([single?.url, single?.event.event_id, others.length], ['/sb/events', 'c', 0])
  const results = (await shop.run('results')) as { event_id: string }[]
  assert.deepEqual(results.map(({ event_id }) => event_id).sort(), ['a', 'b', 'c'])
})

it('sends each event of a page that is left as a beacon of its own', async test => {
  const script = `addEventListener('pagehide', () => { ${THREE} ${CONSENT} });`
  const shop = await shopUnderTest(test, { script })
  await shop.page.goto(`${shop.url}/other`)
  const requests = await shop.received(3)
  assert.deepEqual(
    requests.map(({ url }) => url),
    Array(3).fill(`/sb/events?key=${KEY}`),
  )
})
