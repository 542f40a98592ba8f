import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'

const DIGEST = 'ab'.repeat(32)
const NOW_SECONDS = Math.floor(SAMPLE_NOW.getTime() / 1_000)

function sampleEvent(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event: 'Purchase',
    event_time: NOW_SECONDS - 60,
    event_id: 'order-1',
    user: { email: [DIGEST] },
    properties: { value: 19.9, currency: 'EUR', color: 'red' },
    page: { url: 'https://shop.example/' },
    ...members,
  }
}

async function tiktokUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (data: unknown[], { token = 'token-a', ...request }: Record<string, unknown> = {}) =>
    simulator.send(
      { event_source: 'web', event_source_id: 'PIXEL1', data, ...request },
      {
        path: '/open_api/v1.3/event/track/',
        headers: { 'access-token': String(token), 'content-type': 'application/json' },
      },
    )
  const control = (method: string, path: string, body?: unknown) =>
    simulator.control(method, `tiktok/${path}`, body)
  return { ...simulator, post, control }
}

it('answers 200 with its code where it takes a request and where it refuses', async test => {
  const { post, url } = await tiktokUnderTest(test)
  const taken = await post([sampleEvent()])
  assert.deepEqual([taken.status, taken.body.code], [200, 0])
  const revoked = JSON.stringify({ revoked: ['token-x'] })
  await fetch(`${url}/_simulator/tokens`, { method: 'POST', body: revoked })
  for (const [request, code] of [
    [{ token: 'token-x' }, 40_105],
    [{ event_source_id: 'a/b' }, 40_001],
    [{ event_source: 'app' }, 40_002],
    [{ data: [] }, 40_002],
    [{ data: Array(1_001).fill(sampleEvent()) }, 40_002],
  ] as const) {
    const { status, body } = await post([sampleEvent()], request)
    assert.deepEqual([status, body.code], [200, code], JSON.stringify(request).slice(0, 80))
  }
})

it('refuses a request for one bad event, names it and repeats its value', async test => {
  const { post, control } = await tiktokUnderTest(test)
  for (const [bad, place] of [
    [{ user: { email: ['jane@example.com'] } }, 'Batch.1.user.email.0'],
    [{ user: { email: [DIGEST.toUpperCase()] } }, 'Batch.1.user.email.0'],
    [{ user: { city: 'Berlin' } }, 'Batch.1.user.city'],
    [{ properties: { value: '19.90' } }, 'Batch.1.properties.value'],
    [{ properties: { value: -1 } }, 'Batch.1.properties.value'],
    [{ properties: { contents: [{ content_id: 7 }] } }, 'Batch.1.properties.contents.0.content_id'],
    [{ event_time: NOW_SECONDS - 8 * 86_400 }, 'Batch.1.event_time'],
    [{ event: 'My event' }, 'Batch.1.event'],
    [{ page: undefined }, 'Batch.1.page.url'],
    [{ limited_data_use: true }, 'Batch.1.user.ip'],
  ] as const) {
    const { body } = await post([sampleEvent(), sampleEvent(bad)])
    assert.equal(body.code, 40_002)
    assert.ok(body.message.startsWith(`${place}: `), body.message)
  }
  const { body } = await post([sampleEvent({ user: { email: ['jane@example.com'] } })])
  assert.match(body.message, /jane@example.com/)
  assert.equal((await control('GET', 'summary')).body.receipts, 0)
})

it('takes standard events alone from an offline event set, without browser IDs', async test => {
  const { post, control } = await tiktokUnderTest(test)
  const request = { event_source: 'offline', event_source_id: '7300000001' }
  const offline = (members = {}) => sampleEvent({ page: undefined, ...members })
  assert.equal((await post([offline()], request)).body.code, 0)
  assert.equal((await post([offline({ event: 'MyEvent' })], request)).body.code, 40_002)
  assert.equal((await post([offline({ user: { ttclid: 'E.C.P.1' } })], request)).body.code, 40_002)
  const { count } = (await control('GET', 'received?account=7300000001')).body
  assert.equal(count, 1)
})

it('counts a copy of an event and its name once, and no test event', async test => {
  const { post, control } = await tiktokUnderTest(test)
  await post([sampleEvent(), sampleEvent({ event: 'Lead' })])
  await post([sampleEvent()])
  await post([sampleEvent({ event_id: 'test-1' })], { test_event_code: 'TEST1' })
  const { counted, deduplicated, test_receipts } = (await control('GET', 'summary')).body
  assert.deepEqual(
    { counted, deduplicated, test_receipts },
    {
      counted: 2,
      deduplicated: 1,
      test_receipts: 1,
    },
  )
})
