import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'

function sampleConversion(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event_at: SAMPLE_NOW.getTime() - 60_000,
    action_source: 'WEBSITE',
    type: { tracking_type: 'PURCHASE' },
    metadata: { conversion_id: 'order-1', value: 19.9, currency: 'EUR' },
    user: { email: 'ab'.repeat(32) },
    ...members,
  }
}

async function redditUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (events: unknown[], { more = {}, token = 'token-a', pixel = 'a2_abc' } = {}) =>
    simulator.send(
      { data: { events, ...more } },
      {
        path: `/api/v3/pixels/${pixel}/conversion_events`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
    )
  const control = (method: string, path: string, body?: unknown) =>
    simulator.control(method, `reddit/${path}`, body)
  return { ...simulator, post, control }
}

it('answers how many conversions it processed, and counts a copy once', async test => {
  const { post, control } = await redditUnderTest(test)
  const { status, body } = await post([sampleConversion()])
  assert.deepEqual(
    [status, body],
    [200, { data: { message: 'Successfully processed 1 conversion events.' } }],
  )
  await post([sampleConversion(), sampleConversion({ type: { tracking_type: 'LEAD' } })])
  const { counted, deduplicated } = (await control('GET', 'summary')).body
  assert.deepEqual({ counted, deduplicated }, { counted: 2, deduplicated: 1 })
})

it('refuses the whole request for one bad event, in words that repeat its values', async test => {
  const { post, control } = await redditUnderTest(test)
  const old = SAMPLE_NOW.getTime() - 8 * 86_400_000
  const { action_source: _, ...sourceless } = sampleConversion()
  for (const [bad, message] of [
    [sampleConversion({ test_id: 't2' }), 'JSON error "unknown field" on field "test_id"'],
    [sampleConversion({ action_source: 'web' }), 'invalid action_source: web'],
    [sourceless, 'missing action_source'],
    [sampleConversion({ event_at: old }), `invalid event_at: ${old}`],
    [sampleConversion({ event_at: old / 1_000 }), `invalid event_at: ${old / 1_000}`],
    [sampleConversion({ type: { tracking_type: 'Purchase' } }), 'invalid tracking_type: Purchase'],
    [sampleConversion({ type: { tracking_type: 'CUSTOM' } }), 'missing custom_event_name'],
    [sampleConversion({ user: { user_agent: 'B/1' } }), 'missing attribution signal'],
    [sampleConversion({ metadata: { value: 1, currency: 'EUR' } }), 'missing conversion_id'],
  ] as const) {
    const { status, body } = await post([sampleConversion(), bad])
    assert.deepEqual([status, body], [400, { error: { code: 400, message } }])
  }
  const shapeless = await post([sampleConversion({ metadata: { value: '19.90' } })])
  assert.deepEqual([shapeless.status, shapeless.body.error.code], [400, 400])
  assert.equal((await post(Array(1_001).fill(sampleConversion()))).status, 400)
  assert.equal((await post([])).status, 400)
  assert.equal((await control('GET', 'summary')).body.receipts, 0)
})

it('keeps test events apart, and refuses unknown pixels and tokens', async test => {
  const { post, control, url } = await redditUnderTest(test)
  assert.equal((await post([sampleConversion()], { more: { test_id: 't2_a' } })).status, 200)
  const { receipts, test_receipts } = (await control('GET', 'summary')).body
  assert.deepEqual([receipts, test_receipts], [0, 1])
  assert.equal((await post([sampleConversion()], { pixel: 'a2-abc' })).status, 404)
  await fetch(`${url}/_simulator/tokens`, {
    method: 'POST',
    body: JSON.stringify({ revoked: ['token-x'] }),
  })
  assert.equal((await post([sampleConversion()], { token: 'token-x' })).status, 401)
})
