import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

function switchTo(
  service: TestService,
  body: unknown,
  { destination = service.tracker.destinationId, ...options }: Record<string, unknown> = {},
) {
  const path = `/api/v1/destinations/${destination}/test-mode`
  return service.request('PATCH', path, { body, ...options })
}

/** Submits one purchase and tells whether its delivery is a test. */
async function isTest(service: TestService, eventId: string): Promise<boolean> {
  await service.submit(samplePurchase({ event_id: eventId }))
  const { body } = await service.read(eventId)
  return body.deliveries[0].is_test
}

it('200 makes the next event a test event until it is switched off', async test => {
  const service = await startTestService(test)
  assert.equal(await isTest(service, 'before'), false)
  const on = await switchTo(service, { enabled: true, test_event_code: 'TEST00007' })
  assert.deepEqual([on.status, on.body.test_mode], [200, true])
  assert.equal(await isTest(service, 'within'), true)
  const off = await switchTo(service, { enabled: false })
  assert.deepEqual([off.status, off.body.test_mode], [200, false])
  assert.equal(await isTest(service, 'after'), false)

  await service.deliver()
  const { events } = await service.received()
  const codes = (events as unknown as { event_id: string; test_event_code: string | null }[])
    .map(({ event_id, test_event_code }) => [event_id, test_event_code])
    .sort()
  assert.deepEqual(codes, [
    ['after', null],
    ['before', null],
    ['within', 'TEST00007'],
  ])
})

it('200 returns the destination without its credential', async test => {
  const service = await startTestService(test)
  const { body, text } = await switchTo(service, { enabled: true, test_event_code: 'TEST00007' })
  const { destinationId, trackerId, workspaceId } = service.tracker
  const { config, ...destination } = body.destination
  assert.deepEqual(destination, {
    id: destinationId,
    workspace_id: workspaceId,
    signal_tracker_id: trackerId,
    platform_ad_account_id: null,
    type: 'meta',
    credential_source: 'oauth_connection',
    status: 'active',
    created_at: '2026-11-21T12:00:00.000Z',
    updated_at: '2026-11-21T12:00:00.000Z',
  })
  const { dataset_id, ...rest } = config
  assert.match(dataset_id, /^\d{15}$/)
  assert.deepEqual(rest, {
    test_event_code: 'TEST00007',
    test_mode_until: '2026-11-22T12:00:00.000Z',
    status_reason: null,
  })
  assert.doesNotMatch(text, /credential"|sealed|token/)
})

it('switches off after a day', async test => {
  const service = await startTestService(test)
  await switchTo(service, { enabled: true })
  service.clock.advance(86_399)
  assert.equal(await isTest(service, 'last'), true)
  service.clock.advance(1)
  // What another process does not see at once is seen after half a second.
  await switchTo(service, { enabled: false })
  assert.equal(await isTest(service, 'first'), false)
})

it('shows test mode as off after its end', async test => {
  const service = await startTestService(test)
  await switchTo(service, { enabled: true })
  const { pool } = service.database
  await pool.query(`update destinations set test_mode_until = $1`, [service.clock.now()])
  const path = `/api/v1/destinations/${service.tracker.destinationId}/test-purchase`
  const { status, body } = await service.request('POST', path)
  assert.equal(status, 422)
  assert.deepEqual(Object.keys(body), ['message'])
  assert.match(body.message, /^Test mode is off/)
})

it('never switches on without a code, and keeps an existing code', async test => {
  const service = await startTestService(test)
  const codeAfter = async (body: unknown) => {
    const reply = await switchTo(service, body)
    assert.equal(reply.status, 200, reply.text)
    return reply.body.destination.config.test_event_code
  }
  assert.equal(await codeAfter({ enabled: false }), null)
  const made = await codeAfter({ enabled: true, test_event_code: null })
  assert.match(made, /^TEST\d{5}$/)
  assert.equal(await codeAfter({ enabled: true }), made)
  assert.equal(await codeAfter({ enabled: true, test_event_code: 'TEST1' }), 'TEST1')
  assert.equal(await codeAfter({ enabled: false }), 'TEST1')
})

it('clears the code for null and keeps it when the member is absent', async test => {
  const service = await startTestService(test)
  const codeAfter = async (body: unknown) =>
    (await switchTo(service, body)).body.destination.config.test_event_code
  assert.equal(await codeAfter({ enabled: true, test_event_code: 'TEST1' }), 'TEST1')
  assert.equal(await codeAfter({ enabled: false }), 'TEST1')
  assert.equal(await codeAfter({ enabled: false, test_event_code: null }), null)
  assert.equal(await codeAfter({ enabled: true, test_event_code: 'TEST1' }), 'TEST1')
  assert.match(await codeAfter({ enabled: true, test_event_code: null }), /^TEST\d{5}$/)
})

it('never sends a waiting test event as a live one after its code is cleared', async test => {
  const service = await startTestService(test)
  await switchTo(service, { enabled: true, test_event_code: 'TEST1' })
  await service.submit(samplePurchase({ event_id: 'waiting' }))
  await switchTo(service, { enabled: false, test_event_code: null })
  await service.deliver()
  const [delivery] = (await service.read('waiting')).body.deliveries
  assert.equal(delivery.status, 'failed:permanent')
  assert.equal((await service.received()).events.length, 0)
})

it('401 without a secret', async test => {
  const service = await startTestService(test)
  assert.equal((await switchTo(service, { enabled: true }, { secret: null })).status, 401)
})

it("404 for another tracker's destination and for an invalid id", async test => {
  const service = await startTestService(test)
  const stranger = await service.newTracker()
  const nobodys = '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11'
  for (const destination of [
    stranger.destinationId,
    nobodys,
    'mine',
    "'--",
    '%00',
    '%F0%9F%98%80',
  ]) {
    const { status, body } = await switchTo(service, { enabled: true }, { destination })
    assert.equal(status, 404, destination)
    assert.deepEqual(body, { message: 'This tracker has no such destination.' })
  }
  const { secret } = { secret: stranger.trackerSecret }
  const theirs = await switchTo(
    service,
    { enabled: false },
    { secret, destination: stranger.destinationId },
  )
  assert.equal(theirs.body.destination.config.test_event_code, null)
})

it('422 names every invalid field', async test => {
  const service = await startTestService(test)
  const long = 'x'.repeat(101)
  for (const [body, fields] of [
    [undefined, ['enabled']],
    [null, ['enabled']],
    [[], ['body']],
    [{ enabled: 'yes', test_event_code: 7 }, ['enabled', 'test_event_code']],
    [{ enabled: true, test_event_code: long }, ['test_event_code']],
    [{ enabled: true, test_event_code: '' }, ['test_event_code']],
    [{ enabled: true, test_event_code: 'two words' }, ['test_event_code']],
    [{ enabled: true, test_event_code: 'nul\0' }, ['test_event_code']],
  ] as const) {
    const reply = await switchTo(service, body)
    assert.equal(reply.status, 422, JSON.stringify(body))
    assert.deepEqual(Object.keys(reply.body.errors).sort(), fields)
  }
})

it('200 for two concurrent switches: the later one wins completely', async test => {
  const service = await startTestService(test)
  const codes = ['TEST1', 'TEST2', 'TEST3', 'TEST4']
  const replies = await Promise.all(
    codes.map(test_event_code => switchTo(service, { enabled: true, test_event_code })),
  )
  for (const [index, { body }] of replies.entries()) {
    assert.equal(body.destination.config.test_event_code, codes[index])
  }
})
