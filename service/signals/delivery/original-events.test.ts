import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const RENEWAL = { event_id: 'renewal', event_name: 'Subscribe', parent_event_id: 'order-1001' }

async function originalEventOf(service: TestService, eventId: string): Promise<unknown> {
  await service.deliver()
  const [received] = (await service.received(`?event_id=${eventId}`)).events
  assert.ok(received, `${eventId} was delivered`)
  return (received as unknown as { other_members: Record<string, unknown> }).other_members
    .original_event_data
}

it('sends the parent of an event as its original event', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_time: '2026-11-21T10:00:00.900Z' }))
  await service.submit(samplePurchase(RENEWAL))
  assert.deepEqual(await originalEventOf(service, 'renewal'), {
    event_name: 'Purchase',
    event_time: Date.parse('2026-11-21T10:00:00Z') / 1_000,
    order_id: '1001',
    event_id: 'order-1001',
  })
  assert.equal(await originalEventOf(service, 'order-1001'), undefined)
})

it('sends no original event when the parent is not stored', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ ...RENEWAL, parent_event_id: 'unknown' }))
  assert.equal(await originalEventOf(service, 'renewal'), undefined)
})

it('does not disclose a parent whose consent did not allow its delivery', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ consent: { ad_user_data: 'perhaps' } }))
  await service.submit(samplePurchase(RENEWAL))
  assert.equal(await originalEventOf(service, 'renewal'), undefined)
})

it('does not disclose a parent whose person was erased', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const body = { identifier_hash: hash('sha256', 'jane@example.com') }
  assert.equal((await service.request('DELETE', '/api/v1/user-data', { body })).status, 200)
  const another = { em: 'john@example.com', client_user_agent: 'Mozilla/5.0' }
  await service.submit(samplePurchase({ ...RENEWAL, user_data: another, visitor_id: 'visitor-2' }))
  assert.equal(await originalEventOf(service, 'renewal'), undefined)
})

it('sends the parent of the own space, else that of the other one', async test => {
  const service = await startTestService(test)
  const key = {
    secret: service.tracker.publishableKey,
    headers: { origin: 'https://shop.example' },
  }
  const page = (changes: object) =>
    service.request('POST', '/api/v1/events', {
      ...key,
      body: samplePurchase({ user_data: { em: 'jane@example.com' }, ...changes }),
    })
  assert.equal((await page({ event_name: 'Lead' })).status, 202)
  await service.submit(samplePurchase())
  await service.submit(samplePurchase(RENEWAL))
  assert.equal((await page({ ...RENEWAL, event_id: 'of-page', event_name: 'Lead' })).status, 202)
  const nameOf = async (id: string) =>
    ((await originalEventOf(service, id)) as { event_name: string }).event_name
  assert.equal(await nameOf('renewal'), 'Purchase')
  assert.equal(await nameOf('of-page'), 'Lead')
})

it('sends no token of an event that an earlier version stored, nor of its parent', async test => {
  const service = await startTestService(test)
  const old = `redacted_${'ab'.repeat(16)}`
  for (const [event_id, parent] of [
    ['parent', undefined],
    ['child', 'parent'],
  ] as const) {
    const value_data = { value: '1', currency: 'EUR', order_id: 'o', content_name: 'name' }
    const body = samplePurchase({ event_id, parent_event_id: parent, value_data })
    assert.equal((await service.submit(body)).status, 202)
  }
  await service.database.pool.query(
    `update events set order_id = $1::text,
       value_data = replace(value_data::text, 'name', $1::text)::json`,
    [old],
  )
  assert.equal((await service.read('parent')).body.event.order_id, old)
  await service.deliver()
  const { events } = await service.received()
  assert.equal(events.length, 2)
  assert.match(JSON.stringify(events), /"original_event_data":\{[^}]*"event_id":"parent"/)
  assert.doesNotMatch(JSON.stringify(events), /redacted_/)
})
