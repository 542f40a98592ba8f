import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { RoutingSubmission } from '@signalbox/contract/routing.ts'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDestination } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'

async function openRouting(service: TestService) {
  const opened = await openDestination(service)
  const { owner, one } = opened
  const change = async (body: RoutingSubmission) => {
    const changed = await owner.client.call('PATCH', `${one}/routing`, { body })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    return changed.body
  }
  const preview = async (body: RoutingSubmission) =>
    (await owner.client.call('POST', `${one}/routing/preview`, { body })).body
  return { ...opened, change, preview }
}

async function submit(service: TestService, event_id: string, changes: object = {}) {
  const { status, text } = await service.submit(samplePurchase({ event_id, ...changes }))
  assert.equal(status, 202, text)
}

async function readDelivery(service: TestService, eventId: string) {
  const [delivery] = (await service.read(eventId)).body.deliveries
  return delivery
}

it('sends only what the filter selects, under the name of the platform', async test => {
  const service = await startTestService(test)
  const { change } = await openRouting(service)
  const event_names = { 'Order Completed': 'Purchase' }
  const minimum_value = { amount: '20', currency: 'eur' }
  const routing = { event_names, filter: { event_names: ['Order Completed'], minimum_value } }
  const stored = { ...routing.filter, minimum_value: { amount: '20', currency: 'EUR' } }
  assert.deepEqual(await change(routing), { event_names, filter: stored })

  const order = (value: string, currency = 'EUR') => ({
    event_name: 'Order Completed',
    value_data: { value, currency },
  })
  await submit(service, 'large', order('20.00'))
  await submit(service, 'small', order('19.999999'))
  await submit(service, 'dollars', order('500', 'USD'))
  await submit(service, 'other', { event_name: 'Lead' })
  assert.equal(await service.deliver(), 1)

  const { events } = await service.received()
  assert.deepEqual(
    events.map(({ event_id, event_name }) => [event_id, event_name]),
    [['large', 'Purchase']],
  )
  const small = await readDelivery(service, 'small')
  assert.deepEqual([small.status, small.next_attempt_at], ['skipped:not_selected', null])
  assert.match(small.explanation, /did not select .* its value is below filter\.minimum_value/)
  assert.match((await readDelivery(service, 'dollars')).explanation, /currency .* never converted/)
  assert.match((await readDelivery(service, 'other')).explanation, /not in filter\.event_names/)
  assert.equal((await service.read('large')).body.event.event_name, 'Order Completed')
})

it('keeps the name of the first attempt when a replay follows a change', async test => {
  const service = await startTestService(test)
  const { change } = await openRouting(service)
  await change({ event_names: { Order: 'Purchase' } })
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100 } }])
  await submit(service, 'first', { event_name: 'Order' })
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [])
  await change({ event_names: { Order: 'Subscribe' }, filter: { event_names: ['Lead'] } })
  const { body } = await service.request('POST', '/api/v1/deliveries/replay')
  assert.equal(body.queued, 1)
  await service.deliver()
  await change({ filter: null })
  await submit(service, 'second', { event_name: 'Order' })
  await service.deliver()
  const { events } = await service.received()
  assert.deepEqual(
    events.map(({ event_id, event_name }) => [event_id, event_name]),
    [
      ['first', 'Purchase'],
      ['second', 'Subscribe'],
    ],
  )
  const { rows } = await service.database.pool.query(
    `select event_name, sum(accepted)::integer as accepted from sent_counts
     group by event_name order by event_name`,
  )
  assert.deepEqual(rows, [
    { event_name: 'Purchase', accepted: 1 },
    { event_name: 'Subscribe', accepted: 1 },
  ])
})

it('keeps the name of acceptance for an event that waits while the map changes', async test => {
  const service = await startTestService(test)
  const { change } = await openRouting(service)
  await submit(service, 'unmapped', { event_name: 'Order' })
  await change({ event_names: { Order: 'Purchase' } })
  await submit(service, 'mapped', { event_name: 'Order' })
  await change({ event_names: { Order: 'Subscribe' } })
  await service.deliver()
  const { events } = await service.received()
  assert.deepEqual(Object.fromEntries(events.map(one => [one.event_id, one.event_name])), {
    unmapped: 'Order',
    mapped: 'Purchase',
  })
})

it('shows what a change would select of the last events, without making it', async test => {
  const service = await startTestService(test)
  const { preview, read } = await openRouting(service)
  for (const event_id of ['one', 'two']) await submit(service, event_id)
  await submit(service, 'lead', { event_name: 'Lead' })
  const body = {
    event_names: { Purchase: 'Order', Refund: 'Refunded' },
    filter: { event_names: ['Purchase', 'Signup'] },
  }
  const shown = await preview(body)
  assert.deepEqual(shown, {
    events: 3,
    selected: 2,
    not_selected: [{ reason: 'name_not_selected', count: 1 }],
    names: [
      {
        event_name: 'Purchase',
        platform_name: 'Order',
        is_mapped: true,
        selected: 2,
        not_selected: 0,
      },
      {
        event_name: 'Lead',
        platform_name: 'Lead',
        is_mapped: false,
        selected: 0,
        not_selected: 1,
      },
    ],
    unused_names: ['Refund', 'Signup'],
  })
  assert.deepEqual((await read()).routing, {})
})

it('records what changed, and nothing when nothing did', async test => {
  const service = await startTestService(test)
  const { change, owner, tracker } = await openRouting(service)
  const filter = { event_names: ['Purchase'], spaces: ['secret' as const] }
  await change({ filter })
  await change({ filter: { spaces: ['secret'], event_names: ['Purchase'] } })
  await change({ filter: null, event_names: { Order: 'Purchase' } })
  const entries = await readAuditEntries(service.database, tracker.workspaceId)
  const own = entries.filter(({ action }) => action === 'destination.routing_changed')
  assert.deepEqual(
    own.map(({ actor, subject, details }) => [actor, subject.id, details]),
    [
      [
        { type: 'person', id: String(owner.userId) },
        tracker.destinationId,
        {
          changed: ['filter.event_names', 'filter.spaces'],
          mapped_names: 0,
          filter: { event_names: 1, spaces: ['secret'] },
        },
      ],
      [
        { type: 'person', id: String(owner.userId) },
        tracker.destinationId,
        {
          changed: ['event_names', 'filter.event_names', 'filter.spaces'],
          mapped_names: 1,
          filter: {},
        },
      ],
    ],
  )
})

it('refuses what is invalid, unknown or of another tracker', async test => {
  const service = await startTestService(test)
  const { owner, one, list } = await openDestination(service)
  for (const [method, path] of [
    ['PATCH', 'routing'],
    ['POST', 'routing/preview'],
  ] as const) {
    const call = (url: string, body: object) => owner.client.call(method, url, { body })
    const invalid = await call(`${one}/${path}`, { filter: { minimum_value: { amount: '5' } } })
    assert.equal(invalid.status, 422)
    assert.deepEqual(Object.keys(invalid.body.errors), ['filter.minimum_value.currency'])
    const unknown = `${list}/0190bbbb-0000-7000-8000-00000000ffff/${path}`
    assert.equal((await call(unknown, {})).status, 404)
    assert.equal((await call(`${list}/1/${path}`, {})).status, 404)
  }
})
