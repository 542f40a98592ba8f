import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Reply, startTestService, type TestService } from '../testing/fixtures/service.ts'
import { disconnectStore } from '../testing/fixtures/store-loss.ts'
import {
  type Address,
  assertDocumented,
  check,
  document,
  findExample,
  jsonContent,
} from './assert-documented.ts'
import { jsonPointer } from './document-checks.ts'

const CREATE = ['/events', 'post'] as const
const VERIFY = ['/verification-events', 'post'] as const
const READ = ['/events/{event}', 'get'] as const
const TEST_MODE = ['/destinations/{destination}/test-mode', 'patch'] as const
const TEST_PURCHASE = ['/destinations/{destination}/test-purchase', 'post'] as const
const REPLAY = ['/deliveries/replay', 'post'] as const
const PREFIX = '/api/v1'

const requests: [string, { value: unknown }][] = Object.entries(
  jsonContent(document.paths['/events'].post.requestBody).examples,
)

it('202 for each documented request as in its example, then 200', async test => {
  const service = await startTestService(test)
  assert.equal(requests.length, 3)
  for (const [name, { value }] of requests) {
    const first = await service.submit(value)
    assertDocumented(CREATE, first, 202)
    assert.deepEqual(first.body, findExample(CREATE, 202, name))

    const again = await service.submit(value)
    assertDocumented(CREATE, again, 200)
    assert.deepEqual(again.body, { event_id: first.body.event_id, duplicate: true })
  }
})

it('200 returns every documented request in the documented form', async test => {
  const service = await startTestService(test)
  for (const [, { value }] of requests) await service.submit(value)
  const child = { ...(requests[0]?.[1].value as object), event_id: 'child' }
  await service.submit({ ...child, parent_event_id: 'order-1001' })
  await service.deliver()
  for (const id of ['order-1001', 'order-1002', 'withdrawal-7f3a', 'child']) {
    assertDocumented(READ, await service.read(id), 200)
  }
})

it('200 returns the documented purchase exactly as in the example', async test => {
  const service = await startTestService(test)
  await service.submit(requests[0]?.[1].value)
  assert.equal(await service.deliver(), 1)
  const { text } = await service.read('order-1001')
  const example = findExample(READ, 200, 'purchase')
  // The destination and the platform's trace are random; all else is fixed.
  const [shown] = example.deliveries
  const [found] = JSON.parse(text).deliveries
  const same = text
    .replaceAll(found.destination_id, shown.destination_id)
    .replaceAll(found.platform_trace_id, shown.platform_trace_id)
    .replaceAll(/"duration_milliseconds":\d+/g, '"duration_milliseconds":41')
  assert.deepEqual(JSON.parse(same), example)
})

it('202 and 200 verify ingestion as documented', async test => {
  const service = await startTestService(test)
  const first = await service.request('POST', `${PREFIX}/verification-events`)
  assertDocumented(VERIFY, first, 202)
  assert.deepEqual(first.body, findExample(VERIFY, 202, 'first'))
  const again = await service.request('POST', `${PREFIX}/verification-events`)
  assertDocumented(VERIFY, again, 200)
  assert.deepEqual(again.body, findExample(VERIFY, 200, 'again'))
  assertDocumented(READ, await service.read('signal-verification'), 200)
})

it('both write operations return 400, 401, 403, 413 and 415 as documented', async test => {
  const service = await startTestService(test)
  for (const address of [CREATE, VERIFY]) {
    const send = (options: object) => service.request('POST', PREFIX + address[0], options)
    const answers: [number, string, Reply][] = [
      [400, 'not_json', await send({ rawBody: '{' })],
      [401, 'unauthenticated', await send({ secret: null })],
      [403, 'from_a_browser', await send({ headers: { origin: 'https://shop.example' } })],
      [413, 'too_large', await send({ rawBody: 'x'.repeat(65_537) })],
      [415, 'wrong_type', await send({ rawBody: 'x', headers: { 'content-type': 'text/csv' } })],
    ]
    for (const [status, name, answer] of answers) {
      assertDocumented(address, answer, status)
      assert.deepEqual(answer.body, findExample(address, status, name))
    }
  }
})

it('422 names every invalid field as documented', async test => {
  const service = await startTestService(test)
  const several = await service.submit({ consent_basis: 'consent', value_data: { value: '5,00' } })
  assertDocumented(CREATE, several, 422)
  assert.deepEqual(several.body, findExample(CREATE, 422, 'several_faults'))

  const [, purchase] = requests[0] ?? []
  const consent = { ad_user_data: 'denied', captured_at: '2026-11-21T11:00:00Z' }
  const denied = await service.submit({ ...(purchase?.value as object), consent })
  assertDocumented(CREATE, denied, 422)
  assert.deepEqual(denied.body, findExample(CREATE, 422, 'denied'))
})

it('the read operation returns 400, 401, 403 and 404 as documented', async test => {
  const service = await startTestService(test)
  const read = (path: string, options: object = {}) =>
    service.request('GET', `${PREFIX}/events/${path}`, options)
  const answers: [number, string, Reply][] = [
    [400, 'bad_path', await read('%zz')],
    [401, 'unauthenticated', await read('order-1001', { secret: null })],
    [403, 'from_a_browser', await read('x', { headers: { origin: 'https://shop.example' } })],
    [404, 'no_such_event', await read('order-1001')],
  ]
  for (const [status, name, answer] of answers) {
    assertDocumented(READ, answer, status)
    assert.deepEqual(answer.body, findExample(READ, status, name))
  }
})

it('503 with Retry-After while too many events wait', async test => {
  const service = await startTestService(test, { ingestQueueMax: 0 })
  const full = await service.submit(requests[0]?.[1].value)
  assertDocumented(CREATE, full, 503)
  assert.deepEqual(full.body, findExample(CREATE, 503, 'queue_full'))
  assertDocumented(VERIFY, await service.request('POST', `${PREFIX}/verification-events`), 503)
})

it('503 from every operation while the store is unavailable', async test => {
  const service = await startTestService(test)
  await disconnectStore(service)
  await assertEverywhere(service, 503, 'store_away')
})

it('500 from every operation for an internal error', async test => {
  const service = await startTestService(test)
  await service.database.pool.query('drop table events, destinations')
  await assertEverywhere(service, 500, 'fault')
})

it('reports an undeclared member of a response', () => {
  const answer = { event_id: 'order-1001', duplicate: true }
  const pointer = jsonPointer('components', 'schemas', 'DuplicateEvent')
  assert.deepEqual(check(pointer, answer), [])
  assert.equal(check(pointer, { ...answer, surprise: 1 }).length, 1)
})

async function assertEverywhere(service: TestService, status: number, name: string) {
  const destination = `${PREFIX}/destinations/${service.tracker.destinationId}`
  const [testMode, testPurchase] = [`${destination}/test-mode`, `${destination}/test-purchase`]
  const answers: [Address, Reply][] = [
    [READ, await service.read('nothing')],
    [CREATE, await service.submit(requests[0]?.[1].value)],
    [VERIFY, await service.request('POST', `${PREFIX}/verification-events`)],
    [TEST_MODE, await service.request('PATCH', testMode, { body: { enabled: true } })],
    [TEST_PURCHASE, await service.request('POST', testPurchase)],
    [REPLAY, await service.request('POST', `${PREFIX}/deliveries/replay`)],
  ]
  for (const [address, answer] of answers) {
    assertDocumented(address, answer, status)
    assert.deepEqual(answer.body, findExample(address, status, name))
  }
}
