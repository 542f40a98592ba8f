import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'

const PATH = '/api/v1/verification-events'

it('returns 202, then 200, with the one verification event of the tracker', async test => {
  const service = await startTestService(test)
  const location = `${service.url}/api/v1/events/signal-verification`
  const first = await service.request('POST', PATH)
  assert.equal(first.status, 202)
  assert.deepEqual(first.body, { event_id: 'signal-verification', duplicate: false })
  assert.equal(first.headers.get('location'), location)
  assert.equal(first.headers.get('idempotency-key'), null)
  service.clock.advance(86_400)
  const second = await service.request('POST', PATH)
  assert.equal(second.status, 200)
  assert.deepEqual(second.body, { event_id: 'signal-verification', duplicate: true })
  assert.equal(second.headers.get('location'), location)
})

it('stores a modeled event without identity, deliveries, or attribution', async test => {
  const service = await startTestService(test)
  await service.request('POST', PATH)
  const { body } = await service.read('signal-verification')
  const { event } = body
  assert.equal(event.event_name, 'signal_verification')
  assert.equal(event.event_class, 'verification')
  assert.equal(event.measurement_class, 'modeled')
  assert.equal(event.attribution_join, 'none')
  assert.equal(event.enforcement_scope, 'ledger')
  assert.equal(event.consent_basis, 'legitimate_interest')
  assert.equal(event.action_source, 'system_generated')
  assert.equal(event.payload_expired, false)
  assert.deepEqual(event.user_data_hashed, {})
  assert.deepEqual(event.click_ids, {})
  assert.equal(event.session, null)
  assert.deepEqual(event.deliveries, [])
  assert.deepEqual(body.deliveries, [])
  const { rows } = await service.database.pool.query('select count(*) from event_payloads')
  assert.equal(rows[0].count, 0)
  assert.equal(await service.deliver(), 0)
})

it('returns 202 once per tracker, also for concurrent requests', async test => {
  const service = await startTestService(test)
  const { trackerSecret: secret } = await service.newTracker()
  const ours = await Promise.all(
    Array.from({ length: 20 }, () => service.request('POST', PATH).then(({ status }) => status)),
  )
  assert.deepEqual(ours.sort(), [...Array(19).fill(200), 202])
  assert.equal((await service.request('POST', PATH, { secret })).status, 202)
})

it('ignores the body, with or without a content type', async test => {
  const service = await startTestService(test)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const empty = await service.request('POST', PATH, { rawBody: '', headers: form })
  assert.equal(empty.status, 202)
  const body = { event_id: 'mine', event_name: 'Purchase', consent_basis: 'consent' }
  const ignored = await service.request('POST', PATH, { body })
  assert.deepEqual(ignored.body, { event_id: 'signal-verification', duplicate: true })
  assert.equal((await service.read('mine')).status, 404)
})

it('returns 401 without a tracker secret and stores nothing', async test => {
  const service = await startTestService(test)
  const reply = await service.request('POST', PATH, { secret: null })
  assert.equal(reply.status, 401)
  assert.deepEqual(reply.body, { message: 'Unauthenticated.' })
  assert.equal((await service.read('signal-verification')).status, 404)
})
