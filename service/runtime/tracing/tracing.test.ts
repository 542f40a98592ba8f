import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { it, type TestContext } from 'node:test'
import { type OtlpReceiver, startOtlpReceiver } from '../../../testing/fixtures/otlp-receiver.ts'
import { createInstallation, DEFAULT_HTTP_WORKERS } from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { startOpenTelemetry } from './open-telemetry.ts'
import { parseTraceparent } from './tracer.ts'

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`
const EVENT_ID = 'order-of-jane-9917'

/** A service that exports its spans to a receiver in this process. */
async function startTraced(test: TestContext, sampledShare = 1) {
  const receiver = await startOtlpReceiver(test)
  const tracer = startOpenTelemetry({
    url: `${receiver.url}/v1/traces`,
    headers: { 'api-key': 'k3y' },
    serviceName: 'signalbox',
    serviceVersion: '0.0.0',
    role: 'test',
    sampledShare,
    onError: message => assert.fail(message),
  })
  test.after(() => tracer.close())
  const service = await startTestService(test, { tracer })
  return { receiver, tracer, service }
}

function only(receiver: OtlpReceiver, name: string) {
  const found = receiver.spans.filter(span => span.name === name)
  assert.equal(found.length, 1, `${name}: ${receiver.spans.map(span => span.name)}`)
  return found[0] as (typeof found)[0]
}

function place({ traceId, spanId }: { traceId: string; spanId: string }) {
  return { traceId, spanId }
}

it('traces an event from the request of its caller to the call of the platform', async test => {
  const { receiver, tracer, service } = await startTraced(test)
  const purchase = samplePurchase({ event_id: EVENT_ID })
  const { headers } = await service.submit(purchase, { traceparent: TRACEPARENT })
  await service.deliver()
  await tracer.close()

  const request = only(receiver, 'POST /api/v1/events')
  assert.deepEqual([request.traceId, request.parentSpanId], [CALLER.traceId, CALLER.spanId])
  assert.deepEqual(request.attributes, {
    'http.request.method': 'POST',
    'http.route': '/api/v1/events',
    'signalbox.request_id': headers.get('request-id'),
    'signalbox.operation': 'createEvent',
    'http.response.status_code': 202,
  })
  const wait = only(receiver, 'commit event')
  assert.deepEqual([wait.traceId, wait.parentSpanId], [request.traceId, request.spanId])
  assert.equal(wait.attributes['signalbox.duplicate'], false)
  const commit = only(receiver, 'commit batch')
  assert.deepEqual(commit.links, [place(request)])
  assert.equal(commit.attributes['signalbox.new_events'], 1)

  const event = only(receiver, 'event')
  assert.deepEqual(event.links, [place(request), place(commit)])
  assert.deepEqual(request.links, [place(event)])
  const batch = only(receiver, 'deliver batch')
  assert.equal(batch.attributes['messaging.batch.message_count'], 1)
  const call = only(receiver, 'send to meta')
  assert.deepEqual([call.traceId, call.parentSpanId], [batch.traceId, batch.spanId])
  assert.deepEqual(call.links, [place(event)])
  assert.equal(call.attributes['http.response.status_code'], 200)
  const delivery = only(receiver, 'deliver')
  assert.deepEqual([delivery.traceId, delivery.parentSpanId], [event.traceId, event.spanId])
  assert.deepEqual(delivery.links, [place(call)])
  assert.equal(delivery.attributes['signalbox.outcome'], 'accepted')
})

it('exports no personal data, no event ID and no credential, but its own header', async test => {
  const { receiver, tracer, service } = await startTraced(test)
  await service.submit(samplePurchase({ event_id: EVENT_ID, order_id: 'order-4711' }))
  await service.read(EVENT_ID)
  await service.deliver()
  await tracer.close()
  const sent = receiver.bodies.join('')
  const { tracker, simulatorUrl } = service
  assert.match(sent, /GET \/api\/v1\/events\/:event_id|GET \/api\/v1\/events\/:\w+/)
  for (const secret of [
    EVENT_ID,
    'shop.example',
    'order-4711',
    tracker.trackerSecret,
    '127.0.0.1',
  ]) {
    assert.ok(!sent.includes(secret), secret)
  }
  assert.ok(!sent.includes(simulatorUrl))
  assert.equal(receiver.headers[0]?.['api-key'], 'k3y')
})

it('marks what failed, and leads a duplicate to the trace of the first one', async test => {
  const { receiver, tracer, service } = await startTraced(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  await service.submit(samplePurchase({ event_id: EVENT_ID }))
  await service.submit(samplePurchase({ event_id: EVENT_ID }))
  await service.submit({ event_name: 'Purchase' })
  await service.deliver()
  await tracer.close()
  const event = only(receiver, 'event')
  const requests = receiver.spans.filter(({ name }) => name === 'POST /api/v1/events')
  assert.deepEqual(
    requests.map(({ attributes, links }) => [attributes['http.response.status_code'], links]),
    [
      [202, [place(event)]],
      [200, [place(event)]],
      [422, []],
    ],
  )
  const call = only(receiver, 'send to meta')
  assert.equal(call.hasError, true)
  assert.match(String(call.attributes['error.type']), /^(retry|unknown)$/)
  assert.equal(only(receiver, 'deliver').hasError, true)
})

it('samples the share that is set, and what a caller samples', async test => {
  const { receiver, tracer, service } = await startTraced(test, 0)
  await service.submit(samplePurchase({ event_id: 'one' }))
  await service.submit(samplePurchase({ event_id: 'two' }), { traceparent: TRACEPARENT })
  await service.deliver()
  await tracer.close()
  assert.deepEqual(receiver.spans.map(({ name }) => name).sort(), [
    'POST /api/v1/events',
    'commit event',
  ])
})

it('reads a traceparent as W3C Trace Context describes it', () => {
  const { traceId, spanId } = CALLER
  assert.deepEqual(parseTraceparent(TRACEPARENT), { traceId, spanId, isSampled: true })
  assert.equal(parseTraceparent(`00-${traceId}-${spanId}-00`)?.isSampled, false)
  assert.deepEqual(parseTraceparent(`cc-${traceId}-${spanId}-01-later`)?.spanId, spanId)
  for (const invalid of [
    undefined,
    ['a', 'b'],
    '',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
  ]) {
    assert.equal(parseTraceparent(invalid), null)
  }
})

it('accepts events without its receiver, and says so once', async test => {
  const errors: string[] = []
  const tracer = startOpenTelemetry({
    url: 'http://127.0.0.1:9/v1/traces',
    headers: {},
    serviceName: 'signalbox',
    serviceVersion: '0.0.0',
    role: 'test',
    sampledShare: 1,
    onError: message => errors.push(message),
  })
  const service = await startTestService(test, { tracer })
  const { status } = await service.submit(samplePurchase({ event_id: EVENT_ID }))
  assert.equal(status, 202)
  await tracer.close()
  assert.equal(errors.length, 1)
  assert.match(errors[0] ?? '', /ECONNREFUSED/)
})

it('the program exports the spans of all its threads under one trace for each event', async test => {
  const receiver = await startOtlpReceiver(test)
  const place = createInstallation(test)
  const program = await place.startReady({
    environment: {
      ...DEFAULT_HTTP_WORKERS,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=k3y%20%2B',
      OTEL_SERVICE_NAME: 'events',
    },
  })
  const { base_url, tracker_secret, tracker_id } = place.credentials()
  const response = await fetch(`${base_url}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(samplePurchase({ event_id: EVENT_ID })),
  })
  assert.equal(response.status, 202)
  await waitUntil('the delivery is exported', () =>
    receiver.spans.some(({ name }) => name === 'deliver'),
  )
  await program.kill('SIGTERM')
  const command = `printf '%s %s' ${tracker_id} ${EVENT_ID} | sha256sum | cut -c1-32`
  const traceId = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trim()
  const ofEvent = receiver.spans.filter(span => span.traceId === traceId)
  assert.deepEqual(ofEvent.map(({ name }) => name).sort(), ['deliver', 'event'])
  assert.equal(receiver.headers[0]?.['api-key'], 'k3y +')
  assert.equal(ofEvent[0]?.resource['service.name'], 'events')
})

it('makes the same spans for a request on the short road', async test => {
  const { receiver, tracer, service } = await startTraced(test)
  const { shortRoad } = service.server.app
  const headers = { traceparent: TRACEPARENT }
  const send = (path: string, body: object) => service.request('POST', path, { body, headers })
  let answer = await send('/api/v1/events', samplePurchase({ event_id: 'road-0' }))
  // The secret is known for half a second.
  for (let attempt = 1; shortRoad.taken === 0; attempt += 1) {
    answer = await send('/api/v1/events', samplePurchase({ event_id: `road-${attempt}` }))
  }
  const whole = await send('/api/v1/events?', samplePurchase({ event_id: 'road-of-hooks' }))
  await tracer.close()

  const spansOf = ({ headers: answered }: typeof answer) => {
    const id = answered.get('request-id')
    const request = receiver.spans.find(span => span.attributes['signalbox.request_id'] === id)
    assert.ok(request)
    const inside = receiver.spans.filter(({ parentSpanId }) => parentSpanId === request.spanId)
    const { attributes, parentSpanId, traceId, name } = request
    const own = { ...attributes, 'signalbox.request_id': '' }
    return { name, traceId, parentSpanId, own, inside: inside.map(span => span.name) }
  }
  assert.deepEqual(spansOf(answer), spansOf(whole))
  assert.deepEqual(spansOf(answer).inside, ['commit event'])
})
