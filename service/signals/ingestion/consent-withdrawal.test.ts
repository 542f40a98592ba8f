import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

it('skips the waiting deliveries of the visitor who withdraws, and of no other visitor', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const other = { visitor_id: 'visitor-2', user_data: { em: 'john@example.com' } }
  await service.submit(samplePurchase({ event_id: 'of-other', ...other }))
  const theirs = await service.newTracker()
  const secret = theirs.trackerSecret
  await service.request('POST', '/api/v1/events', { secret, body: samplePurchase() })
  service.clock.advance(60)
  await withdraw(service, 'visitor-1')
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.equal(deliveries[0].status, 'skipped:consent')
  assert.equal(deliveries[0].next_attempt_at, null)
  assert.equal(deliveries[0].updated_at, '2026-11-21T12:01:00.000Z')
  assert.equal(
    deliveries[0].explanation,
    'Not sent: the visitor withdrew consent, and the consent of 2026-11-21T11:00:00.000Z does ' +
      'not overrule that: it would have to be captured more than 5 minutes after the withdrawal, ' +
      'and no later than the receipt of the event. It stays in the ledger.',
  )
  assert.equal(event.consent.decision.outcome, 'granted')
  assert.equal((await service.read('of-other')).body.deliveries[0].status, 'queued')
  assert.equal(await service.deliver(), 2)
})

it('withholds later events of the visitor until new consent is captured', async test => {
  const service = await startTestService(test)
  await withdraw(service, 'visitor-1')
  service.clock.advance(3_600)
  for (const [event_id, consent, status] of [
    ['before', { ad_user_data: 'granted', captured_at: '2026-11-21T11:59:59Z' }, 'skipped:consent'],
    ['at', { ad_user_data: 'granted', captured_at: '2026-11-21T12:00:00Z' }, 'skipped:consent'],
    ['undated', { ad_user_data: 'granted' }, 'skipped:consent'],
    ['attested', { captured_at: '2026-11-21T12:30:00Z' }, 'skipped:consent'],
    // A clock that runs five minutes fast.
    ['soon', { ad_user_data: 'granted', captured_at: '2026-11-21T12:05:00Z' }, 'skipped:consent'],
    ['ahead', { ad_user_data: 'granted', captured_at: '2026-11-21T13:00:01Z' }, 'skipped:consent'],
    ['after', { ad_user_data: 'granted', captured_at: '2026-11-21T12:30:00Z' }, 'queued'],
  ] as const) {
    const reply = await service.submit(samplePurchase({ event_id, consent }))
    assert.equal(reply.status, 202, event_id)
    const { event, deliveries } = (await service.read(event_id)).body
    assert.equal(deliveries[0].status, status, event_id)
    const isHeld = status === 'skipped:consent'
    assert.equal(event.attribution_join, isHeld ? 'none' : 'allowed')
    assert.equal(event.measurement_class, isHeld ? 'ledger_only' : 'advertising')
    assert.equal(event.consent.decision.outcome, isHeld ? 'withheld' : 'granted')
    if (isHeld) assert.equal(event.consent.decision.reason, 'consent_withdrawn')
  }
})

it('matches the visitor by email digest, phone digest, and external_id', async test => {
  const service = await startTestService(test)
  for (const [name, visitor_id, person] of [
    ['mail', 'Jane@Example.com ', { user_data: { em: 'jane@example.com' } }],
    ['mail-id', 'john@example.com', { user_data: { external_id: 'JOHN@example.com' } }],
    ['phone', '+49 1512 3456789', { user_data: { ph: '4915123456789' } }],
    ['id', 'customer-9', { user_data: { external_id: 'customer-9' } }],
    ['visitor', 'visitor-9', { visitor_id: 'visitor-9' }],
  ] as const) {
    await service.submit(purchaseOf(`waiting-${name}`, person))
    service.clock.advance(1)
    await withdraw(service, visitor_id)
    await service.submit(purchaseOf(`later-${name}`, person))
    const later = (await service.read(`later-${name}`)).body.deliveries[0]
    assert.equal(later.status, 'skipped:consent', `later ${name}`)
  }
  await service.deliver()
  for (const name of ['mail', 'mail-id', 'phone', 'id', 'visitor']) {
    const waiting = (await service.read(`waiting-${name}`)).body.deliveries[0]
    assert.equal(waiting.status, 'skipped:consent', `waiting ${name}`)
  }
  assert.equal((await service.received()).count, 0)
})

it('accepts a withdrawal on the basis of consent with identity and a denial', async test => {
  const service = await startTestService(test)
  const person = { user_data: { em: 'jane@example.com' } }
  await service.submit(purchaseOf('waiting', person))
  const reply = await service.submit({
    event_id: 'bye',
    event_name: 'consent_withdrawal',
    consent_basis: 'consent',
    consent: { ad_user_data: 'denied' },
    ...person,
  })
  assert.equal(reply.status, 202)
  const { event, deliveries } = (await service.read('bye')).body
  assert.equal(event.event_class, 'lifecycle')
  assert.equal(event.consent.decision.reason, 'consent_withdrawal')
  assert.deepEqual(deliveries, [])
  await service.deliver()
  assert.equal((await service.read('waiting')).body.deliveries[0].status, 'skipped:consent')
})

it('keeps the latest withdrawal, and a duplicate changes nothing', async test => {
  const service = await startTestService(test)
  await withdraw(service, 'visitor-1', 'bye-1')
  service.clock.advance(600)
  await withdraw(service, 'visitor-1', 'bye-2')
  service.clock.advance(600)
  assert.equal(await withdraw(service, 'visitor-1', 'bye-1'), 200)
  const between = { ad_user_data: 'granted', captured_at: '2026-11-21T12:05:00Z' }
  await service.submit(samplePurchase({ event_id: 'between', consent: between }))
  assert.equal((await service.read('between')).body.deliveries[0].status, 'skipped:consent')
  const after = { ad_user_data: 'granted', captured_at: '2026-11-21T12:15:01Z' }
  await service.submit(samplePurchase({ event_id: 'after', consent: after }))
  assert.equal((await service.read('after')).body.deliveries[0].status, 'queued')
})

async function withdraw(
  service: TestService,
  visitor_id: string,
  event_id: string | undefined = undefined,
): Promise<number> {
  const reply = await service.submit({
    event_id,
    visitor_id,
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
  })
  return reply.status
}

/** A purchase whose only identifiers are those of `person`. */
function purchaseOf(event_id: string, person: object): Record<string, unknown> {
  return samplePurchase({ event_id, visitor_id: undefined, ...person })
}
