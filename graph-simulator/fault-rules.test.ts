import assert from 'node:assert/strict'
import { it } from 'node:test'
import { simulatorUnderTest } from './simulator-under-test.ts'

it('422 names every invalid field of every rule by its dotted path', async test => {
  const simulator = await simulatorUnderTest(test)
  const respond = { status: 500 }
  const rules: [unknown, string][] = [
    ['text', ''],
    [{}, ''],
    [{ match: { dataset: '1' } }, ''],
    [{ respond: {} }, '.respond.status'],
    [{ respond: { status: 99 } }, '.respond.status'],
    [{ respond: { status: 500, code: '2' } }, '.respond.code'],
    [{ respond: { status: 500, subcode: 1.5 } }, '.respond.subcode'],
    [{ respond: { status: 500, is_transient: 'yes' } }, '.respond.is_transient'],
    [{ respond: { status: 500, body: {} } }, '.respond.body'],
    [{ respond: { status: 500, headers: [] } }, '.respond.headers'],
    [{ respond: { status: 500, headers: { 'x-a': 1 } } }, '.respond.headers.x-a'],
    [{ respond: { status: 500, headers: { 'x-a': 'a\r\nb: c' } } }, '.respond.headers.x-a'],
    [{ respond: { status: 500, headers: { 'x a': '1' } } }, '.respond.headers.x a'],
    [
      { respond: { status: 500, headers: { 'Content-Length': '1' } } },
      '.respond.headers.Content-Length',
    ],
    [{ respond, match: [] }, '.match'],
    [{ respond, match: { test: 'true' } }, '.match.test'],
    [{ respond, match: { from: 'tomorrow' } }, '.match.from'],
    [{ respond, match: { until: '2026-11-21T12:00:00' } }, '.match.until'],
    [{ respond, match: { event: 'Purchase' } }, '.match.event'],
    [{ respond, times: 0 }, '.times'],
    [{ respond, probability: 1.1 }, '.probability'],
    [{ respond, seed: -1 }, '.seed'],
    [{ respond, response: {} }, '.response'],
    [{ respond, toString: 1 }, '.toString'],
    [{ headers: 'x-app-usage' }, '.headers'],
    [{ headers: { 'x-app-usage': { call_count: 95 } } }, '.headers.x-app-usage'],
    [{ headers: { 'retry after': '7' } }, '.headers.retry after'],
    [{ respond, headers: { 'Transfer-Encoding': 'x' } }, '.headers.Transfer-Encoding'],
    [{ keep_events: -1 }, '.keep_events'],
    [{ keep_events: 1_001 }, '.keep_events'],
    [{ keep_events: 1, respond }, '.keep_events'],
    [{ keep_events: 1, abort: 'before_response' }, '.keep_events'],
    [{ delay_ms: 600_001 }, '.delay_ms'],
    [{ truncate: -1 }, '.truncate'],
    [{ abort: 'later' }, '.abort'],
    [{ abort: 'after_store', respond }, '.abort'],
    [{ abort: 'before_response', truncate: 1 }, '.abort'],
    [{ abort: 'after_store', headers: { 'retry-after': '7' } }, '.abort'],
  ]
  const reply = await simulator.control('POST', 'faults', { rules: rules.map(([rule]) => rule) })
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body), ['message', 'errors'])
  const expected = rules.map(([, field], index) => `rules.${index}${field}`)
  assert.deepEqual(Object.keys(reply.body.errors), expected)
  for (const sentences of Object.values(reply.body.errors)) assert.ok(Array.isArray(sentences))
})

it('422 for a body without a list of rules, or with too many rules', async test => {
  const simulator = await simulatorUnderTest(test)
  const many = Array.from({ length: 101 }, () => ({ delay_ms: 1 }))
  for (const body of [undefined, [], {}, { rules: {} }, { rules: many }, { rules: [], more: 1 }])
    assert.equal((await simulator.control('POST', 'faults', body)).status, 422)
})

it('422 leaves the active rules unchanged', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.control('POST', 'faults', { rules: [{ delay_ms: 1 }] })
  await simulator.control('POST', 'faults', { rules: [{ delay_ms: 2 }, { delay_ms: 'x' }] })
  const { body } = await simulator.control('GET', 'faults')
  assert.deepEqual(body.rules, [{ delay_ms: 1, fired: 0 }])
})

it('200 accepts every member of a rule', async test => {
  const simulator = await simulatorUnderTest(test)
  const rule = {
    match: {
      dataset: '1234',
      event_name: 'Purchase',
      event_id: 'event-1',
      test: false,
      from: '2026-11-21T12:00:00Z',
      until: '2026-11-21T14:00:00.5+01:00',
    },
    times: 3,
    probability: 0.5,
    seed: 42,
    respond: { status: 400, code: -3, subcode: 1, message: '', headers: { 'retry-after': '1' } },
    headers: { 'x-app-usage': '{"call_count":95}' },
    delay_ms: 10,
    truncate: 0,
  }
  const partial = { keep_events: 0, abort: 'after_store' }
  const reply = await simulator.control('POST', 'faults', { rules: [rule, partial] })
  assert.deepEqual(reply.body, {
    rules: [
      { ...rule, fired: 0 },
      { ...partial, fired: 0 },
    ],
  })
})
