import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const RACERS = 50

it('returns 200 for a repeated body and changes nothing', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const first = (await service.read('order-1001')).text
  service.clock.advance(60)
  const { event_id, ...rest } = samplePurchase()
  // The same body says the same with its members in another order and its id in the header.
  const repeat = Object.fromEntries(Object.entries(rest).reverse())
  const reply = await service.submit(repeat, { 'idempotency-key': event_id as string })
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.body, { event_id: 'order-1001', duplicate: true })
  assert.equal((await service.read('order-1001')).text, first)
})

it('returns 200 for a different body, keeps the first one, and explains it', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ click_ids: { fbclid: 'AbC' } }))
  const before = (await service.read('order-1001')).body
  service.clock.advance(60)
  const other = samplePurchase({
    event_name: 'Refund',
    visitor_id: 'visitor-2',
    value_data: { value: '-5', currency: 'USD' },
    click_ids: { fbclid: 'Other' },
  })
  const reply = await service.submit(other)
  assert.equal(reply.status, 200)
  const { notices, ...rest } = reply.body
  assert.deepEqual(rest, { event_id: 'order-1001', duplicate: true })
  assert.deepEqual(
    notices.map(({ code, field }: { code: string; field: string }) => [code, field]),
    [['differs_from_stored', 'event_id']],
  )
  const after = (await service.read('order-1001')).body
  assert.deepEqual(after.event, before.event)
  assert.match(
    after.deliveries[0].explanation,
    / The same ID was received again once with a different body, last at 2026-11-21T12:01:00\.000Z; the first body was kept\.$/,
  )
  const ofOther = { event_id: 'later', visitor_id: 'visitor-2' }
  await service.submit(samplePurchase(ofOther))
  assert.deepEqual((await service.read('later')).body.event.session.click_ids, {})
})

it('tells each caller of a group whether its own body differs', async test => {
  const service = await startTestService(test)
  const bodies = Array.from({ length: 30 }, (_, index) =>
    samplePurchase({
      event_id: `order-${index % 5}`,
      event_name: index < 5 ? 'A' : `B${index % 2}`,
    }),
  )
  for (const body of bodies.slice(0, 5)) assert.equal((await service.submit(body)).status, 202)
  const repeated = [...bodies, ...bodies.slice(0, 5)]
  const replies = await Promise.all(repeated.map(body => service.submit(body)))
  for (const [index, { status, body }] of replies.entries()) {
    assert.equal(status, 200)
    const isSame = repeated[index]?.event_name === 'A'
    assert.equal(body.notices?.[0].code, isSame ? undefined : 'differs_from_stored')
  }
})

it('claims nothing of an event of an erased person, which has no digest', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const identifier_hash = hash('sha256', 'jane@example.com')
  const erased = await service.request('DELETE', '/api/v1/user-data', { body: { identifier_hash } })
  assert.equal(erased.body.events_updated, 1)
  const reply = await service.submit(samplePurchase({ event_name: 'Refund' }))
  assert.deepEqual(reply.body, { event_id: 'order-1001', duplicate: true })
})

it('tells a page nothing about the event whose ID it repeats', async test => {
  const service = await startTestService(test)
  const send = (changes: object) =>
    service.request('POST', '/api/v1/events', {
      secret: service.tracker.publishableKey,
      headers: { origin: SHOP_ORIGIN },
      body: samplePageView({ event_id: 'page-1', ...changes }),
    })
  assert.equal((await send({})).status, 202)
  const reply = await send({ event_name: 'Lead' })
  assert.deepEqual(reply.body, { event_id: 'page-1', duplicate: true })
})

it('returns 422 for an invalid body even when the event ID exists', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const invalid = await service.submit(samplePurchase({ event_time: 'yesterday' }))
  assert.equal(invalid.status, 422)
  assert.deepEqual(Object.keys(invalid.body.errors), ['event_time'])
})

it(`returns 202 for exactly one of ${RACERS} identical concurrent requests`, async test => {
  const service = await startTestService(test)
  const replies = await Promise.all(
    Array.from({ length: RACERS }, () => service.submit(samplePurchase())),
  )
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [...Array(RACERS - 1).fill(200), 202])
  const { body } = await service.read('order-1001')
  assert.equal(body.deliveries.length, 1)
  assert.doesNotMatch(body.deliveries[0].explanation, /received again/)
})

it(`returns 202 for exactly one of ${RACERS} concurrent bodies with the same event ID`, async test => {
  const service = await startTestService(test)
  const replies = await Promise.all(
    Array.from({ length: RACERS }, (_, index) =>
      service.submit(samplePurchase({ value_data: { value: `${index}.00`, currency: 'EUR' } })),
    ),
  )
  const winners = replies.flatMap(({ status }, index) => (status === 202 ? [index] : []))
  assert.equal(winners.length, 1)
  assert.equal(replies.filter(({ status }) => status === 200).length, RACERS - 1)
  const { body } = await service.read('order-1001')
  assert.equal(body.event.value_data.value, `${winners[0]}.00`)
  assert.equal(body.deliveries.length, 1)
  assert.match(body.deliveries[0].explanation, /received again 49 times with a different body/)
})

it('keeps equal event IDs of two trackers apart', async test => {
  const service = await startTestService(test)
  const { trackerSecret: secret } = await service.newTracker()
  const path = '/api/v1/events'
  await service.submit(samplePurchase())
  const theirs = samplePurchase({ event_name: 'Lead', value_data: undefined })
  const reply = await service.request('POST', path, { secret, body: theirs })
  assert.equal(reply.status, 202)
  const read = await service.request('GET', `${path}/order-1001`, { secret })
  assert.equal(read.body.event.event_name, 'Lead')
  assert.notEqual(read.body.event.workspace_id, 1)
  assert.equal((await service.read('order-1001')).body.event.event_name, 'Purchase')
})
