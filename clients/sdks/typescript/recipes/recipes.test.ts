import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { Signalbox } from '@signalbox/sdk'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listening } from '../../../browser/testing/forwarder-under-test.ts'
import { addCheckout } from './express.ts'
import { handler } from './lambda.ts'
import { POST } from './next-route.ts'
import { traceRequests } from './opentelemetry.ts'

/** A service whose clock is the real one, because recipes ask for the time. */
async function startService(test: TestContext) {
  const service = await startTestService(test, { startAt: new Date().toISOString() })
  const options = { token: service.tracker.trackerSecret, baseUrl: `${service.url}/api/v1` }
  process.env.SIGNALBOX_TOKEN = options.token
  process.env.SIGNALBOX_BASE_URL = options.baseUrl
  test.after(() => {
    delete process.env.SIGNALBOX_TOKEN
    delete process.env.SIGNALBOX_BASE_URL
  })
  return { service, options }
}

/** What the platform received, by the id of the event. */
async function deliver(service: TestService): Promise<Map<string, Record<string, never>>> {
  await service.deliver()
  const { events } = await service.received()
  return new Map(events.map(event => [String(event.event_id), event]))
}

it('Express answers the order at once and sends its event in the background', async test => {
  const { service, options } = await startService(test)
  const queue = new Signalbox(options).queue()
  const express = createRequire(import.meta.url)('express')
  const app = express()
  app.use(express.json())
  let orders = 0
  addCheckout(app, queue, () => {
    orders += 1
    return { id: String(orders) }
  })
  const url = await listening(test, createServer(app))
  for (const agreedToAds of [true, false, true]) {
    const response = await fetch(`${url}/checkout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', total: '19.90', agreedToAds }),
    })
    assert.equal(response.status, 201)
  }
  const { outcomes, left } = await queue.close({ timeout: 10_000 })
  assert.deepEqual([outcomes.map(({ status }) => status), left], [['accepted', 'accepted'], []])
  const received = await deliver(service)
  assert.deepEqual([...received.keys()].sort(), ['order-1', 'order-3'])
  assert.deepEqual(received.get('order-1')?.custom_data, {
    value: 19.9,
    currency: 'EUR',
    order_id: '1',
  })
})

it('a route handler of Next.js sends a lead once, and only with consent', async test => {
  const { service } = await startService(test)
  const send = async (lead: object) => {
    const request = new Request('https://shop.example/api/leads', {
      method: 'POST',
      headers: { 'user-agent': 'Mozilla/5.0', referer: 'https://shop.example/contact' },
      body: JSON.stringify(lead),
    })
    const response = await POST(request)
    const body = (await response.json()) as { errors?: object }
    return { status: response.status, body }
  }
  const lead = { id: '7', email: 'ada@example.com', marketing: true }
  const sent = { sent: true, event_id: 'lead-7' }
  assert.deepEqual(await send(lead), { status: 200, body: { ...sent, duplicate: false } })
  assert.deepEqual(await send(lead), { status: 200, body: { ...sent, duplicate: true } })
  assert.deepEqual(await send({ ...lead, id: '8', marketing: false }), {
    status: 200,
    body: { sent: false },
  })
  const invalid = await send({ ...lead, id: 'x'.repeat(200) })
  assert.equal(invalid.status, 422)
  assert.deepEqual(Object.keys(invalid.body.errors ?? {}), ['event_id'])
  assert.deepEqual([...(await deliver(service)).keys()], ['lead-7'])
})

it('a Lambda function flushes before it returns, and names the messages that failed', async test => {
  const { service } = await startService(test)
  const paid_at = service.clock.now().toISOString()
  const order = (id: string, changes: object = {}) => ({
    messageId: `message-${id}`,
    body: JSON.stringify({
      id,
      email: 'ada@example.com',
      total: '19.90',
      currency: 'EUR',
      paid_at,
      agreed_to_ads_at: paid_at,
      ...changes,
    }),
  })
  const Records = [
    order('1'),
    order('2', { agreed_to_ads_at: null }),
    order('3', { total: 'nineteen' }),
    order('4'),
  ]
  assert.deepEqual(await handler({ Records }), {
    batchItemFailures: [{ itemIdentifier: 'message-3' }],
  })
  assert.deepEqual([...(await deliver(service)).keys()].sort(), ['order-1', 'order-4'])
  assert.deepEqual(await handler({ Records: [] }), { batchItemFailures: [] })
})

it('no recipe sends anything without its token', async () => {
  process.env.SIGNALBOX_BASE_URL = 'http://127.0.0.1:1'
  const folder = import.meta.dirname
  const recipes = { lambda: join(folder, 'lambda.ts'), next: join(folder, 'next-route.ts') }
  try {
    // Fresh modules: those above keep the client that they made.
    const lambda = await import(`${pathToFileURL(recipes.lambda).href}?without-token`)
    const order = { messageId: 'm', body: JSON.stringify({ agreed_to_ads_at: '2026-11-21' }) }
    await assert.rejects(lambda.handler({ Records: [order] }), /Set SIGNALBOX_TOKEN/)
    const next = await import(`${pathToFileURL(recipes.next).href}?without-token`)
    const body = JSON.stringify({ id: '7', email: 'ada@example.com', marketing: true })
    const request = new Request('https://shop.example/api/leads', { method: 'POST', body })
    await assert.rejects(next.POST(request), /set SIGNALBOX_TOKEN/)
  } finally {
    delete process.env.SIGNALBOX_BASE_URL
  }
})

it('OpenTelemetry gets a span of each attempt, which the request carries on', async test => {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }))
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  test.after(() => {
    trace.disable()
    propagation.disable()
    context.disable()
  })
  const { options } = await startService(test)
  const parents: (string | null)[] = []
  let failures = 1
  const client = new Signalbox({
    ...options,
    hooks: traceRequests(),
    fetch: async (input, init) => {
      parents.push(new Headers(init?.headers).get('traceparent'))
      failures -= 1
      if (failures === 0) return new Response('{}', { status: 503 })
      return fetch(input, init)
    },
  })
  const order = trace.getTracer('shop').startSpan('order')
  await context.with(trace.setSpan(context.active(), order), () =>
    client.events.create({ event_name: 'Lead', consent_basis: 'consent' }),
  )
  order.end()

  const [failed, accepted, parent] = exporter.getFinishedSpans()
  assert.equal(parent?.name, 'order')
  for (const [at, span] of [failed, accepted].entries()) {
    assert.equal(span?.name, 'events.create')
    const { traceId, spanId } = span?.spanContext() ?? {}
    assert.equal(parents[at], `00-${traceId}-${spanId}-01`)
    assert.equal(span?.parentSpanContext?.spanId, order.spanContext().spanId)
  }
  assert.equal(failed?.status.code, SpanStatusCode.ERROR)
  assert.equal(accepted?.attributes['http.response.status_code'], 202)
  assert.equal(accepted?.attributes['http.request.resend_count'], 1)
  assert.match(String(accepted?.attributes['signalbox.request_id']), /^req_/)
  assert.deepEqual(
    parent?.events.map(({ name }) => name),
    ['signalbox.retry'],
  )
})
