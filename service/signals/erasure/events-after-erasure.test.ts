import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { dumpAsText, findEmailTraces } from '../../../testing/fixtures/database-dump.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const EMAIL = 'jane@example.com'
const DIGEST = hash('sha256', EMAIL)

async function forget(service: TestService, identifier = EMAIL): Promise<void> {
  const body = { identifier_hash: hash('sha256', identifier) }
  const reply = await service.request('DELETE', '/api/v1/user-data', { body })
  assert.equal(reply.status, 200, reply.text)
}

it('stores later events of the person without identity and does not send them', async test => {
  const service = await startTestService(test)
  await forget(service)
  service.clock.advance(3_600)
  const source = 'https://shop.example/checkout?fbclid=AbC123'
  const reply = await service.submit(samplePurchase({ event_source: source }))
  assert.equal(reply.status, 202)
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.partialDeepStrictEqual(event, {
    value_amount: 19.95,
    event_source: 'https://shop.example/checkout',
    payload_expired: true,
    user_data_hashed: {},
    click_ids: {},
    session: null,
    attribution_join: 'none',
    measurement_class: 'ledger_only',
  })
  assert.partialDeepStrictEqual(event.consent.decision, { outcome: 'withheld', reason: 'erased' })
  assert.equal(deliveries[0].status, 'skipped:consent')
  assert.match(deliveries[0].explanation, /erased on request/)
  const stored = await dumpAsText(service.database)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, stored), [])
  for (const trace of ['visitor-1', 'Mozilla', 'AbC123']) assert.ok(!stored.includes(trace), trace)
  assert.equal(await service.deliver(), 0)
})

it('returns 200 for a duplicate of an erased event without comparing the body', async test => {
  const service = await startTestService(test)
  await forget(service)
  assert.equal((await service.submit(samplePurchase())).status, 202)
  const again = await service.submit(samplePurchase({ event_name: 'Lead' }))
  assert.deepEqual([again.status, again.body.duplicate], [200, true])
  const [{ explanation }] = (await service.read('order-1001')).body.deliveries
  assert.doesNotMatch(explanation, /came again/)
})

it('suppresses only erased people within one commit', async test => {
  const service = await startTestService(test)
  await forget(service)
  await forget(service, '4915123456789')
  const theirs = await service.newTracker()
  const people = (index: number) => [
    { em: `customer-${index}@example.com` },
    { em: [`customer-${index}@example.com`, EMAIL] },
    { ph: '+49 1512 3456789' },
    { external_id: DIGEST },
  ]
  const submissions = Array.from({ length: 40 }, (_, index) => ({
    event_id: `event-${index}`,
    visitor_id: `visitor-${index}`,
    user_data: people(index)[index % 4],
  }))
  // All events are batched while a commit is in progress.
  const replies = await Promise.all(
    submissions.flatMap(changes => [
      service.submit(samplePurchase(changes)),
      service.request('POST', '/api/v1/events', {
        secret: theirs.trackerSecret,
        body: samplePurchase(changes),
      }),
    ]),
  )
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [202])
  const { rows } = await service.database.pool.query(
    `select events.tracker_id, events.event_id, payload.event_id is not null as has_identity,
       session.visitor_id is not null as has_session, delivery.status
     from events
     join all_deliveries delivery using (tracker_id, event_id)
     left join event_payloads payload using (tracker_id, event_id)
     left join sessions session on session.tracker_id = events.tracker_id
       and session.visitor_id = 'visitor-' || split_part(events.event_id, '-', 2)`,
  )
  assert.equal(rows.length, 80)
  for (const { tracker_id, event_id, has_identity, has_session, status } of rows) {
    const isErased =
      tracker_id === service.tracker.trackerId && Number(event_id.split('-')[1]) % 4 !== 0
    const expected = isErased ? [false, false, 'skipped:consent'] : [true, true, 'queued']
    assert.deepEqual([has_identity, has_session, status], expected, `${tracker_id} ${event_id}`)
  }
  const counted = await service.database.pool.query(
    `select sum(planned)::integer as planned, (select sum(events)::integer from event_counts)
     from delivery_counts`,
  )
  assert.deepEqual(counted.rows[0], { planned: 50, sum: 80 })
})

it('stores a withdrawal of an erased person only under their other keys', async test => {
  const service = await startTestService(test)
  await forget(service)
  const withdrawal = {
    event_name: 'consent_withdrawal',
    consent_basis: 'consent',
    consent: { ad_user_data: 'denied' },
    user_data: { em: EMAIL, ph: '+49 1512 3456789' },
  }
  assert.equal((await service.submit(withdrawal)).status, 202)
  await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'Jane@example.com',
  })
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, await dumpAsText(service.database)), [])
  await service.submit(samplePurchase({ user_data: { ph: '+49 1512 3456789' } }))
  const [{ explanation }] = (await service.read('order-1001')).body.deliveries
  assert.match(explanation, /withdrew consent/)
})
