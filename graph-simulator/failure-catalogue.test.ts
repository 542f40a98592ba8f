import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FaultRule } from './fault-rules.ts'
import { sampleEvent, samplePurchase } from './sample-event.ts'
import { type SimulatorUnderTest, simulatorUnderTest } from './simulator-under-test.ts'

/** The reasons for which Meta rejects a token, by subcode ("Handling Errors"). */
const TOKEN_SUBCODES: Record<string, number> = {
  'of a removed app': 458,
  'held up by a checkpoint': 459,
  'from before a new password': 460,
  'that expired': 463,
  'of an unconfirmed user': 464,
  'that was revoked': 467,
  'of an invalid session': 492,
}

for (const [which, subcode] of Object.entries(TOKEN_SUBCODES)) {
  it(`code 190/${subcode}: refuses a token ${which}`, async test => {
    const simulator = await simulatorUnderTest(test)
    await script(simulator, { respond: { status: 400, code: 190, subcode } })
    const { status, body } = await simulator.send({ data: [sampleEvent()] })
    assert.deepEqual([status, body.error.code, body.error.error_subcode], [400, 190, subcode])
    assert.equal(body.error.type, 'OAuthException')
  })
}

/** Responses that are not from Graph, or not complete: [what, rule, status, text]. */
const TEXTS: [what: string, rule: FaultRule, status: number, text: string][] = [
  [
    'a page of a proxy',
    { respond: { status: 502, body: '<html></html>', headers: { 'content-type': 'text/html' } } },
    502,
    '<html></html>',
  ],
  ['an empty body', { respond: { status: 200, body: '' } }, 200, ''],
  ['JSON that stops', { respond: { status: 200, body: '{"events_rec' } }, 200, '{"events_rec'],
  [
    'more events than were sent',
    { respond: { status: 200, body: '{"events_received":9}' } },
    200,
    '{"events_received":9}',
  ],
]

for (const [what, rule, status, text] of TEXTS) {
  it(`returns ${what} with HTTP ${status}`, async test => {
    const simulator = await simulatorUnderTest(test)
    await script(simulator, rule)
    const reply = await simulator.send({ data: [sampleEvent()] })
    assert.deepEqual([reply.status, reply.text], [status, text])
  })
}

it('returns every redirect status', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const status of [301, 302, 303, 307, 308]) {
    await script(simulator, { respond: { status, headers: { location: `${simulator.url}/else` } } })
    const { url } = simulator
    const request = { method: 'POST', redirect: 'manual', body: '{}' } as const
    const response = await fetch(`${url}/v26.0/1234/events`, request)
    assert.deepEqual([response.status, response.headers.get('location')], [status, `${url}/else`])
  }
})

/** The hints of a 429: seconds, a date with the date of the response, percent, none. */
const HINTS: Record<string, string>[] = [
  {},
  { 'retry-after': '120' },
  { date: 'Sat, 21 Nov 2026 12:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2026 12:02:00 GMT' },
  { 'x-app-usage': '{"call_count":100,"total_time":25,"total_cputime":25}' },
]

for (const headers of HINTS) {
  it(`returns 429 with ${Object.keys(headers).join(' and ') || 'no hint'}`, async test => {
    const simulator = await simulatorUnderTest(test)
    await script(simulator, { respond: { status: 429, code: 613, headers } })
    const reply = await simulator.send({ data: [sampleEvent()] })
    assert.equal(reply.status, 429)
    for (const name of ['retry-after', 'x-app-usage'])
      assert.equal(reply.headers.get(name), headers[name] ?? null)
    if (headers.date) assert.equal(reply.headers.get('date'), headers.date)
  })
}

it('adds headers to a successful response and stores its events', async test => {
  const simulator = await simulatorUnderTest(test)
  const headers = {
    'X-App-Usage': '{"call_count":95,"total_time":3,"total_cputime":3}',
    'X-Business-Use-Case-Usage': '{"1":[{"estimated_time_to_regain_access":19}]}',
    'X-Ad-Account-Usage': '{"acc_id_util_pct":100,"reset_time_duration":150}',
    'Retry-After': '7',
    'facebook-api-version': 'v99.0',
  }
  await script(simulator, { times: 1, headers })
  const reply = await simulator.send({ data: [sampleEvent()] })
  assert.deepEqual([reply.status, reply.body.events_received], [200, 1])
  assert.equal(reply.headers.get('x-fb-trace-id'), reply.body.fbtrace_id)
  for (const [name, value] of Object.entries(headers)) assert.equal(reply.headers.get(name), value)
  assert.equal((await simulator.control('GET', 'summary')).body.unique_events, 1)

  const next = await simulator.send({ data: [sampleEvent()] })
  assert.equal(next.headers.get('x-app-usage'), null)
})

it('adds headers to an error, and overrides those of a scripted response', async test => {
  const simulator = await simulatorUnderTest(test)
  const headers = { 'retry-after': '7' }
  await script(simulator, { headers })
  const refused = await simulator.send({ data: [] })
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [400, '7'])

  const own = { 'Retry-After': '1', 'x-own': '1' }
  await script(simulator, { headers, respond: { status: 503, headers: own } })
  const scripted = await simulator.send({ data: [sampleEvent()] })
  assert.equal(scripted.headers.get('retry-after'), '7')
  assert.equal(scripted.headers.get('x-own'), '1')
})

it('stores the first events and returns their number', async test => {
  const simulator = await simulatorUnderTest(test)
  const data = ['a', 'b', 'c'].map(event_id => samplePurchase({ event_id }))
  await script(simulator, { times: 1, keep_events: 2 })
  assert.equal((await simulator.send({ data })).body.events_received, 2)
  assert.deepEqual(await keptIds(simulator), ['a', 'b'])

  assert.equal((await simulator.send({ data })).body.events_received, 3)
  const { unique_events, deduplicated, value_by_currency, refused_requests } = (
    await simulator.control('GET', 'summary')
  ).body
  assert.deepEqual([unique_events, deduplicated, refused_requests], [3, 2, 0])
  assert.deepEqual(value_by_currency, { USD: '59.85' })
})

it('returns 200 with 0 events received and stores none', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { keep_events: 0 })
  const reply = await simulator.send({ data: [sampleEvent()] })
  assert.deepEqual([reply.status, reply.body.events_received], [200, 0])
  assert.deepEqual(await keptIds(simulator), [])
  const { requests, refused_requests } = (await simulator.control('GET', 'summary')).body
  assert.deepEqual([requests, refused_requests], [1, 1])
})

it('stores all events of a shorter request, and still rejects an invalid one', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, { keep_events: 1 })
  assert.equal((await simulator.send({ data: [sampleEvent()] })).body.events_received, 1)
  const data = [sampleEvent(), sampleEvent({ event_name: '' })]
  assert.equal((await simulator.send({ data })).status, 400)
})

it('fails one event name of one dataset and accepts all others', async test => {
  const simulator = await simulatorUnderTest(test)
  await script(simulator, {
    match: { dataset: '1234', event_name: 'Purchase' },
    respond: { status: 500, code: 2, is_transient: true },
  })
  const view = { data: [sampleEvent()] }
  const purchase = { data: [samplePurchase()] }
  assert.equal((await simulator.send(purchase)).status, 500)
  assert.equal((await simulator.send(view)).status, 200)
  assert.equal((await simulator.send(purchase, { dataset: '5678' })).status, 200)
})

async function script(simulator: SimulatorUnderTest, rule: FaultRule): Promise<void> {
  const { status } = await simulator.control('POST', 'faults', { rules: [rule] })
  assert.equal(status, 200)
}

async function keptIds(simulator: SimulatorUnderTest): Promise<string[]> {
  const { events } = (await simulator.control('GET', 'received')).body
  return events.map(({ event_id }: { event_id: string }) => event_id)
}
