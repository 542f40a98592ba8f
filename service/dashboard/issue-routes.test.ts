import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { VISITOR, withdrawOnPage } from '../../testing/fixtures/page-withdrawals.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../testing/fixtures/two-platforms.ts'
import { raiseAlert } from '../signals/reports/alert-store.ts'

it('shows what needs a person, and the state of each destination', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { owner, path } = await openDashboardWorkspace(service)
  const read = async () => (await owner.client.call('GET', `${path}/overview`)).body
  const before = await read()
  assert.deepEqual(Object.keys(before), [
    'has_events',
    'destinations',
    'alerts',
    'pending_approvals',
  ])
  assert.equal(before.has_events, false)

  await connectSimulated(service, 'webhook')
  await service.submit(samplePurchase())
  const { trackerId, destinationId } = tracker
  const sentence = 'Match quality fell.'
  const alert = { trackerId, destinationId, kind: 'emq_fell' as const, sentence, details: {} }
  await raiseAlert({ database }, alert, clock.now())
  const { has_events, destinations, alerts, pending_approvals } = await read()
  assert.deepEqual([has_events, pending_approvals], [true, 0])
  const waiting = destinations.map(
    ({ platform, status }: { platform: string; status: { queue: { waiting: number } } }) =>
      `${platform} ${status.queue.waiting}`,
  )
  assert.deepEqual(waiting.sort(), ['Meta 1', 'Webhook 1'])
  assert.partialDeepStrictEqual(alerts, [{ destination_id: destinationId, sentence }])
})

it('a tracker with nothing but refused requests has events', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  await service.submit({ ...samplePurchase(), event_time: 'x' })
  await service.server.flushRefusals()
  const { body } = await owner.client.call('GET', `${path}/overview`)
  assert.deepEqual([body.has_events, body.destinations.length], [true, 1])
})

it('finds the refusal of a pasted event ID, and of no other tracker', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const other = await openDashboardWorkspace(service, await service.newTracker())
  const refused = await service.submit({
    ...samplePurchase({ event_id: 'order-77' }),
    event_time: 1_764_000_000_000,
  })
  await service.server.flushRefusals()
  const search = (id: string, from = path) =>
    owner.client.call('GET', `${from}/refusals?event_id=${encodeURIComponent(id)}`)
  const { body } = await search('order-77')
  assert.equal(body.from, '2026-10-22T12:00:00.000Z')
  assert.equal(body.refusals.length, 1)
  assert.partialDeepStrictEqual(body.refusals, [
    {
      status: 422,
      field: 'event_time',
      rule: 'event_time_in_milliseconds',
      requests: 1,
      errors: 1,
      first_seen_at: '2026-11-21T12:00:00.000Z',
      last_seen_at: '2026-11-21T12:00:00.000Z',
      last_request_id: refused.headers.get('request-id'),
    },
  ])
  assert.deepEqual((await search('order-78')).body.refusals, [])
  const foreign = await other.owner.client.call('GET', `${other.path}/refusals?event_id=order-77`)
  assert.deepEqual(foreign.body.refusals, [])
})

it('lists refusals and causes of failures of the last days', async test => {
  const service = await startTestService(test)
  const { owner, path, tracker } = await openDashboardWorkspace(service)
  const { submit, deliver, server, clock, simulatorUrl } = service
  await scriptFaults(simulatorUrl, [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }])
  await submit({ ...samplePurchase(), event_time: 'x' })
  await submit({ ...samplePurchase(), value_data: { value: '1' } })
  await submit({ ...samplePurchase(), value_data: { value: '2' } })
  await submit(samplePurchase())
  await deliver()
  await server.flushRefusals()
  clock.advance(86_400)
  const refusals = await owner.client.call('GET', `${path}/refusals`)
  const rules = refusals.body.refusals.map(({ rule, errors }: never) => [rule, errors])
  assert.deepEqual(rules, [
    ['currency_required', 2],
    ['event_time_format', 1],
  ])
  const issues = await owner.client.call('GET', `${path}/issues?days=2`)
  assert.equal(issues.body.issues.length, 1)
  assert.partialDeepStrictEqual(issues.body.issues, [
    {
      destination_id: tracker.destinationId,
      class: 'permanent',
      code: 100,
      subcode: 2_804_048,
      reason: null,
      attempts: 1,
      failed: 1,
      first_seen_at: '2026-11-21T12:00:00.000Z',
      last_seen_at: '2026-11-21T12:00:00.000Z',
      events: [{ id: 'order-1001', space: 'secret' }],
    },
  ])
  assert.deepEqual((await owner.client.call('GET', `${path}/issues?days=1`)).body.issues, [])
})

it('counts visitors who withdrew under an ID that others may guess, in the period', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const other = await openDashboardWorkspace(service, await service.newTracker())
  const countOf = async (from: string, days: number) =>
    (await owner.client.call('GET', `${from}/issues?days=${days}`)).body.page_only_withdrawals
  await withdrawOnPage(service, { visitor_id: VISITOR })
  assert.equal(await countOf(path, 1), 0)
  for (const visitor_id of ['customer-9', 'customer-9', 'customer-10']) {
    assert.equal((await withdrawOnPage(service, { visitor_id })).status, 202)
  }
  assert.equal(await countOf(path, 1), 2)
  service.clock.advance(86_400)
  assert.deepEqual([await countOf(path, 1), await countOf(path, 2)], [0, 2])
  const foreign = await other.owner.client.call('GET', `${other.path}/issues?days=2`)
  assert.equal(foreign.body.page_only_withdrawals, 0)
})

it('returns 422 naming the parameter that is out of range', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const queries = ['issues?days=x', 'refusals?days=31']
  for (const query of [...queries, `refusals?event_id=${'x'.repeat(129)}`]) {
    const { status, body } = await owner.client.call('GET', `${path}/${query}`)
    assert.equal(status, 422, query)
    assert.deepEqual(Object.keys(body.errors), [/\?(\w+)=/.exec(query)?.[1]])
  }
})
