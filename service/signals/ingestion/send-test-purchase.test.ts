import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { countStatuses } from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  restoreTokens,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'

function address(destination: string, what: string): string {
  return `/api/v1/destinations/${destination}/${what}`
}

function purchase(service: TestService, options: object = {}) {
  const path = address(service.tracker.destinationId, 'test-purchase')
  return service.request('POST', path, options)
}

/** A service whose destination is in test mode. */
async function inTestMode(test: TestContext, changes: object = {}): Promise<TestService> {
  const service = await startTestService(test, changes)
  const path = address(service.tracker.destinationId, 'test-mode')
  const body = { enabled: true, test_event_code: 'TEST00007' }
  const { status } = await service.request('PATCH', path, { body })
  assert.equal(status, 200)
  return service
}

it('sends a purchase without identity immediately as a test event', async test => {
  const service = await inTestMode(test)
  const { status, body } = await purchase(service, {
    body: { value: '2.50', currency: 'eur', order_id: 'try-1' },
  })
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['event_id', 'status', 'trace_id'])
  assert.equal(body.status, 'accepted')

  const { events } = await service.received()
  const [received] = events as unknown as [Record<string, unknown>]
  assert.equal(events.length, 1)
  assert.equal(received.event_id, body.event_id)
  assert.equal(received.test_event_code, 'TEST00007')
  assert.equal(received.request_id, body.trace_id)
  assert.deepEqual(Object.keys(received.user_data as object), ['external_id'])
  const { opt_out, action_source } = received.other_members as Record<string, unknown>
  assert.deepEqual([opt_out, action_source], [true, 'system_generated'])
  assert.deepEqual(received.custom_data, { value: 2.5, currency: 'EUR', order_id: 'try-1' })
})

it('stores the purchase but excludes it from the figures', async test => {
  const service = await inTestMode(test)
  const { body } = await purchase(service)
  const { event, deliveries } = (await service.read(body.event_id)).body
  assert.deepEqual(
    [event.event_class, event.measurement_class, event.attribution_join, event.value_amount],
    ['test', 'ledger_only', 'none', 1],
  )
  assert.deepEqual([event.value_currency, event.event_name], ['USD', 'Purchase'])
  assert.match(event.order_id, /^signalbox-test_/)
  assert.equal(event.payload_expired, false)
  const [delivery] = deliveries
  assert.deepEqual(
    [delivery.status, delivery.is_test, delivery.attempt_count],
    ['accepted', true, 1],
  )
  assert.match(delivery.explanation, /as a test event with the first attempt/)
})

it('accepts an absent, empty, null, or memberless body', async test => {
  const service = await inTestMode(test)
  const json = { headers: { 'content-type': 'application/json' } }
  const ids = new Set<string>()
  for (const options of [{}, { rawBody: '', ...json }, { body: null }, { body: {} }]) {
    const { status, body } = await purchase(service, options)
    assert.equal(status, 200)
    ids.add(body.event_id)
  }
  assert.equal(ids.size, 4)
})

const REFUSALS = [
  ['failed:permanent', { respond: { status: 400, code: 100, subcode: 2_804_048 } }],
  ['failed:auth', { respond: { status: 401, code: 190, subcode: 463 } }],
  ['failed:auth', { respond: { status: 400, code: 10 } }],
  ['failed:unknown', { respond: { status: 503, code: 2 } }],
  ['failed:unknown', { respond: { status: 400, code: 4 } }],
  ['failed:unknown', { abort: 'before_response' }],
  ['failed:unknown', { respond: { status: 502, body: '<html>Bad Gateway</html>' } }],
] as const

for (const [status, fault] of REFUSALS) {
  it(`returns 502 with ${status} when the platform responds with ${JSON.stringify(fault)}`, async test => {
    const service = await inTestMode(test)
    await scriptFaults(service.simulatorUrl, [{ times: 1, ...fault }])
    const reply = await purchase(service)
    assert.equal(reply.status, 502, reply.text)
    assert.equal(reply.body.status, status)
    assert.equal(reply.headers.get('x-should-retry'), 'false')
    const [delivery] = (await service.read(reply.body.event_id)).body.deliveries
    assert.deepEqual([delivery.attempt_count, delivery.next_attempt_at], [1, null])

    // No later delivery sends it.
    service.clock.advance(7_200)
    assert.equal(await service.deliver(), 0)
    assert.equal((await service.received()).count, 0)
  })
}

it('returns 502 when the credential cannot be decrypted and explains it', async test => {
  const service = await inTestMode(test)
  await service.database.pool.query(`update destinations set sealed_credential = '\\x00'`)
  const reply = await purchase(service)
  assert.deepEqual([reply.status, reply.body.status], [502, 'failed:auth'])
  assert.equal(reply.body.trace_id, null)
  const { rows } = await service.database.pool.query('select status from destinations')
  assert.equal(rows[0].status, 'active', 'the workers may have the right key')
  const [delivery] = (await service.read(reply.body.event_id)).body.deliveries
  assert.match(delivery.explanation, /credential could not be opened/)
})

it('pauses a destination that the platform rejects and reactivates it after a success', async test => {
  const service = await inTestMode(test)
  const statusOf = async () => {
    const { rows } = await service.database.pool.query('select status from destinations')
    return rows[0].status
  }
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  assert.equal((await purchase(service)).status, 502)
  assert.equal(await statusOf(), 'inactive')
  await restoreTokens(service.simulatorUrl)
  assert.equal((await purchase(service)).status, 200)
  assert.equal(await statusOf(), 'active')
})

it('stays a test event when it is replayed', async test => {
  const service = await inTestMode(test)
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  const { body } = await purchase(service)
  assert.equal(body.status, 'failed:auth')
  const replayed = await service.request('POST', '/api/v1/deliveries/replay')
  assert.equal(replayed.body.queued, 1)
  const [delivery] = (await service.read(body.event_id)).body.deliveries
  assert.deepEqual([delivery.status, delivery.is_test], ['queued', true])
})

it('returns 401 without a secret', async test => {
  const service = await startTestService(test)
  assert.equal((await purchase(service, { secret: null })).status, 401)
})

it("returns 404 for another tracker's destination before it validates the body", async test => {
  const service = await inTestMode(test)
  const stranger = await service.newTracker()
  const nobodys = '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11'
  for (const destination of [stranger.destinationId, nobodys, 'mine']) {
    const body = { value: 'wrong' }
    const reply = await service.request('POST', address(destination, 'test-purchase'), { body })
    assert.equal(reply.status, 404)
  }
  assert.deepEqual(await countStatuses(service), {})
})

it('returns 422 with only a message while test mode is off and stores nothing', async test => {
  const service = await startTestService(test)
  const { status, body } = await purchase(service)
  assert.equal(status, 422)
  assert.deepEqual(Object.keys(body), ['message'])
  assert.deepEqual(await countStatuses(service), {})
})

it('returns 422 naming every invalid field and stores nothing', async test => {
  const service = await inTestMode(test)
  const body = { value: '-1', currency: 'EURO', order_id: '' }
  const reply = await purchase(service, { body })
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors).sort(), ['currency', 'order_id', 'value'])
  for (const wrong of [[], 7, { value: 1 }, { order_id: 'a\0' }, { order_id: 'x'.repeat(129) }]) {
    assert.equal((await purchase(service, { body: wrong })).status, 422, JSON.stringify(wrong))
  }
  assert.deepEqual(await countStatuses(service), {})
})

it('sends one purchase for each of several concurrent requests', async test => {
  const service = await inTestMode(test)
  const replies = await Promise.all(Array.from({ length: 5 }, () => purchase(service)))
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(replies.map(({ body }) => body.event_id)).size, 5)
  assert.equal((await service.received()).count, 5)
})

it('returns 503 in a process without a platform URL', async test => {
  const service = await inTestMode(test, { knowsPlatform: false })
  const { status, headers } = await purchase(service)
  assert.equal(status, 503)
  assert.equal(headers.get('retry-after'), '60')
})
