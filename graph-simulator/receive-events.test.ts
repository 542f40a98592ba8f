import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sampleEvent, samplePurchase } from './sample-event.ts'
import { simulatorUnderTest } from './simulator-under-test.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

it('200 returns the number of events, with a trace ID in body and header', async test => {
  const simulator = await simulatorUnderTest(test)
  const reply = await simulator.send({ data: [sampleEvent(), sampleEvent({ event_id: 'b' })] })
  assert.equal(reply.status, 200)
  assert.deepEqual(Object.keys(reply.body), ['events_received', 'messages', 'fbtrace_id'])
  assert.equal(reply.body.events_received, 2)
  assert.deepEqual(reply.body.messages, [])
  assert.match(reply.body.fbtrace_id, /^A[\w-]{22}$/)
  assert.equal(reply.headers.get('x-fb-trace-id'), reply.body.fbtrace_id)
  assert.match(reply.headers.get('facebook-api-version') ?? '', /^v\d+\.\d+$/)
})

it('401 with code 190 without a token, and stores nothing', async test => {
  const simulator = await simulatorUnderTest(test)
  const empty = [JSON_TYPE, { ...JSON_TYPE, authorization: 'Bearer ' }]
  for (const headers of empty) {
    const reply = await simulator.send({ data: [sampleEvent()] }, { headers })
    assert.equal(reply.status, 401)
    assert.equal(reply.body.error.code, 190)
    assert.equal(reply.body.error.type, 'OAuthException')
    assert.equal(reply.body.error.message, 'Invalid OAuth access token')
    assert.equal(reply.headers.get('x-fb-trace-id'), reply.body.error.fbtrace_id)
  }
  assert.equal((await simulator.control('GET', 'received')).body.count, 0)
})

it('200 accepts the token from the header, the query, the JSON body and a form', async test => {
  const simulator = await simulatorUnderTest(test)
  const data = [sampleEvent()]
  const form = new URLSearchParams({ access_token: 'token-a', data: JSON.stringify(data) })
  const path = '/v26.0/1234/events?access_token=token-a'
  const replies = [
    await simulator.send({ data }),
    await simulator.send({ data }, { path, headers: JSON_TYPE }),
    await simulator.send({ data, access_token: 'token-a' }, { headers: JSON_TYPE }),
    await simulator.send(form.toString(), { headers: FORM_TYPE }),
  ]
  assert.deepEqual(
    replies.map(reply => reply.status),
    [200, 200, 200, 200],
  )
})

it('200 accepts form fields with data as JSON text and keeps their digits', async test => {
  const simulator = await simulatorUnderTest(test)
  const event = JSON.stringify(samplePurchase()).replace('19.95', '19.950')
  const form = new URLSearchParams({
    access_token: 'token-a',
    data: `[${event}]`,
    test_event_code: 'TEST1',
    partner_agent: 'signalbox',
  })
  const reply = await simulator.send(form.toString(), { headers: FORM_TYPE })
  assert.equal(reply.body.events_received, 1)
  const received = await simulator.control('GET', 'received')
  assert.match(received.text, /"value":19\.950,/)
  assert.equal(received.body.events[0].test_event_code, 'TEST1')
  assert.equal(received.body.events[0].partner_agent, 'signalbox')
})

it('200 accepts data as JSON text inside a JSON body', async test => {
  const simulator = await simulatorUnderTest(test)
  const reply = await simulator.send({ data: JSON.stringify([sampleEvent()]) })
  assert.equal(reply.status, 200)
  const received = await simulator.control('GET', 'received')
  assert.equal(received.body.events[0].event_id, 'event-1')
})

it('400 with code 100 for malformed bodies, without quoting them', async test => {
  const simulator = await simulatorUnderTest(test)
  const bodies = ['{"data":[{"secret":"s3cret"', '', '[]', '"text"', 'null', '{}', '{"data":{}}']
  for (const body of [...bodies, '{"data":"not json"}', '{"data":"{}"}']) {
    const reply = await simulator.send(body)
    assert.equal(reply.status, 400, body)
    assert.equal(reply.body.error.code, 100, body)
    assert.equal(reply.body.error.is_transient, false)
    assert.ok(!reply.text.includes('s3cret'))
  }
})

it('400 with code 100 for bytes that are not UTF-8', async test => {
  const { url } = await simulatorUnderTest(test)
  const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])
  const headers = { authorization: 'Bearer a', ...JSON_TYPE }
  const reply = await fetch(`${url}/v26.0/1/events`, { method: 'POST', body, headers })
  assert.equal(reply.status, 400)
})

it('400 with code 100 when test_event_code or partner_agent is not a string', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const member of ['test_event_code', 'partner_agent']) {
    const reply = await simulator.send({ data: [sampleEvent()], [member]: 7 })
    assert.equal(reply.body.error.code, 100)
  }
})

it('413 with code 100 for a body over 16 MiB, and serves the next request', async test => {
  const simulator = await simulatorUnderTest(test)
  const padding = 'x'.repeat(16 * 1_024 * 1_024)
  const reply = await simulator.send({ data: [sampleEvent({ padding })] })
  assert.equal(reply.status, 413)
  assert.equal(reply.body.error.code, 100)
  assert.equal((await simulator.send({ data: [sampleEvent()] })).status, 200)
})

it('400 with code 2635 for a path without a version such as v26.0', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const version of ['26.0', 'v26', 'latest', 'v26.0.1', '']) {
    const reply = await simulator.send({ data: [] }, { path: `/${version}/1234/events` })
    assert.equal(reply.status, 400, version)
    assert.equal(reply.body.error.code, 2635, version)
  }
})

it('400 with code 100 and subcode 33 for a dataset that is not a number, and for GET', async test => {
  const simulator = await simulatorUnderTest(test)
  const replies = [
    await simulator.send({ data: [] }, { dataset: 'mine' }),
    await simulator.send('', { method: 'GET' }),
  ]
  for (const { status, body } of replies) {
    assert.equal(status, 400)
    assert.equal(body.error.code, 100)
    assert.equal(body.error.error_subcode, 33)
  }
})

it('400 with code 2500 for any other path', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const path of [
    '/',
    '/v26.0',
    '/v26.0/1234',
    '/v26.0/1234/insights',
    '/v26.0/1234/dataset_quality',
    '//',
    '/v26.0/1/events/',
  ]) {
    const reply = await simulator.send({ data: [] }, { path })
    assert.equal(reply.status, 400, path)
    assert.equal(reply.body.error.code, 2500, path)
    assert.ok(reply.body.error.fbtrace_id)
  }
})

it('serves many requests over one connection, refused ones included', async test => {
  const { url } = await simulatorUnderTest(test)
  const { Agent, request } = await import('node:http')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  test.after(() => agent.destroy())
  const ports = new Set<number | undefined>()
  for (const path of ['/v26.0/1/events', '/nowhere', '/v26.0/x/events', '/v26.0/1/events']) {
    await new Promise(resolve => {
      const sent = request(`${url}${path}`, { method: 'POST', agent }, response => {
        ports.add(sent.socket?.localPort)
        response.resume().once('end', () => setImmediate(resolve))
      })
      sent.end('x'.repeat(100_000))
    })
  }
  assert.equal(ports.size, 1)
})
