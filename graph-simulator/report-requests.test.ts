import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FaultEdge } from './fault-rules.ts'
import { sampleEvent } from './sample-event.ts'
import { type SimulatorUnderTest, simulatorUnderTest } from './simulator-under-test.ts'

const EDGES: [edge: FaultEdge, path: string, query: Record<string, string>][] = [
  ['stats', '1234/stats', { aggregation: 'event' }],
  ['dataset_quality', 'dataset_quality', { dataset_id: '1234', fields: 'web{event_name}' }],
]

async function known(simulator: SimulatorUnderTest): Promise<void> {
  await simulator.send({ data: [sampleEvent()] })
}

for (const [edge, path, query] of EDGES) {
  it(`401 on ${edge} without a token and with a revoked one`, async test => {
    const simulator = await simulatorUnderTest(test)
    await known(simulator)
    const place = `${simulator.url}/v26.0/${path}?${new URLSearchParams(query)}`
    const missing = await fetch(place)
    assert.equal(missing.status, 401)
    assert.equal((await fetch(`${place}&access_token=token-a`)).status, 200)
    await simulator.control('POST', 'tokens', { revoked: ['token-a'] })
    const { status, body } = await simulator.read(path, query)
    assert.deepEqual([status, body.error.code, body.error.error_subcode], [401, 190, 467])
  })

  it(`fails on ${edge} only`, async test => {
    const simulator = await simulatorUnderTest(test)
    await known(simulator)
    for (const [status, code] of [
      [400, 100],
      [401, 190],
      [403, 200],
      [400, 368],
      [429, 80_004],
    ]) {
      const respond = { status, code, message: `(#${code}) Permission Denied` }
      const rules = [{ edge, match: { dataset: '1234' }, respond, headers: { 'x-a': '1' } }]
      await simulator.control('POST', 'faults', { rules })
      const reply = await simulator.read(path, query)
      assert.deepEqual([reply.status, reply.body.error.code], [status, code])
      assert.equal(reply.headers.get('x-a'), '1')
      assert.equal((await simulator.send({ data: [sampleEvent()] })).status, 200)
      const [other = edge] = EDGES.find(([name]) => name !== edge) ?? []
      const spared = EDGES.find(([name]) => name === other)
      assert.equal((await simulator.read(spared?.[1] ?? '', spared?.[2])).status, 200)
    }
  })

  it(`aborts, delays and truncates responses of ${edge}`, async test => {
    const simulator = await simulatorUnderTest(test)
    await known(simulator)
    for (const effect of [{ abort: 'before_response' }, { truncate: 3 }]) {
      await simulator.control('POST', 'faults', { rules: [{ edge, ...effect }] })
      await assert.rejects(simulator.read(path, query))
    }
    await simulator.control('POST', 'faults', { rules: [{ edge, delay_ms: 1 }] })
    assert.equal((await simulator.read(path, query)).status, 200)
  })

  it(`400 with code 100 and subcode 33 for a POST to ${edge} or without a dataset`, async test => {
    const simulator = await simulatorUnderTest(test)
    await known(simulator)
    const posted = await simulator.send('{}', { path: `/v26.0/${path}?dataset_id=1234` })
    const unknown = await simulator.read(path.replace('1234', 'mine'), {
      ...query,
      dataset_id: 'x',
    })
    for (const { status, body } of [posted, unknown])
      assert.deepEqual([status, body.error.code, body.error.error_subcode], [400, 100, 33])
  })
}

it('a rule without an edge does not match the read-only edges', async test => {
  const simulator = await simulatorUnderTest(test)
  await known(simulator)
  await simulator.control('POST', 'faults', { rules: [{ respond: { status: 503, code: 2 } }] })
  for (const [, path, query] of EDGES) assert.equal((await simulator.read(path, query)).status, 200)
  assert.equal((await simulator.send({ data: [sampleEvent()] })).status, 503)
})

it('422 for a rule on a read-only edge with event conditions', async test => {
  const simulator = await simulatorUnderTest(test)
  const effect = { delay_ms: 1 }
  const rules: [object, string[]][] = [
    [{ edge: 'insights', ...effect }, ['.edge']],
    [
      { edge: 'stats', match: { event_name: 'a', event_id: 'b', test: true }, ...effect },
      ['.match.event_name', '.match.event_id', '.match.test'],
    ],
    [{ edge: 'stats', keep_events: 1 }, ['.keep_events']],
    [{ edge: 'dataset_quality', abort: 'after_store' }, ['.abort']],
    [{ edge: 'events', keep_events: 1, match: { event_id: 'b' } }, []],
  ]
  const reply = await simulator.control('POST', 'faults', { rules: rules.map(([rule]) => rule) })
  assert.equal(reply.status, 422)
  const expected = rules.flatMap(([, fields], index) =>
    fields.map(field => `rules.${index}${field}`),
  )
  assert.deepEqual(Object.keys(reply.body.errors), expected)
})
