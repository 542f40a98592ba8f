import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MATCH_KEYS } from './match-keys.ts'
import { SAMPLE_DIGEST, SAMPLE_NOW_SECONDS, sampleEvent, samplePurchase } from './sample-event.ts'
import { type Reply, type SimulatorUnderTest, simulatorUnderTest } from './simulator-under-test.ts'

const SCORES =
  'web{event_name,event_match_quality{composite_score,match_key_feedback{identifier,' +
  'coverage{percentage},potential_aly_acr_increase{percentage}}}}'
const EVERY_KEY = Object.fromEntries(
  MATCH_KEYS.map(({ key }) => [key, key.length === 2 || key === 'country' ? SAMPLE_DIGEST : 'x']),
)

function quality(simulator: SimulatorUnderTest, fields = SCORES, dataset = '1234'): Promise<Reply> {
  return simulator.read('dataset_quality', { dataset_id: dataset, fields })
}

async function scoreOf(simulator: SimulatorUnderTest, eventName: string): Promise<number> {
  const { body } = await quality(simulator)
  const entry = body.web.find((each: { event_name: string }) => each.event_name === eventName)
  return entry.event_match_quality.composite_score
}

it('200 returns the score of each event name and the potential gain of each key', async test => {
  const simulator = await simulatorUnderTest(test)
  const user_data = { em: [SAMPLE_DIGEST], client_user_agent: 'Mozilla/5.0' }
  const without = { client_ip_address: '198.51.100.7', client_user_agent: 'Mozilla/5.0' }
  await simulator.send({
    data: [
      samplePurchase({ event_id: 'a', user_data }),
      samplePurchase({ event_id: 'b', user_data: without }),
    ],
  })
  const { body } = await quality(simulator)
  const feedback = (identifier: string, percentage: number, gain: number) => ({
    identifier,
    coverage: { percentage },
    ...(percentage < 100 && { potential_aly_acr_increase: { percentage: gain } }),
  })
  assert.deepEqual(body, {
    web: [
      {
        event_name: 'Purchase',
        event_match_quality: {
          // 2.5 and 0.8 by half, 0.7 whole.
          composite_score: 2.4,
          match_key_feedback: [
            feedback('email', 50, 12.5),
            feedback('phone', 0, 15),
            feedback('fbc', 0, 15),
            feedback('external_id', 0, 10),
            feedback('fbp', 0, 10),
            feedback('ip_address', 50, 4),
            feedback('user_agent', 100, 0),
          ],
        },
      },
    ],
  })
})

it('200 returns a higher score for more keys, and ten points for all keys', async test => {
  const simulator = await simulatorUnderTest(test)
  const given: Record<string, unknown> = {}
  let before = 0
  for (const [index, { key }] of MATCH_KEYS.entries()) {
    given[key] = EVERY_KEY[key]
    const event_name = `With${index}`
    const user_data = { ...given }
    await simulator.send({ data: [sampleEvent({ event_name, event_id: event_name, user_data })] })
    const score = await scoreOf(simulator, event_name)
    assert.ok(score >= before, key)
    before = score
  }
  assert.equal(before, 10)
})

it('200 reflects added keys within the week and excludes older events', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent({ user_data: { em: [SAMPLE_DIGEST] } })] })
  assert.equal(await scoreOf(simulator, 'PageView'), 2.5)
  simulator.advance(6 * 86_400)
  const event_time = SAMPLE_NOW_SECONDS + 6 * 86_400
  const event = sampleEvent({ event_id: 'b', event_time, user_data: EVERY_KEY })
  await simulator.send({ data: [event] })
  assert.equal(await scoreOf(simulator, 'PageView'), 6.3)
  simulator.advance(86_400)
  assert.equal(await scoreOf(simulator, 'PageView'), 10)
  simulator.advance(7 * 86_400)
  assert.deepEqual((await quality(simulator)).body, { web: [] })
})

it('200 counts website events only, test events included', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent({ event_name: 'Call', action_source: 'phone_call' })] })
  await simulator.send({ data: [sampleEvent()], test_event_code: 'TEST1' })
  assert.deepEqual((await quality(simulator, 'web{event_name}')).body, {
    web: [{ event_name: 'PageView' }],
  })
})

it('200 returns event coverage, data freshness and diagnostics', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent({ user_data: { external_id: 'x' } })] })
  const fields = 'web{event_coverage,data_freshness{upload_frequency},acr,event_match_quality}'
  const [alone] = (await quality(simulator, fields)).body.web
  assert.deepEqual(Object.keys(alone), ['event_match_quality', 'data_freshness'])
  assert.deepEqual(alone.data_freshness, { upload_frequency: 'real_time' })
  const [diagnostic] = alone.event_match_quality.diagnostics
  assert.deepEqual([diagnostic.affected_event_count, diagnostic.total_event_count], [1, 1])

  await simulator.control('POST', 'other-events', {
    dataset: '1234',
    source: 'browser',
    events: [{ event_name: 'PageView', event_time: SAMPLE_NOW_SECONDS, count: 4 }],
  })
  const [compared] = (await quality(simulator, 'web{event_coverage{percentage}}')).body.web
  assert.deepEqual(compared, { event_coverage: { percentage: 25 } })
})

it('400 with code 100 for a dataset without events', async test => {
  const simulator = await simulatorUnderTest(test)
  const { status, body } = await quality(simulator)
  assert.deepEqual([status, body.error.code], [400, 100])
  assert.equal(body.error.message, '(#100) Permission Denied')
})

it('400 with code 100 for unknown or malformed fields', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent()] })
  const unknown = [
    'web{score}',
    'app',
    'web{event_name{length}}',
    'web{__proto__}',
    'web{toString}',
  ]
  const unreadable = ['', 'web{', 'web{}', 'web}', 'web{event_name', 'web,,', 'web{acr};', ',']
  const deep = `${'web{'.repeat(20)}web${'}'.repeat(20)}`
  for (const fields of [...unknown, ...unreadable, deep, 'a'.repeat(10_001)]) {
    const { status, body } = await quality(simulator, fields)
    assert.deepEqual([status, body.error?.code], [400, 100], fields)
  }
  assert.equal((await quality(simulator, 'web')).body.web.length, 1)
  const query = { dataset_id: '1234', fields: 'web', agent_name: 'signalbox' }
  assert.equal((await simulator.read('dataset_quality', query)).status, 400)
})
