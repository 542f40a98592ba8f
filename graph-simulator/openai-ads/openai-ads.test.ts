import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'

const DIGEST = 'ab'.repeat(32)
const NOW = SAMPLE_NOW.getTime()
const WEEK = 7 * 86_400_000

function sampleEvent(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 'order-1',
    type: 'order_created',
    timestamp_ms: NOW - 1_000,
    action_source: 'web',
    source_url: 'https://shop.example/',
    user: { emails_sha256: [DIGEST] },
    data: { type: 'contents', amount: 12_999, currency: 'USD' },
    ...members,
  }
}

async function openaiUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (events: unknown[], { pid = 'pixel-1', validate_only = false, key = 'key' } = {}) =>
    simulator.send(
      { validate_only, events },
      {
        path: `/v1/events?pid=${pid}`,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      },
    )
  const control = (method: string, path: string, body?: unknown) =>
    simulator.control(method, `openai_ads/${path}`, body)
  return { ...simulator, post, control }
}

it('refuses a whole request for one invalid event, and keeps nothing', async test => {
  const { post, control } = await openaiUnderTest(test)
  const contents = [{ id: 'a', amount: 1 }]
  for (const [members, reason] of [
    [{ type: 'Purchase' }, /Unsupported event type/],
    [{ data: { type: 'customer_action' } }, /data.type must be contents/],
    [{ data: { type: 'contents', amount: 1 } }, /needs a currency/],
    [{ data: { type: 'contents', contents } }, /needs a currency/],
    [{ data: { type: 'contents', amount: 129.99, currency: 'USD' } }, /integer/],
    [{ data: { type: 'contents', plan_id: 'a' } }, /Unknown field/],
    [{ timestamp_ms: NOW - WEEK - 1 }, /out of range/],
    [{ timestamp_ms: NOW + 600_001 }, /out of range/],
    [{ timestamp_ms: Math.floor(NOW / 1_000) }, /out of range/],
    [{ source_url: undefined }, /source_url/],
    [{ action_source: 'website' }, /action_source/],
    [{ custom_event_name: 'a' }, /custom_event_name/],
    [{ type: 'custom', data: { type: 'custom' } }, /custom_event_name/],
    [{ type: 'custom', custom_event_name: 'a b', data: { type: 'custom' } }, /custom_event_name/],
    [{ user: { emails_sha256: ['jane@example.com'] } }, /is no digest: jane@example.com/],
    [{ user: { emails_sha256: Array(4).fill(DIGEST) } }, /more than 3/],
    [{ user: { cities: ['berlin'] } }, /Unknown field/],
  ] as const) {
    const { status, body } = await post([sampleEvent(), sampleEvent(members)])
    assert.equal(status, 400)
    assert.match(body.error.message, reason)
  }
  assert.equal((await post([])).status, 400)
  assert.equal((await post(Array(1_001).fill(sampleEvent()))).status, 400)
  assert.equal((await control('GET', 'summary')).body.receipts, 0)
})

it('takes events of every age and form that OpenAI takes', async test => {
  const { post } = await openaiUnderTest(test)
  const custom = { type: 'custom', custom_event_name: 'quote', data: { type: 'custom' } }
  const { status, body } = await post([
    sampleEvent({ timestamp_ms: NOW - WEEK }),
    sampleEvent({ timestamp_ms: NOW + 600_000 }),
    sampleEvent(custom),
    sampleEvent({ action_source: 'physical_store', source_url: undefined, user: undefined }),
  ])
  assert.deepEqual([status, body], [200, { accepted_events: 4 }])
})

it('counts a copy once by its pixel, type and ID, and no validated event', async test => {
  const { post, control } = await openaiUnderTest(test)
  const opened = { type: 'page_viewed' }
  await post([sampleEvent(), sampleEvent(), sampleEvent(opened)])
  await post([sampleEvent()], { pid: 'pixel-2' })
  await post([sampleEvent({ id: 'test-1' })], { validate_only: true })
  const { counted, deduplicated, test_receipts } = (await control('GET', 'summary')).body
  assert.deepEqual([counted, deduplicated, test_receipts], [3, 1, 1])
  assert.equal((await control('GET', 'received?account=pixel-2')).body.count, 1)
})

it('refuses a key that a test revoked, and a request without a pixel', async test => {
  const { post, url } = await openaiUnderTest(test)
  await fetch(`${url}/_simulator/tokens`, {
    method: 'POST',
    body: JSON.stringify({ revoked: ['key-x'] }),
  })
  assert.equal((await post([sampleEvent()], { key: 'key-x' })).status, 401)
  assert.equal((await post([sampleEvent()], { pid: '' })).status, 400)
})
