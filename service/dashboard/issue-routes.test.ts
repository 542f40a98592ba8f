import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { VISITOR, withdrawOnPage } from '../../testing/fixtures/page-withdrawals.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../testing/fixtures/two-platforms.ts'
import { raiseAlert } from '../signals/reports/alert-store.ts'

type Overview = { status: { destination: { id: string } } }
type Stage = { stage: string; count: number | null; reasons: unknown[]; hours: { hour: string }[] }

it('summarizes seven stages with their windows, units and reasons', async test => {
  const service = await startTestService(test)
  const { submit, deliver, clock, simulatorUrl, database, server, tracker } = service
  const { owner, path } = await openDashboardWorkspace(service)
  await submit(samplePurchase({ event_id: 'late', event_time: '2026-10-01T10:00:00Z' }))
  await submit(samplePurchase({ event_id: 'good' }))
  await deliver()
  clock.advance(3_600)
  await scriptFaults(simulatorUrl, [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await submit(samplePurchase({ event_id: 'failing' }))
  await deliver()
  await submit(samplePurchase({ event_id: 'waiting' }))
  await submit({ ...samplePurchase(), event_time: 'x' })
  await server.flushRefusals()
  await database.pool.query(
    `insert into reconciliation_reports (tracker_id, id, destination_id, report_date, created_at,
       updated_at, tried_at, accepted_count, meta_count, event_counts, buckets,
       unexplained_residual, status)
     values ($1, 1, $2, '2026-11-20', now(), now(), now(), 9, 7, '[]', '{}', 0, 'matched')`,
    [tracker.trackerId, tracker.destinationId],
  )
  const { trackerId, destinationId } = tracker
  const sentence = 'Match quality fell.'
  const alert = { trackerId, destinationId, kind: 'emq_fell' as const, sentence, details: {} }
  await raiseAlert({ database }, alert, clock.now())

  const { status, body } = await owner.client.call('GET', `${path}/overview`)
  assert.equal(status, 200)
  assert.equal(body.from, '2026-11-20T14:00:00.000Z')
  assert.equal(body.to, '2026-11-21T13:00:00.000Z')
  assert.equal(body.counted_since, '2026-11-21T12:00:00.000Z')
  const stages: [string, number | null, string][] = body.stages.map(
    ({ stage, count, reasons }: Stage) => [stage, count, JSON.stringify(reasons)],
  )
  assert.deepEqual(stages, [
    ['refused', 1, '[{"reason":"event_time_format","count":1}]'],
    ['accepted', 4, '[]'],
    ['held', 1, '[{"reason":"outside_window","count":1}]'],
    ['waiting', 1, '[{"reason":"accepted_for_delivery","count":1}]'],
    ['failed', 1, '[{"reason":"refused_by_platform","count":1}]'],
    ['platform_accepted', 1, '[]'],
    ['platform_counted', 7, '[]'],
  ])
  assert.deepEqual(body.stages[1].hours, [
    { hour: '2026-11-21T12:00:00.000Z', count: 2 },
    { hour: '2026-11-21T13:00:00.000Z', count: 2 },
  ])
  assert.deepEqual(
    [body.stages[6].from, body.stages[6].to],
    ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z'],
  )
  assert.equal(body.alerts[0].sentence, sentence)
  assert.equal(body.pending_approvals, 0)
})

it('says by destination what it got, skipped and failed, and what its platform reports', async test => {
  const service = await startTestService(test)
  const { submit, deliver, simulatorUrl, database, tracker } = service
  const { owner, path } = await openDashboardWorkspace(service)
  const { destinationId: second } = await connectSimulated(service, 'webhook')
  const consent = { ad_user_data: 'granted', 'Facebook Pixel': false }
  await submit(samplePurchase({ event_id: 'for-one', consent }))
  await submit(samplePurchase({ event_id: 'for-both' }))
  await deliver()
  await scriptFaults(simulatorUrl, [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await submit(samplePurchase({ event_id: 'failing' }))
  await deliver()
  await submit(samplePurchase({ event_id: 'waiting' }))
  await database.pool.query(
    `insert into reconciliation_reports (tracker_id, id, destination_id, report_date, created_at,
       updated_at, tried_at, accepted_count, meta_count, event_counts, buckets,
       unexplained_residual, status, trouble)
     values ($1, 1, $2, '2026-11-20', now(), now(), now(), 9, 7, '[]', '{}', 0, 'matched', null),
       ($1, 2, $3, '2026-11-20', now(), now(), now(), 9, 0, '[]', '{}', 0, 'unavailable',
        'There is no report.')`,
    [tracker.trackerId, tracker.destinationId, second],
  )
  const { body } = await owner.client.call('GET', `${path}/overview`)
  const find = (id: string) =>
    body.destinations.find((one: Overview) => one.status.destination.id === id)
  const [first, other] = [find(tracker.destinationId), find(second)]
  assert.equal(first.platform, 'Meta')
  assert.equal(first.from, '2026-11-20T00:00:00.000Z')
  assert.deepEqual(pickCounts(first), {
    received: 4,
    accepted: 1,
    skipped: { count: 1, reasons: [{ reason: 'consent_refused_for_platform', count: 1 }] },
    failed: { count: 1, reasons: [{ reason: 'refused_by_platform', count: 1 }] },
    waiting: 1,
    reported: { count: 7, explanation: null },
  })
  assert.deepEqual(pickCounts(other), {
    received: 4,
    accepted: 3,
    skipped: { count: 0, reasons: [] },
    failed: { count: 0, reasons: [] },
    waiting: 1,
    reported: { count: null, explanation: 'There is no report.' },
  })
})

// biome-ignore lint/suspicious/noExplicitAny: a response body
function pickCounts({ received, accepted, skipped, failed, status, reported }: any) {
  return { received, accepted, skipped, failed, waiting: status.queue.waiting, reported }
}

it('names a paused destination as the reason of what waits for it', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 190 } }])
  await service.submit(samplePurchase())
  await service.deliver()
  const { body } = await owner.client.call('GET', `${path}/overview?hours=1`)
  assert.deepEqual(body.stages[3].reasons, [{ reason: 'destination_paused', count: 1 }])
})

it('answers an empty tracker with zeros, and no platform count as null', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const { body } = await owner.client.call('GET', `${path}/overview?hours=720`)
  const counts = body.stages.map(({ count }: Stage) => count)
  assert.deepEqual(counts, [0, 0, 0, 0, 0, 0, null])
  assert.equal(body.counted_since, null)
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
  const queries = ['overview?hours=0', 'overview?hours=721', 'issues?days=x', 'refusals?days=31']
  for (const query of [...queries, `refusals?event_id=${'x'.repeat(129)}`]) {
    const { status, body } = await owner.client.call('GET', `${path}/${query}`)
    assert.equal(status, 422, query)
    assert.deepEqual(Object.keys(body.errors), [/\?(\w+)=/.exec(query)?.[1]])
  }
})
