import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SAMPLE_NOW, sampleEvent, samplePurchase } from './sample-event.ts'
import { simulatorUnderTest } from './simulator-under-test.ts'

const HOUR_SECONDS = 3_600

it('200 returns received events with the trace ID that the sender got', async test => {
  const simulator = await simulatorUnderTest(test)
  const event = samplePurchase({ opt_out: true })
  const sent = await simulator.send({ data: [event], partner_agent: 'signalbox' })
  const { body } = await simulator.control('GET', 'received')
  assert.deepEqual(body, {
    count: 1,
    events: [
      {
        dataset: '1234',
        event_id: 'event-1',
        event_name: 'Purchase',
        event_time: event.event_time,
        user_data: event.user_data,
        custom_data: event.custom_data,
        other_members: {
          action_source: 'website',
          event_source_url: 'https://shop.example/checkout',
          opt_out: true,
        },
        test_event_code: null,
        partner_agent: 'signalbox',
        deduplicated: false,
        request_id: sent.body.fbtrace_id,
        received_at: SAMPLE_NOW.toISOString(),
      },
    ],
  })
})

it('200 returns null for members that an event lacks', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent({ event_id: undefined })] })
  const [shown] = (await simulator.control('GET', 'received')).body.events
  assert.equal(shown.event_id, null)
  assert.equal(shown.custom_data, null)
})

it('200 returns money with the exact digits that were sent', async test => {
  const simulator = await simulatorUnderTest(test)
  const body = JSON.stringify({ data: [samplePurchase()] })
  for (const digits of ['19.90', '10.00', '123456789012345.678901', '"5.10"', '1E2']) {
    await simulator.control('DELETE', 'received')
    assert.equal((await simulator.send(body.replace('19.95', digits))).status, 200)
    const { text } = await simulator.control('GET', 'received')
    assert.ok(text.includes(`"value":${digits},"currency":"USD"`), text)
  }
})

it('200 returns text in any script unchanged, from multi-line bodies too', async test => {
  const simulator = await simulatorUnderTest(test)
  const custom_data = { content_name: 'Čaj "zelený" \\ 緑茶 🍵', value: 1, currency: 'CZK' }
  const data = [sampleEvent({ custom_data }), sampleEvent({ event_id: 'šálek' })]
  await simulator.send(JSON.stringify({ data }, null, 2))
  const { body } = await simulator.control('GET', 'received')
  assert.deepEqual(body.events[0].custom_data, custom_data)
  const found = await simulator.control('GET', `received?event_id=${encodeURIComponent('šálek')}`)
  assert.equal(found.body.count, 1)
})

it('200 filters by dataset and event_id, and counts all matches beyond the limit', async test => {
  const simulator = await simulatorUnderTest(test)
  const data = Array.from({ length: 150 }, (_, index) => sampleEvent({ event_id: `e${index}` }))
  await simulator.send({ data }, { dataset: '1' })
  await simulator.send({ data: data.slice(0, 20) }, { dataset: '2' })

  const found = async (query: string) => {
    const { body } = await simulator.control('GET', `received?${query}`)
    return [body.count, body.events.length]
  }
  assert.deepEqual(await found(''), [170, 100])
  assert.deepEqual(await found('dataset=1&limit=10000'), [150, 150])
  assert.deepEqual(await found('dataset=2&limit=5'), [20, 5])
  assert.deepEqual(await found('event_id=e7'), [2, 2])
  assert.deepEqual(await found('event_id=e7&dataset=2'), [1, 1])
  assert.deepEqual(await found('event_id=none'), [0, 0])
  assert.deepEqual(await found('limit=0'), [170, 0])
  assert.deepEqual(await found('limit=99999'), [170, 170])
})

it('422 for a limit that is not an integer', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const limit of ['-1', 'many', '1.5', '']) {
    const reply = await simulator.control('GET', `received?limit=${limit}`)
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors), ['limit'])
  }
})

it('200 deletes received events, totals and deduplication windows', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [samplePurchase()] })
  const { body } = await simulator.control('DELETE', 'received')
  assert.deepEqual(body, { forgotten: 1 })
  assert.deepEqual((await simulator.control('GET', 'received')).body, { count: 0, events: [] })
  assert.equal((await simulator.control('GET', 'summary')).body.requests, 0)

  await simulator.send({ data: [samplePurchase()] })
  const [again] = (await simulator.control('GET', 'received')).body.events
  assert.equal(again.deduplicated, false)
})

it('422 refuses to delete with a filter, because it would delete everything', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent()] })
  assert.equal((await simulator.control('DELETE', 'received?dataset=9')).status, 422)
  assert.equal((await simulator.control('GET', 'received')).body.count, 1)
})

it('keeps the newest events beyond the limit and continues counting', async test => {
  const simulator = await simulatorUnderTest(test, { eventsMax: 2 })
  for (const event_id of ['a', 'b', 'c'])
    await simulator.send({ data: [sampleEvent({ event_id })] })
  const { body } = await simulator.control('GET', 'received')
  assert.equal(body.count, 2)
  assert.deepEqual(
    body.events.map((event: { event_id: string }) => event.event_id),
    ['b', 'c'],
  )
  assert.equal((await simulator.control('GET', 'summary')).body.receipts, 3)
})

it('marks a repeated event as deduplicated for 48 hours after the first', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [samplePurchase(), samplePurchase()] })
  simulator.advance(48 * HOUR_SECONDS - 1)
  await simulator.send({ data: [samplePurchase()] })
  simulator.advance(1)
  await simulator.send({ data: [samplePurchase()] })
  const { body } = await simulator.control('GET', 'received?event_id=event-1')
  assert.deepEqual(
    body.events.map((event: { deduplicated: boolean }) => event.deduplicated),
    [false, true, true, false],
  )
})

it('deduplicates only within the same dataset, event_name and kind of traffic', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [samplePurchase()] })
  await simulator.send({ data: [samplePurchase()] }, { dataset: '5678' })
  await simulator.send({ data: [sampleEvent()] })
  await simulator.send({ data: [samplePurchase()], test_event_code: 'TEST1' })
  await simulator.send({ data: [samplePurchase()] })
  const { body } = await simulator.control('GET', 'received')
  assert.deepEqual(
    body.events.map((event: { deduplicated: boolean }) => event.deduplicated),
    [false, false, false, false, true],
  )
})

it('200 sums unique live Purchases exactly, without copies and test events', async test => {
  const simulator = await simulatorUnderTest(test)
  const purchase = (event_id: string, value: unknown, currency: string) =>
    samplePurchase({ event_id, custom_data: { value, currency } })
  const data = [
    purchase('a', 0.1, 'USD'),
    purchase('b', 0.2, 'usd'),
    purchase('c', '123456789012345.67', 'EUR'),
    purchase('c', '123456789012345.67', 'EUR'),
    sampleEvent({ event_id: 'd', custom_data: { value: 1_000, currency: 'USD' } }),
  ]
  await simulator.send({ data })
  await simulator.send({ data: [purchase('t', 50, 'USD')], test_event_code: 'TEST1' })
  await simulator.send({ data: [] })
  await simulator.send({ data: [purchase('a', 7, 'USD')] }, { dataset: '5678' })

  assert.deepEqual((await simulator.control('GET', 'summary?dataset=1234')).body, {
    requests: 3,
    refused_requests: 1,
    receipts: 5,
    unique_events: 4,
    deduplicated: 1,
    test_receipts: 1,
    value_by_currency: { USD: '0.3', EUR: '123456789012345.67' },
  })
  const { body } = await simulator.control('GET', 'summary')
  assert.equal(body.requests, 4)
  assert.deepEqual(body.value_by_currency, { USD: '7.3', EUR: '123456789012345.67' })
  assert.equal((await simulator.control('GET', 'summary?dataset=9')).body.requests, 0)
})

it('401 with code 190 and subcode 467 for a revoked token, until it is restored', async test => {
  const simulator = await simulatorUnderTest(test)
  const revoked = await simulator.control('POST', 'tokens', { revoked: ['token-a', 'token-z'] })
  assert.deepEqual(revoked.body, { revoked: 2 })
  await simulator.control('POST', 'tokens', { revoked: ['token-b'] })

  const refused = await simulator.send({ data: [sampleEvent()] })
  assert.equal(refused.status, 401)
  assert.equal(refused.body.error.code, 190)
  assert.equal(refused.body.error.error_subcode, 467)
  assert.ok(!refused.text.includes('token-a'))
  const other = { authorization: 'Bearer token-c', 'content-type': 'application/json' }
  assert.equal((await simulator.send({ data: [sampleEvent()] }, { headers: other })).status, 200)

  assert.deepEqual((await simulator.control('DELETE', 'tokens')).body, { revoked: 0 })
  assert.equal((await simulator.send({ data: [sampleEvent()] })).status, 200)
})

it('422 for revocations that are not a list of strings', async test => {
  const simulator = await simulatorUnderTest(test)
  const wrong: [unknown, string][] = [
    [{}, 'revoked'],
    [{ revoked: 'token-a' }, 'revoked'],
    [{ revoked: [''] }, 'revoked.0'],
    [[], 'body'],
  ]
  for (const [body, field] of wrong) {
    const reply = await simulator.control('POST', 'tokens', body)
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors), [field])
  }
})

it('200 returns name, version and uptime', async test => {
  const simulator = await simulatorUnderTest(test)
  simulator.advance(90)
  const { body } = await simulator.control('GET', 'health')
  assert.equal(body.simulator, 'signalbox-graph-simulator')
  assert.match(body.version, /^\d+\.\d+\.\d+$/)
  assert.equal(body.uptime, 90)
})

it('404, 405, 400 and 413 return a message', async test => {
  const simulator = await simulatorUnderTest(test)
  const replies = [
    await simulator.control('GET', 'nothing'),
    await simulator.control('GET', ''),
    await simulator.control('PUT', 'faults', {}),
    await simulator.control('POST', 'faults', '{'),
    await simulator.control('POST', 'faults', ' '.repeat(1_100_000)),
  ]
  assert.deepEqual(
    replies.map(reply => reply.status),
    [404, 404, 405, 400, 413],
  )
  for (const { body } of replies) assert.deepEqual(Object.keys(body), ['message'])
  assert.equal(replies[2]?.headers.get('allow'), 'GET, POST, DELETE')
})
