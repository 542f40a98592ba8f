import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'

function list(service: TestService, query = '', options: object = {}) {
  return service.request('GET', `/api/v1/dashboard/events${query}`, options)
}

/** Submits `count` purchases, one per second. */
async function submitted(service: TestService, count: number, prefix = 'order'): Promise<void> {
  for (let order = 1; order <= count; order += 1) {
    service.clock.advance(1)
    const { status } = await service.submit(samplePurchase({ event_id: `${prefix}-${order}` }))
    assert.equal(status, 202)
  }
}

function idsOf(body: { events: { data: { id: string }[] } }): string[] {
  return body.events.data.map(({ id }) => id)
}

it('lists events newest first with their deliveries and exact links', async test => {
  const service = await startTestService(test)
  await submitted(service, 5)
  await service.deliver()
  const { status, body } = await list(service, '?per_page=2&page=2')
  assert.equal(status, 200)
  assert.deepEqual(idsOf(body), ['order-3', 'order-2'])
  const { events } = body
  assert.deepEqual([events.total, events.last_page, events.from, events.to], [5, 3, 3, 4])
  assert.equal(events.path, `${service.url}/api/v1/dashboard/events`)
  const next = await service.request('GET', events.next_page_url.slice(service.url.length))
  assert.deepEqual(idsOf(next.body), ['order-1'])
  const [event] = events.data
  assert.equal(event.signal_tracker_id, service.tracker.trackerId)
  assert.equal(event.workspace_id, service.tracker.workspaceId)
  const [delivery] = event.deliveries
  assert.deepEqual([delivery.status, delivery.event_id], ['accepted', 'order-3'])
  assert.equal('explanation' in delivery, false)
  assert.deepEqual(delivery.platform_response, { events_received: 5, messages: [] })
})

it('returns an empty list for a tracker without events', async test => {
  const service = await startTestService(test)
  const { status, body } = await list(service)
  assert.equal(status, 200)
  assert.deepEqual([body.events.total, body.events.data, body.events.from], [0, [], null])
  assert.deepEqual(body.metrics, {
    accepted: 0,
    total_deliveries: 0,
    acceptance_rate: null,
    acceptance_rate_window: 'last_7_days',
  })
})

it('lists every event once over all pages, for any days and page size', async test => {
  const service = await startTestService(test)
  for (const [day, count] of [3, 0, 1, 5, 2].entries()) {
    if (day > 0) service.clock.advance(86_400)
    await submitted(service, count, `day-${day}`)
  }
  const all = idsOf((await list(service, '?per_page=100')).body)
  assert.equal(all.length, 11)
  assert.equal(all[0], 'day-4-2')
  for (const perPage of [1, 2, 3, 4, 7, 11]) {
    const pages: string[] = []
    for (let page = 1; page <= Math.ceil(11 / perPage); page += 1) {
      const { body } = await list(service, `?per_page=${perPage}&page=${page}`)
      assert.equal(body.events.total, 11)
      pages.push(...idsOf(body))
    }
    assert.deepEqual(pages, all, `per_page ${perPage}`)
  }
  assert.deepEqual(idsOf((await list(service, '?per_page=4&page=4')).body), [])
})

it('orders events with equal times consistently', async test => {
  const service = await startTestService(test)
  const ids = ['b', 'a', 'd', 'c']
  await Promise.all(ids.map(event_id => service.submit(samplePurchase({ event_id }))))
  assert.deepEqual(idsOf((await list(service)).body), ['d', 'c', 'b', 'a'])
})

it('lists no events of another tracker', async test => {
  const service = await startTestService(test)
  await submitted(service, 2)
  const { trackerSecret: secret } = await service.newTracker()
  const { body } = await list(service, '', { secret })
  assert.deepEqual([body.events.total, body.events.data], [0, []])
  assert.equal(body.metrics.total_deliveries, 0)
})

it('counts duplicate events once', async test => {
  const service = await startTestService(test)
  const body = samplePurchase({ event_id: 'same' })
  await Promise.all(Array.from({ length: 20 }, () => service.submit(body)))
  await service.request('POST', '/api/v1/verification-events')
  const reply = await list(service)
  assert.equal(reply.body.events.total, 2)
})

it('caps a page at a hundred events', async test => {
  const service = await startTestService(test)
  const { body } = await list(service, '?per_page=5000')
  assert.equal(body.events.per_page, 100)
})

it('returns 401 without a secret', async test => {
  const service = await startTestService(test)
  assert.equal((await list(service, '', { secret: null })).status, 401)
})

it('returns 422 naming both invalid fields', async test => {
  const service = await startTestService(test)
  const { status, body } = await list(service, '?page=0&per_page=x')
  assert.equal(status, 422)
  assert.deepEqual(Object.keys(body.errors).sort(), ['page', 'per_page'])
})

it('computes the acceptance rate of seven days without tests and skipped deliveries', async test => {
  const service = await startTestService(test)
  const metrics = async () => (await list(service)).body.metrics
  await submitted(service, 1, 'old')
  await service.deliver()
  service.clock.advance(7 * 86_400)
  assert.equal((await metrics()).total_deliveries, 0)

  await submitted(service, 3)
  assert.deepEqual([(await metrics()).accepted, (await metrics()).acceptance_rate], [0, 0])
  await scriptFaults(service.simulatorUrl, [
    { match: { event_id: 'order-3' }, respond: { status: 400, code: 100 } },
  ])
  await service.deliver()
  const unread = { consent: { ad_user_data: 'perhaps' } }
  await service.submit(samplePurchase({ event_id: 'unread', ...unread }))
  await service.database.pool.query(
    `update destinations set test_event_code = 'T', test_mode_until = '2030-01-01'`,
  )
  await service.request(
    'PATCH',
    `/api/v1/destinations/${service.tracker.destinationId}/test-mode`,
    {
      body: { enabled: true },
    },
  )
  await service.submit(samplePurchase({ event_id: 'test' }))
  await service.deliver()
  assert.deepEqual(await metrics(), {
    accepted: 2,
    total_deliveries: 3,
    acceptance_rate: 0.6667,
    acceptance_rate_window: 'last_7_days',
  })
})

it('excludes deliveries stopped by a withdrawal from the rate', async test => {
  const service = await startTestService(test)
  await submitted(service, 2)
  await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-1',
  })
  const { metrics } = (await list(service)).body
  assert.deepEqual([metrics.total_deliveries, metrics.acceptance_rate], [0, null])
})

it('keeps the counters equal to the tables', async test => {
  const service = await startTestService(test)
  await submitted(service, 7)
  await service.deliver()
  const { rows } = await service.database.pool.query(`
    select (select sum(events) from event_counts) = (select count(*) from events) as events,
      (select sum(planned) from delivery_counts) = (select count(*) from all_deliveries) as planned,
      (select sum(accepted) from delivery_counts) =
        (select count(*) from all_deliveries where status = 'accepted') as accepted`)
  assert.deepEqual(rows[0], { events: true, planned: true, accepted: true })
})
