import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { ledgerEntry, plannedDelivery, storeEntries } from '../../testing/fixtures/stored-events.ts'

const REFUSE_ALL = [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }]

async function openEvents(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const search = async (parameters: Record<string, string> = {}) => {
    const query = new URLSearchParams(parameters)
    const reply = await owner.client.call('GET', `${path}/events?${query}`)
    return { ...reply, ids: reply.body.events?.map(({ id }: { id: string }) => id) }
  }
  return { service, search, path, owner }
}

it('lists events newest first, without identity, page by page', async test => {
  const { service, search } = await openEvents(test)
  for (let order = 1; order <= 60; order += 1) {
    await service.submit(samplePurchase({ event_id: `order-${order}` }))
    service.clock.advance(1)
  }
  const first = await search()
  assert.equal(first.status, 200)
  assert.equal(first.ids.length, 50)
  assert.equal(first.ids[0], 'order-60')
  assert.equal(first.body.searched_until, null)
  const [newest] = first.body.events
  assert.equal(newest.value_amount, '19.95')
  assert.deepEqual(
    newest.deliveries.map(({ status }: { status: string }) => status),
    ['queued'],
  )
  const text = JSON.stringify(first.body)
  for (const identity of ['Mozilla', 'visitor-1', 'user_data']) {
    assert.equal(text.includes(identity), false, identity)
  }
  const second = await search({ cursor: first.body.next_cursor })
  assert.deepEqual(
    second.ids,
    [...Array(10)].map((_, index) => `order-${10 - index}`),
  )
  assert.equal(second.body.next_cursor, null)
})

it('filters by name, order, parent, status and time of receipt', async test => {
  const { service, search } = await openEvents(test)
  await service.submit(samplePurchase({ event_id: 'early' }))
  await service.deliver()
  service.clock.advance(60)
  const from = service.clock.now().toISOString()
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  await service.submit(samplePurchase({ event_id: 'refused', value_data: { order_id: '77' } }))
  await service.deliver()
  service.clock.advance(60)
  const until = service.clock.now().toISOString()
  await service.submit(
    samplePurchase({ event_id: 'late', event_name: 'Refund', parent_event_id: 'early' }),
  )
  await service.submit(samplePurchase({ event_id: 'held', consent: { ad_user_data: 'perhaps' } }))

  const cases: [Record<string, string>, string[]][] = [
    [{ event_name: 'Refund' }, ['late']],
    [{ order_id: '77' }, ['refused']],
    [{ parent_event_id: 'early' }, ['late']],
    [{ parent_event_id: 'early', status: 'accepted' }, []],
    [{ parent_event_id: 'early', status: 'waiting' }, ['late']],
    [{ status: 'accepted' }, ['early']],
    [{ status: 'failed' }, ['refused']],
    [{ status: 'failed:permanent', order_id: '77' }, ['refused']],
    [{ status: 'failed:permanent', order_id: '78' }, []],
    [{ status: 'failed:auth' }, []],
    [{ status: 'waiting' }, ['late']],
    [{ status: 'waiting', event_name: 'Purchase' }, []],
    [{ status: 'held' }, ['held']],
    [{ status: 'skipped:consent' }, ['held']],
    [{ from, to: until }, ['refused']],
    [{ status: 'failed', from: until }, []],
    [{ from: until, event_name: 'Refund' }, ['late']],
    [{ event_name: 'Refund', order_id: '77' }, []],
  ]
  for (const [parameters, expected] of cases) {
    const { status, ids, body } = await search(parameters)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(ids, expected, JSON.stringify(parameters))
    assert.equal(body.next_cursor, null)
  }
})

it('finds an order whose ID was an address', async test => {
  const { service, search } = await openEvents(test)
  const order_id = 'Order of Jane@Mail.example'
  await service.submit(samplePurchase({ event_id: 'named', value_data: { order_id } }))
  await service.submit(samplePurchase({ event_id: 'other' }))
  assert.deepEqual((await search({ order_id })).ids, ['named'])
  assert.deepEqual((await search({ order_id: 'Order of jane@mail.example' })).ids, ['named'])
  assert.deepEqual((await search({ order_id: 'Order of john@mail.example' })).ids, [])
})

it('finds an ID in both spaces, and nothing for an unknown one', async test => {
  const { service, search } = await openEvents(test)
  await service.submit(samplePurchase({ event_id: 'same' }))
  await service.request('POST', '/api/v1/events', {
    secret: service.tracker.publishableKey,
    headers: { origin: SHOP_ORIGIN },
    body: samplePageView({ event_id: 'same' }),
  })
  const { body } = await search({ event_id: 'same' })
  const found = body.events.map(({ space, event_name }: Record<string, string>) => [
    space,
    event_name,
  ])
  assert.deepEqual(found, [
    ['secret', 'Purchase'],
    ['publishable', 'PageView'],
  ])
  assert.deepEqual((await search({ event_id: 'unknown' })).ids, [])
})

it('says how far it searched, and goes on from there', async test => {
  const { service, search } = await openEvents(test)
  const { trackerId, destinationId } = service.tracker
  const start = service.clock.now().getTime()
  for (let from = 0; from < 10_500; from += 1_500) {
    const numbers = Array.from({ length: 1_500 }, (_, index) => from + index)
    const keys = numbers.map(number => ({
      trackerId,
      eventId: `event-${String(number).padStart(5, '0')}`,
    }))
    const entries = keys.map((key, index) => {
      const number = from + index
      const createdAt = new Date(start + number)
      return ledgerEntry({ ...key, createdAt, eventName: number < 2 ? 'Rare' : 'Purchase' })
    })
    const deliveries = keys.map((key, index) =>
      plannedDelivery({ ...key, id: from + index + 1, destinationId }),
    )
    await storeEntries(service.database, entries, deliveries)
  }
  for (const parameters of [{ event_name: 'Rare' }, { event_name: 'Rare', status: 'waiting' }]) {
    const first = await search(parameters)
    assert.deepEqual(first.ids, [])
    assert.equal(first.body.searched_until, new Date(start + 500).toISOString())
    const second = await search({ ...parameters, cursor: first.body.next_cursor })
    assert.deepEqual(second.ids, ['event-00001', 'event-00000'])
    assert.deepEqual([second.body.searched_until, second.body.next_cursor], [null, null])
  }
})

it('shows an event with two failed deliveries once, also across pages', async test => {
  const { service, search } = await openEvents(test)
  const { trackerId, destinationId } = service.tracker
  const { pool } = service.database
  const other = '0190bbbb-0000-7000-8000-00000000000a'
  await pool.query(
    `insert into destinations (tracker_id, id, type, credential_source, config,
       sealed_credential, status, created_at, updated_at)
     select tracker_id, $2, type, credential_source, config, sealed_credential, status,
       created_at, updated_at from destinations where tracker_id = $1 and id = $3`,
    [trackerId, other, destinationId],
  )
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  for (let order = 1; order <= 51; order += 1) {
    await service.submit(samplePurchase({ event_id: `order-${order}` }))
    service.clock.advance(1)
  }
  await service.deliver()
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Awaited<ReturnType<typeof search>> = await search({
      status: 'failed',
      ...(cursor && { cursor }),
    })
    seen.push(...page.ids)
    cursor = page.body.next_cursor
  }
  assert.equal(seen.length, 51)
  assert.equal(new Set(seen).size, 51)
})

it('finds by one text, filters by delivery and value, and exports what is found', async test => {
  const { service, search, path, owner } = await openEvents(test)
  const { destinationId } = service.tracker
  await service.submit(samplePurchase({ event_id: '=first', value_data: { order_id: '77' } }))
  await service.submit(
    samplePurchase({ event_id: 'child', event_name: 'Refund', parent_event_id: '77' }),
  )
  await service.submit(samplePurchase({ event_id: 'held', consent: { ad_user_data: 'perhaps' } }))
  assert.deepEqual((await search({ search: '77' })).ids.sort(), ['=first', 'child'])
  assert.deepEqual((await search({ search: '=first' })).ids, ['=first'])
  assert.deepEqual((await search({ search: 'none' })).ids, [])
  const cases: [Record<string, string>, string[]][] = [
    [{ destination_id: destinationId, reason: 'no_signal' }, ['held']],
    [{ destination_id: '0190bbbb-0000-7000-8000-00000000000b' }, []],
    [{ status: 'held_back', test: 'no' }, ['held']],
    [{ test: 'yes' }, []],
    [{ value_min: '19.95', event_name: 'Purchase', space: 'secret' }, ['held']],
    [{ value_min: '19.96' }, []],
    [{ space: 'publishable' }, []],
    [{ happened_from: '2026-11-21T12:00:00Z', status: 'skipped:consent' }, ['held']],
    [{ happened_to: '2026-11-21T12:00:00Z' }, []],
  ]
  for (const [parameters, expected] of cases) {
    assert.deepEqual((await search(parameters)).ids, expected, JSON.stringify(parameters))
  }
  const file = await owner.client.call('GET', `${path}/exports/events?status=waiting`)
  assert.equal(file.status, 200)
  const lines = file.body.trim().split('\r\n')
  assert.match(lines[0] ?? '', /^id,space,event_name,/)
  assert.equal(
    lines.filter((line: string) => line.startsWith("'=first,secret,Purchase,")).length,
    1,
  )
  const ndjson = await owner.client.call('GET', `${path}/exports/events?format=ndjson`)
  assert.equal(ndjson.body.trim().split('\n').length, 3)
  for (const query of ['format=xls', 'value_min=-1', 'destination_id=x', 'happened_to=x']) {
    const { status } = await owner.client.call('GET', `${path}/exports/events?${query}`)
    assert.equal(status, 422, query)
  }
})

it('422 names every invalid parameter', async test => {
  const { search } = await openEvents(test)
  const { status, body } = await search({ status: 'lost', event_name: '', from: 'yesterday' })
  assert.equal(status, 422)
  assert.deepEqual(Object.keys(body.errors).sort(), ['event_name', 'status'])
  const times = await search({ from: 'yesterday', to: '2026-13-01', cursor: 'x' })
  assert.deepEqual(Object.keys(times.body.errors).sort(), ['cursor', 'from', 'to'])
  const forged = Buffer.from('["2026-11-21T00:00:00Z","a\\u0000",0,0]').toString('base64url')
  assert.equal((await search({ cursor: forged })).status, 422)
  assert.equal((await search({ event_id: 'a\0b' })).status, 422)
})
