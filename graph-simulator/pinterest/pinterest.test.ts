import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'
import { findContractProblems, listContractMembers } from './contract/pinterest-contract.ts'
import {
  CUSTOM_DATA_MEMBERS,
  findRequestError,
  ITEM_MEMBERS,
  USER_DATA_MEMBERS,
} from './validate-conversions.ts'

const DIGEST = 'ab'.repeat(32)

function sampleConversion(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event_name: 'checkout',
    action_source: 'web',
    event_time: Math.floor(SAMPLE_NOW.getTime() / 1_000) - 60,
    event_id: 'order-1',
    user_data: { em: [DIGEST] },
    custom_data: { value: '19.90', currency: 'EUR' },
    ...members,
  }
}

async function pinterestUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (data: unknown[], { query = '', token = 'token-a' } = {}) =>
    simulator.send(
      { data },
      {
        path: `/v5/ad_accounts/5497/events${query}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
    )
  const control = (method: string, path: string, body?: unknown) =>
    simulator.control(method, `pinterest/${path}`, body)
  return { ...simulator, post, control }
}

it('has the members of the published contract, and answers in its form', async test => {
  const shapes = {
    user_data: USER_DATA_MEMBERS,
    custom_data: CUSTOM_DATA_MEMBERS,
    item: ITEM_MEMBERS,
  }
  for (const [model, members] of Object.entries(shapes)) {
    assert.deepEqual(Object.keys(members).sort(), listContractMembers(model))
  }
  const { post } = await pinterestUnderTest(test)
  const { status, body } = await post([sampleConversion()])
  assert.deepEqual([status, findContractProblems('answer', body)], [200, []])
  assert.deepEqual(findContractProblems('event', { value: 1, event_id: 5 }), [
    'value is unknown',
    'event_id is no str',
  ])
})

it('refuses a whole request with an unknown or missing member, and keeps nothing', async test => {
  const { post, control } = await pinterestUnderTest(test)
  const { event_id: _, ...withoutId } = sampleConversion()
  for (const bad of [
    sampleConversion({ custom_data: { color: 'red' } }),
    sampleConversion({ custom_data: { value: 19.9 } }),
    sampleConversion({ user_data: { ph: [DIGEST] } }),
    sampleConversion({ user_data: { client_ip_address: '198.51.100.7' } }),
    withoutId,
  ]) {
    const { status, body } = await post([sampleConversion(), bad])
    assert.deepEqual([status, body.code], [400, 4_196])
  }
  assert.equal((await post([])).status, 400)
  assert.equal((await post(Array(1_001).fill(sampleConversion()))).status, 400)
  assert.equal((await control('GET', 'summary')).body.receipts, 0)
})

it('processes a part of a request, and says by position which events failed', async test => {
  const { post, control } = await pinterestUnderTest(test)
  const old = Math.floor(SAMPLE_NOW.getTime() / 1_000) - 8 * 86_400
  const { status, body } = await post([
    sampleConversion({ event_id: 'a' }),
    sampleConversion({ event_id: 'b', event_name: 'Purchase' }),
    sampleConversion({ event_id: 'c', user_data: { em: ['jane@example.com'] } }),
    sampleConversion({ event_id: 'd', event_time: old }),
    sampleConversion({ event_id: 'e', action_source: 'website' }),
    sampleConversion({ event_id: 'f' }),
  ])
  assert.equal(status, 422)
  const { events, num_events_processed } = body.details
  assert.deepEqual(
    events.map((event: { status: string }) => event.status),
    ['processed', 'failed', 'failed', 'failed', 'failed', 'processed'],
  )
  assert.equal(num_events_processed, 2)
  assert.equal((await control('GET', 'received?event_id=c')).body.count, 0)
  assert.equal((await control('GET', 'received')).body.count, 2)
})

it('counts a copy once by its event ID, but every copy of an offline event', async test => {
  const { post, control } = await pinterestUnderTest(test)
  const offline = sampleConversion({ event_id: 'shop-1', action_source: 'offline' })
  for (let times = 0; times < 3; times += 1) await post([sampleConversion(), offline])
  const { counted, deduplicated } = (await control('GET', 'summary')).body
  assert.deepEqual({ counted, deduplicated }, { counted: 4, deduplicated: 2 })
  assert.deepEqual((await control('DELETE', 'received')).body, { forgotten: 6 })
})

it('records no test event as live, and takes at most twenty of them', async test => {
  const { post, control } = await pinterestUnderTest(test)
  const query = '?test=true'
  assert.equal((await post([sampleConversion()], { query })).status, 200)
  assert.equal((await post(Array(21).fill(sampleConversion()), { query })).status, 400)
  const { receipts, test_receipts } = (await control('GET', 'summary')).body
  assert.deepEqual([receipts, test_receipts], [0, 1])
})

it('refuses a revoked token, an unknown account and too many calls', async test => {
  const { post, send, url } = await pinterestUnderTest(test)
  await fetch(`${url}/_simulator/tokens`, {
    method: 'POST',
    body: JSON.stringify({ revoked: ['token-x'] }),
  })
  const { status, body } = await post([sampleConversion()], { token: 'token-x' })
  assert.deepEqual([status, body.code], [401, 2])
  const other = await send({ data: [] }, { path: '/v5/ad_accounts/abc/events' })
  assert.equal(other.status, 404)
  assert.equal(findRequestError(null), 'Invalid request: body: Must be an object.')
})

it('injects faults by the rules of the other platforms', async test => {
  const { post, control } = await pinterestUnderTest(test)
  const script = (...rules: unknown[]) => control('POST', 'faults', { rules })
  await script({ times: 1, respond: { status: 503, headers: { 'retry-after': '9' } } })
  const refused = await post([sampleConversion()])
  assert.deepEqual([refused.status, refused.body.code], [503, 4_197])
  assert.equal(refused.headers.get('retry-after'), '9')
  assert.equal((await post([sampleConversion()])).status, 200)
  await script({ match: { event_id: 'order-2' }, omit_results: true })
  assert.equal((await post([sampleConversion()])).status, 200)
  const unnamed = await post([sampleConversion({ event_id: 'order-2' })])
  assert.deepEqual([unnamed.status, unnamed.body.details], [422, undefined])
  assert.equal((await control('GET', 'received?event_id=order-2')).body.count, 1)
  assert.equal((await script({ match: {} })).status, 422)
  assert.deepEqual((await control('DELETE', 'faults')).body, { rules: [] })
})
