import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { findPayloadsByVisitor } from '../events/payload-search-store.ts'
import { digestVisitorId, indexKey } from '../events/person-identifiers.ts'

const DIGEST = hash('sha256', 'jane@example.com')

function forget(service: TestService) {
  return service.request('DELETE', '/api/v1/user-data', { body: { identifier_hash: DIGEST } })
}

interface Payloads {
  count: number
  visitorId: string | null
  digests: object
  keys: number[]
}

/** Stores `count` payloads, as acceptance would, in one statement. */
async function storePayloads(
  { database, tracker }: TestService,
  { count, visitorId, digests, keys }: Payloads,
): Promise<void> {
  await database.pool.query(
    `insert into event_payloads (tracker_id, event_id, space, created_at, received_on, visitor_id,
       user_data, click_ids, identifier_keys)
     select $1, 'stored-' || number, 0, date '2026-11-01' + number % 20,
       date '2026-11-01' + number % 20, $2, $3, '{}', $4
     from generate_series(1, $5::integer) number`,
    [tracker.trackerId, visitorId, JSON.stringify({ digests, plain: {} }), keys, count],
  )
}

async function payloadCount({ database }: TestService): Promise<number> {
  const { rows } = await database.pool.query('select count(*) as count from event_payloads')
  return rows[0].count
}

it('returns 503 when more than one request is needed and 200 on a retry', async test => {
  const service = await startTestService(test)
  const digests = { em: [DIGEST] }
  await storePayloads(service, {
    count: 50_500,
    visitorId: null,
    digests,
    keys: [indexKey(service.tracker.trackerId, DIGEST)],
  })
  const first = await forget(service)
  assert.equal(first.status, 503)
  assert.equal(first.headers.get('retry-after'), '1')
  assert.equal(await payloadCount(service), 500)
  const { body } = await forget(service)
  assert.deepEqual([body.duplicate, body.events_updated], [false, 500])
  assert.equal(await payloadCount(service), 0)
})

it('erases events with an earlier digest before the event that knows it, so that a retry finds them', async test => {
  const service = await startTestService(test)
  const { trackerId } = service.tracker
  const earlier = hash('sha256', 'jane\ufe0f@example.com')
  await service.submit(
    samplePurchase({ visitor_id: 'v-1', user_data: { email: 'jane\ufe0f@example.com' } }),
  )
  const keys = [indexKey(trackerId, earlier)]
  const digests = { em: [earlier] }
  await storePayloads(service, { count: 50_500, visitorId: null, digests, keys })
  assert.equal((await forget(service)).status, 503)
  assert.equal((await service.read('order-1001')).body.event.payload_expired, false)
  const { status, body } = await forget(service)
  assert.equal(status, 200)
  assert.equal(body.events_updated, 1_501)
  assert.equal(await payloadCount(service), 0)
})

it('erases a thousand events of a visitor but not of an ID that all visitors share', async test => {
  for (const [count, left] of [
    [2_500, 0],
    [10_001, 10_001],
  ] as const) {
    const service = await startTestService(test)
    const visitorId = 'web'
    const keys = [indexKey(service.tracker.trackerId, digestVisitorId(visitorId))]
    await storePayloads(service, { count, visitorId, digests: {}, keys })
    await service.submit(samplePurchase({ visitor_id: visitorId }))
    const { body } = await forget(service)
    assert.equal(body.events_updated, count + 1 - left)
    assert.equal(await payloadCount(service), left)
  }
})

it('completes after retries with many events without index keys', async test => {
  const service = await startTestService(test)
  await service.database.pool.query(`insert into legacy_events values ('2026-12-07')`)
  await storePayloads(service, { count: 50_500, visitorId: 'v', digests: {}, keys: [0] })
  await service.submit(samplePurchase())
  // The events that it read are indexed now and are not read again.
  assert.equal((await forget(service)).status, 503)
  const { body } = await forget(service)
  assert.deepEqual([body.duplicate, body.events_updated], [false, 1])
  const { rows } = await service.database.pool.query(
    'select count(*) as count from event_payloads where 0 = any(identifier_keys)',
  )
  assert.equal(rows[0].count, 0)
  const found = { trackerId: service.tracker.trackerId, visitorId: 'v', limit: 60_000 }
  assert.equal((await findPayloadsByVisitor(service.database, found)).length, 50_500)
})

it('keeps other people of a visitor ID that many people share', async test => {
  for (const [people, forgotten] of [
    [9, 2],
    [10, 1],
  ] as const) {
    const service = await startTestService(test)
    const submit = (event_id: string, user_data: object) =>
      service.submit(samplePurchase({ event_id, visitor_id: 'till', user_data }))
    for (let index = 0; index < people; index += 1) {
      await submit(`other-${index}`, { em: `customer-${index}@example.com` })
    }
    await submit('nameless', { client_user_agent: 'Mozilla/5.0' })
    await submit('named', { em: 'jane@example.com' })
    assert.equal((await forget(service)).body.events_updated, forgotten, `${people} others`)
  }
})
