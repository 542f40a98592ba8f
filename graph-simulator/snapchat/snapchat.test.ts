import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'
import { SNAPCHAT_CONTRACT } from './contract/snapchat-contract.ts'
import {
  APP_DATA_MEMBERS,
  CUSTOM_DATA_MEMBERS,
  EVENT_MEMBERS,
  ITEM_MEMBERS,
  USER_DATA_MEMBERS,
} from './validate-snap-events.ts'

const DIGEST = 'ab'.repeat(32)
const ASSET = '1ec32188-754e-4be2-8e55-c949a984a39f'
const NOW_SECONDS = Math.floor(SAMPLE_NOW.getTime() / 1_000)

function sampleEvent(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event_name: 'PURCHASE',
    action_source: 'WEB',
    event_time: NOW_SECONDS - 60,
    event_id: 'order-1',
    event_source_url: 'https://shop.example/',
    user_data: { em: [DIGEST] },
    custom_data: { value: 19.9, currency: 'EUR' },
    ...members,
  }
}

async function snapchatUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (data: unknown[], { path = 'events', token = 'token-a', asset = ASSET } = {}) =>
    simulator.send(
      { data },
      {
        path: `/v3/${asset}/${path}?access_token=${token}`,
        headers: { 'content-type': 'application/json' },
      },
    )
  const control = (method: string, path: string, body?: unknown) =>
    simulator.control(method, `snapchat/${path}`, body)
  return { ...simulator, post, control }
}

it('knows no member that the library of Snap does not have, and answers in its form', async test => {
  for (const [model, members] of Object.entries({
    event: EVENT_MEMBERS,
    user_data: USER_DATA_MEMBERS,
    custom_data: CUSTOM_DATA_MEMBERS,
    app_data: APP_DATA_MEMBERS,
    item: ITEM_MEMBERS,
  })) {
    const known = SNAPCHAT_CONTRACT.listMembers(model)
    for (const name of Object.keys(members)) assert.ok(known.includes(name), `${model}.${name}`)
  }
  const { post } = await snapchatUnderTest(test)
  const taken = await post([sampleEvent()])
  assert.deepEqual([taken.status, taken.body.status], [200, 'VALID'])
  const refused = await post([sampleEvent({ event_name: 'Lead' })])
  assert.deepEqual([refused.status, refused.body.status], [400, 'INVALID'])
  const validated = await post([sampleEvent()], { path: 'events/validate' })
  assert.equal(validated.body.test_event, true)
  for (const { body } of [taken, refused]) {
    assert.deepEqual(SNAPCHAT_CONTRACT.findProblems('answer', body), [])
  }
  assert.deepEqual(SNAPCHAT_CONTRACT.findProblems('validation', validated.body), [])
})

it('refuses a whole request for one event, and names its number', async test => {
  const { post, control } = await snapchatUnderTest(test)
  for (const [members, reason] of [
    [{ event_name: 'Purchase' }, /Unrecognized event type/],
    [{ action_source: 'website' }, /action_source/],
    [{ event_time: NOW_SECONDS - 37 * 86_400 - 1 }, /out of range/],
    [{ event_time: (NOW_SECONDS - 60) * 1_000 }, /out of range/],
    [{ event_source_url: '' }, /event_source_url/],
    [{ custom_data: { value: 1 } }, /price and\/or currency/],
    [{ user_data: { em: ['jane@example.com'] } }, /Unhashed PII in user_data.em: jane@/],
    [{ user_data: { em: [DIGEST], external_id: '4711' } }, /Unhashed PII/],
    [{ user_data: { em: [DIGEST], client_ip_address: DIGEST } }, /hashed IP/],
    [{ user_data: { sc_click_id: 'c', client_user_agent: 'B/1' } }, /Insufficient PII/],
  ] as const) {
    const { status, body } = await post([sampleEvent(), sampleEvent(members)])
    assert.deepEqual([status, body.status, body.event], [400, 'INVALID', 1])
    assert.match(body.reason, reason)
  }
  for (const data of [[], [sampleEvent({ color: 'red' })], Array(2_001).fill(sampleEvent())]) {
    assert.deepEqual((await post(data)).body.event, undefined)
  }
  assert.equal((await control('GET', 'summary')).body.receipts, 0)
  const oldest = { event_id: 'b', event_time: NOW_SECONDS - 37 * 86_400 }
  const text = { event_id: 'c', custom_data: { value: '19.90', currency: 'EUR' } }
  assert.equal((await post([sampleEvent(oldest), sampleEvent(text)])).status, 200)
})

it('counts a copy once by its event ID, and no validated event', async test => {
  const { post, control } = await snapchatUnderTest(test)
  for (let times = 0; times < 2; times += 1) await post([sampleEvent()])
  await post([sampleEvent({ event_id: 'test-1' })], { path: 'events/validate' })
  const { counted, deduplicated, test_receipts } = (await control('GET', 'summary')).body
  assert.deepEqual([counted, deduplicated, test_receipts], [1, 1, 1])
  assert.equal((await control('GET', 'received?event_id=test-1')).body.events[0].test, true)
})

it('reads the token from the query alone, and shows it nowhere', async test => {
  const { post, send, control, url } = await snapchatUnderTest(test)
  const path = `/v3/${ASSET}/events`
  const headers = { authorization: 'Bearer token-a' }
  assert.equal((await send({ data: [sampleEvent()] }, { path, headers })).status, 401)
  assert.equal((await post([sampleEvent()], { asset: 'a' })).status, 404)
  await fetch(`${url}/_simulator/tokens`, {
    method: 'POST',
    body: JSON.stringify({ revoked: ['token-x'] }),
  })
  const { status, body } = await post([sampleEvent()], { token: 'token-x' })
  assert.deepEqual([status, body.status], [401, 'INVALID'])
  await post([sampleEvent()], { token: 'token-of-snap' })
  for (const list of ['received', 'summary', 'faults']) {
    assert.ok(!(await control('GET', list)).text.includes('token-of-snap'), list)
  }
})
