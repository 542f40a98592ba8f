import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import { startTestService } from '../testing/fixtures/service.ts'
import { disconnectStore } from '../testing/fixtures/store-loss.ts'
import { assertDocumented, document, findExample, jsonContent } from './assert-documented.ts'
import { BASE_PATH } from './operations.ts'

const CREATE = ['/events/batch', 'post'] as const
const URL = BASE_PATH + CREATE[0]

const [[, request]] = Object.entries<{ value: unknown }>(
  jsonContent(document.paths['/events/batch'].post.requestBody).examples,
) as [[string, { value: unknown }]]

it('200 with one result for each event as in the example, and again', async test => {
  const service = await startTestService(test)
  const send = () => service.request('POST', URL, { body: request.value })
  const first = await send()
  assertDocumented(CREATE, first, 200)
  assert.deepEqual(first.body, findExample(CREATE, 200, 'batch'))
  const again = await send()
  assertDocumented(CREATE, again, 200)
  assert.deepEqual(
    again.body.results.map(({ status }: { status: number }) => status),
    [200, 422, 200],
  )
})

it('400, 401, 403, 413, 415 and 422 refuse the request as documented', async test => {
  const service = await startTestService(test)
  const send = (options: object) => service.request('POST', URL, options)
  for (const [status, name, reply] of [
    [400, 'not_json', await send({ rawBody: '{' })],
    [401, 'unauthenticated', await send({ secret: null })],
    [403, 'from_a_browser', await send({ headers: { origin: 'https://shop.example' } })],
    [413, 'too_large', await send({ rawBody: 'x'.repeat(1_048_577) })],
    [415, 'wrong_type', await send({ rawBody: 'x', headers: { 'content-type': 'text/csv' } })],
    [422, 'empty', await send({ body: { events: [] } })],
  ] as const) {
    assertDocumented(CREATE, reply, status)
    assert.deepEqual(reply.body, findExample(CREATE, status, name))
  }
})

it('429, 503 and their wait are results of the events they concern', async test => {
  const service = await startTestService(test, {
    ingestQueueMax: 1,
    limits: { trackerRatePerSecond: 1 },
    monotonicSeconds: () => 0,
  })
  const events = ['a', 'b', 'c'].map(event_id => samplePurchase({ event_id }))
  const reply = await service.request('POST', URL, { body: { events } })
  assertDocumented(CREATE, reply, 200)
  assert.deepEqual(
    reply.body.results.map(({ status }: { status: number }) => status),
    [202, 503, 429],
  )
})

it('503 and 500 when nothing could be read from the store', async test => {
  const service = await startTestService(test)
  const send = () => service.request('POST', URL, { body: { events: [samplePurchase()] } })
  await service.database.pool.query('alter table destinations rename to destinations_away')
  const fault = await send()
  assertDocumented(CREATE, fault, 500)
  assert.deepEqual(fault.body, findExample(CREATE, 500, 'fault'))
  await disconnectStore(service)
  const away = await send()
  assertDocumented(CREATE, away, 503)
  assert.deepEqual(away.body, findExample(CREATE, 503, 'store_away'))
})
