import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { ledgerEntry, storeEntries } from '../../../testing/fixtures/stored-events.ts'

async function deliveryOf(service: TestService, eventId = 'order-1001') {
  const { body } = await service.read(eventId)
  return body.deliveries[0]
}

/** A withdrawal that another process has just committed: nothing that waits was touched yet. */
async function withdraw(
  service: TestService,
  key: string,
  createdAt = service.clock.now(),
): Promise<void> {
  const { trackerId } = service.tracker
  const withdrawal = {
    trackerId,
    eventId: `withdrawal of ${key}`,
    createdAt,
    payload: null,
    withdrawnKeys: [key],
  }
  await storeEntries(service.database, [ledgerEntry(withdrawal)])
}

const LOCAL_FAULTS: Record<string, [changes: Record<string, unknown>, message: RegExp]> = {
  'too little to match a person by': [
    { user_data: { client_user_agent: 'Mozilla/5.0' } },
    /^The user_data holds too little to match a person/,
  ],
  'a purchase without a value': [
    { value_data: { order_id: '1' } },
    /^A Purchase needs value_data\.value\.$/,
  ],
  'a purchase with a negative value': [
    { value_data: { value: '-1.00', currency: 'EUR' } },
    /^A Purchase cannot have a negative value\.$/,
  ],
}

for (const [fault, [changes, message]] of Object.entries(LOCAL_FAULTS)) {
  it(`fails ${fault} alone and without a request`, async test => {
    const service = await startTestService(test)
    await service.submit(samplePurchase({ event_id: 'good' }))
    assert.equal((await service.submit(samplePurchase(changes))).status, 202)
    assert.equal(await service.deliver(), 2)
    const { status, attempt_count, last_error, explanation } = await deliveryOf(service)
    assert.deepEqual([status, attempt_count], ['failed:permanent', 0])
    assert.equal(last_error.class, 'local')
    assert.match(last_error.message, message)
    assert.match(explanation, /^Not sent, because the platform would reject it\. /)
    assert.equal((await deliveryOf(service, 'good')).status, 'accepted')
    const { requests, refused_requests } = await readSimulatorSummary(service.simulatorUrl)
    assert.deepEqual([requests, refused_requests], [1, 0])
  })
}

it('sends a source of the caller that the platform does not know as other', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.database.pool.query(`update events set action_source = 'store'`)
  assert.equal(await service.deliver(), 1)
  assert.equal((await deliveryOf(service)).status, 'accepted')
  const [event] = (await service.received('')).events
  assert.equal((event as Record<string, unknown> | undefined)?.action_source ?? 'other', 'other')
})

it('skips a delivery whose visitor withdrew between acceptance and sending', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.submit(samplePurchase({ event_id: 'of-another', visitor_id: 'visitor-2' }))
  service.clock.advance(1)
  await withdraw(service, 'visitor-1')
  await service.deliver()
  const { status, attempt_count, explanation } = await deliveryOf(service)
  assert.deepEqual([status, attempt_count], ['skipped:consent', 0])
  assert.match(explanation, /^Not sent: the visitor withdrew consent/)
  assert.equal((await deliveryOf(service, 'of-another')).status, 'accepted')
  assert.equal((await service.received('event_id=order-1001')).count, 0)
})

it('skips a retry whose visitor withdrew after the first attempt', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  await service.submit(samplePurchase())
  await service.deliver()
  await withdraw(service, 'visitor-1')
  service.clock.advance(5)
  await service.deliver()
  const { status, attempt_count } = await deliveryOf(service)
  assert.deepEqual([status, attempt_count], ['skipped:consent', 1])
})

it('sends an event with consent captured after the withdrawal', async test => {
  const service = await startTestService(test)
  await withdraw(service, 'visitor-1')
  service.clock.advance(3_600)
  const consent = { ad_user_data: 'granted', captured_at: '2026-11-21T12:30:00Z' }
  await service.submit(samplePurchase({ consent }))
  await service.deliver()
  assert.equal((await deliveryOf(service)).status, 'accepted')
})

it('skips an event whose consent proves no choice after the withdrawal', async test => {
  const service = await startTestService(test)
  const withdrawnAt = service.clock.now()
  service.clock.advance(3_600)
  for (const [event_id, captured_at] of [
    ['soon', '2026-11-21T12:05:00Z'],
    ['ahead', '2026-11-21T13:00:01Z'],
  ]) {
    const consent = { ad_user_data: 'granted', captured_at }
    await service.submit(samplePurchase({ event_id, consent }))
  }
  await withdraw(service, 'visitor-1', withdrawnAt)
  service.clock.advance(60)
  await service.deliver()
  for (const eventId of ['soon', 'ahead']) {
    assert.equal((await deliveryOf(service, eventId)).status, 'skipped:consent', eventId)
  }
})

it('fails an event whose identity payload has expired, with an explanation', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.database.pool.query('delete from event_payloads')
  await service.deliver()
  const { status, explanation } = await deliveryOf(service)
  assert.equal(status, 'failed:permanent')
  assert.match(explanation, /^Not sent: the identity payload of the event has expired/)
})

it("fails the one invalid event with the platform's code and delivers the others", async test => {
  const service = await startTestService(test)
  const bad = samplePurchase({ event_id: 'bad' })
  await service.submit(bad)
  for (let order = 1; order <= 20; order += 1) {
    await service.submit(samplePurchase({ event_id: `order-${order}` }))
  }
  const respond = { status: 400, code: 100, subcode: 2_804_048, user_msg: 'No such thing.' }
  await scriptFaults(service.simulatorUrl, [{ match: { event_id: 'bad' }, respond }])
  assert.equal(await service.deliver(), 21)
  const { status, attempt_count, last_error, explanation } = await deliveryOf(service, 'bad')
  assert.deepEqual([status, attempt_count], ['failed:permanent', 1])
  assert.deepEqual([last_error.code, last_error.subcode], [100, 2_804_048])
  assert.equal(
    explanation,
    'The platform rejected the event permanently. Code 100/2804048: No such thing. ' +
      'Correct the data and send it under a new event_id.',
  )
  const { receipts, deduplicated, requests } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, deduplicated], [20, 0])
  assert.ok(requests <= 11, `${requests} requests`)
})
