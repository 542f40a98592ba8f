import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  SAMPLE_DIGEST,
  SAMPLE_NOW_SECONDS,
  type SampleEvent,
  sampleEvent,
  samplePurchase,
} from './sample-event.ts'
import { type SimulatorUnderTest, simulatorUnderTest } from './simulator-under-test.ts'

const DAY_SECONDS = 86_400

it('400 refuses the whole request for one invalid event and stores nothing', async test => {
  const simulator = await simulatorUnderTest(test)
  const data = [sampleEvent(), sampleEvent({ event_name: undefined }), sampleEvent()]
  const reply = await simulator.send({ data })
  assert.equal(reply.status, 400)
  assert.deepEqual(Object.keys(reply.body.error), [
    'message',
    'type',
    'code',
    'error_subcode',
    'is_transient',
    'error_user_title',
    'error_user_msg',
    'fbtrace_id',
    'error_data',
  ])
  assert.equal(reply.body.error.type, 'OAuthException')
  assert.deepEqual(reply.body.error.error_data, { blame_field_specs: [['event_name']] })
  assert.equal((await simulator.control('GET', 'received')).body.count, 0)
})

it('400 without events and for more than 1,000; 200 for 1,000', async test => {
  const simulator = await simulatorUnderTest(test)
  const events = Array.from({ length: 1_001 }, (_, index) => sampleEvent({ event_id: `e${index}` }))
  assert.deepEqual(blameOf(await simulator.send({ data: [] })), ['data'])
  assert.deepEqual(blameOf(await simulator.send({ data: events })), ['data'])
  assert.equal((await simulator.send({ data: events.slice(1) })).body.events_received, 1_000)
})

it('400 names a field that is missing or has the wrong type', async test => {
  const simulator = await simulatorUnderTest(test)
  const cases: [SampleEvent, string[]][] = [
    [{ event_name: undefined }, ['event_name']],
    [{ event_name: '' }, ['event_name']],
    [{ event_name: 7 }, ['event_name']],
    [{ event_time: undefined }, ['event_time']],
    [{ event_time: '2026-11-21T12:00:00Z' }, ['event_time']],
    [{ event_time: SAMPLE_NOW_SECONDS + 0.5 }, ['event_time']],
    [{ event_id: 7 }, ['event_id']],
    [{ action_source: undefined }, ['action_source']],
    [{ action_source: 'carrier_pigeon' }, ['action_source']],
    [{ user_data: [] }, ['user_data']],
    [{ user_data: { fbp: true } }, ['user_data', 'fbp']],
    [{ user_data: { em: [{}] } }, ['user_data', 'em']],
    [{ custom_data: [] }, ['custom_data']],
  ]
  for (const [members, blame] of cases) {
    const reply = await simulator.send({ data: [sampleEvent(members)] })
    assert.equal(reply.status, 400)
    assert.equal(reply.body.error.code, 100)
    assert.deepEqual(blameOf(reply), blame, JSON.stringify(members))
  }
  for (const event of [null, 'text', [], 7])
    assert.deepEqual(blameOf(await simulator.send({ data: [event] })), ['data'])
})

it('200 accepts every action_source', async test => {
  const simulator = await simulatorUnderTest(test)
  const sources =
    'email website app phone_call chat physical_store system_generated business_messaging other'
  const data = sources.split(' ').map(action_source => sampleEvent({ action_source }))
  assert.equal((await simulator.send({ data })).status, 200)
})

it('400 with subcode 2804003 for an event older than 7 days, to the second', async test => {
  const simulator = await simulatorUnderTest(test)
  assert.equal(await subcodeAtAge(simulator, 7 * DAY_SECONDS, 'website'), undefined)
  assert.equal(await subcodeAtAge(simulator, 7 * DAY_SECONDS + 1, 'website'), 2804003)
})

it('400 with subcode 2804003 for a physical_store event older than 62 days', async test => {
  const simulator = await simulatorUnderTest(test)
  assert.equal(await subcodeAtAge(simulator, 62 * DAY_SECONDS, 'physical_store'), undefined)
  assert.equal(await subcodeAtAge(simulator, 62 * DAY_SECONDS + 1, 'physical_store'), 2804003)
})

it('400 for an event more than five minutes in the future, such as one in milliseconds', async test => {
  const simulator = await simulatorUnderTest(test)
  assert.equal(await subcodeAtAge(simulator, -300, 'website'), undefined)
  assert.equal(await subcodeAtAge(simulator, -301, 'website'), 2804004)
  const milliseconds = sampleEvent({ event_time: SAMPLE_NOW_SECONDS * 1_000 })
  assert.equal(subcodeOf(await simulator.send({ data: [milliseconds] })), 2804004)
})

it('400 with subcode 2804050 for missing or too broad customer information', async test => {
  const simulator = await simulatorUnderTest(test)
  const digest = SAMPLE_DIGEST
  const tooBroad: unknown[] = [
    undefined,
    null,
    {},
    { unknown_key: 'x' },
    { em: [] },
    { em: [''] },
    { fbp: '' },
    { client_user_agent: 'Mozilla/5.0' },
    { ct: digest, country: digest, st: digest, zp: digest, ge: digest, client_user_agent: 'x' },
    { db: digest, client_user_agent: 'x' },
    { fn: digest, ge: digest },
    { ln: [digest], ge: [digest] },
  ]
  for (const user_data of tooBroad) {
    const reply = await simulator.send({ data: [sampleEvent({ user_data })] })
    assert.equal(subcodeOf(reply), 2804050, JSON.stringify(user_data))
  }
})

it('200 for the minimum customer information', async test => {
  const simulator = await simulatorUnderTest(test)
  const digest = SAMPLE_DIGEST
  const enough = [
    { client_ip_address: '203.0.113.9' },
    { fn: digest, ln: digest },
    { fn: digest, zp: digest },
    { db: digest, ge: digest },
    { external_id: 'customer-7' },
    { lead_id: 525645896321548 },
    { fbc: 'fb.1.1700000000000.AbC' },
  ]
  for (const user_data of enough) {
    const reply = await simulator.send({ data: [sampleEvent({ user_data })] })
    assert.equal(reply.status, 200, JSON.stringify(user_data))
  }
})

it('400 for an identifier that is not hashed, without quoting it', async test => {
  const simulator = await simulatorUnderTest(test)
  const md5 = 'd'.repeat(32)
  for (const key of ['em', 'ph', 'fn', 'ln', 'ge', 'db', 'ct', 'st', 'zp', 'country']) {
    for (const value of ['ada@example.com', [SAMPLE_DIGEST, 'ada@example.com'], md5, 4915112345]) {
      const user_data = { fbp: 'fb.1.1700000000000.1', [key]: value }
      const reply = await simulator.send({ data: [sampleEvent({ user_data })] })
      assert.deepEqual(blameOf(reply), ['user_data', key])
      assert.equal(subcodeOf(reply), 2804016)
      assert.ok(!reply.text.includes('ada@'))
    }
  }
})

it('200 for digests in either case, single or listed, with or without a suffix', async test => {
  const simulator = await simulatorUnderTest(test)
  const upper = SAMPLE_DIGEST.toUpperCase()
  const suffixed = [`${SAMPLE_DIGEST}.AQ`, `${SAMPLE_DIGEST}.AQICAwQF`]
  for (const em of [SAMPLE_DIGEST, upper, [SAMPLE_DIGEST, upper], suffixed]) {
    const reply = await simulator.send({ data: [sampleEvent({ user_data: { em } })] })
    assert.equal(reply.status, 200)
  }
})

it('400 with subcode 2804009 for a Purchase without value or currency', async test => {
  const simulator = await simulatorUnderTest(test)
  const incomplete = [undefined, null, {}, { value: 1 }, { currency: 'USD' }]
  for (const custom_data of [...incomplete, { value: null, currency: 'USD' }]) {
    const reply = await simulator.send({ data: [samplePurchase({ custom_data })] })
    assert.equal(subcodeOf(reply), 2804009, JSON.stringify(custom_data))
    const other = await simulator.send({ data: [sampleEvent({ custom_data })] })
    assert.equal(other.status, 200)
  }
})

it('400 for a non-numeric value and a currency that is not in ISO 4217', async test => {
  const simulator = await simulatorUnderTest(test)
  const cases: [SampleEvent, string][] = [
    [{ value: '12,50', currency: 'USD' }, 'value'],
    [{ value: '1e3', currency: 'USD' }, 'value'],
    [{ value: true, currency: 'USD' }, 'value'],
    [{ value: [1], currency: 'USD' }, 'value'],
    [{ value: 1, currency: 'US' }, 'currency'],
    [{ value: 1, currency: '$' }, 'currency'],
    [{ value: 1, currency: 840 }, 'currency'],
  ]
  for (const [custom_data, member] of cases) {
    for (const event of [sampleEvent({ custom_data }), samplePurchase({ custom_data })])
      assert.deepEqual(blameOf(await simulator.send({ data: [event] })), ['custom_data', member])
  }
})

it('400 for a Purchase with a negative value, and 200 for other events with one', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const value of [-0.01, '-19.95']) {
    const custom_data = { value, currency: 'USD' }
    const reply = await simulator.send({ data: [samplePurchase({ custom_data })] })
    assert.deepEqual(blameOf(reply), ['custom_data', 'value'])
    assert.equal((await simulator.send({ data: [sampleEvent({ custom_data })] })).status, 200)
  }
})

it('400 for a Purchase value with too many digits for an exact sum', async test => {
  const simulator = await simulatorUnderTest(test)
  const body = JSON.stringify({ data: [samplePurchase()] })
  for (const number of ['1e999', '1e-999999999', '1'.repeat(65)]) {
    const reply = await simulator.send(body.replace('19.95', number))
    assert.deepEqual(blameOf(reply), ['custom_data', 'value'], number)
  }
  assert.equal((await simulator.control('GET', 'received')).body.count, 0)
})

it('200 for a website event without user agent and page URL, like Meta', async test => {
  const simulator = await simulatorUnderTest(test)
  const event = sampleEvent({ event_source_url: undefined, user_data: { em: SAMPLE_DIGEST } })
  assert.equal((await simulator.send({ data: [event] })).status, 200)
})

async function subcodeAtAge(
  simulator: SimulatorUnderTest,
  ageSeconds: number,
  action_source: string,
): Promise<number | undefined> {
  const event_time = SAMPLE_NOW_SECONDS - ageSeconds
  return subcodeOf(await simulator.send({ data: [sampleEvent({ event_time, action_source })] }))
}

function subcodeOf({ body }: { body: { error?: { error_subcode: number } } }): number | undefined {
  return body.error?.error_subcode
}

function blameOf({
  body,
}: {
  body: { error?: { error_data: { blame_field_specs: string[][] } } }
}) {
  return body.error?.error_data.blame_field_specs[0]
}
