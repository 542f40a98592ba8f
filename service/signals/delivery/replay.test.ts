import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countStatuses } from '../../../testing/fixtures/delivery-worker.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'

const REFUSE_ALL = [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }]
const NOTHING = { queued: 0, expired: 0, payload_expired: 0, capped: false }

function replay(service: TestService, options: object = {}) {
  return service.request('POST', '/api/v1/deliveries/replay', options)
}

/** So many purchases that the platform has refused; it takes the next ones. Ids are 1, 2, ... */
async function withFailures(
  service: TestService,
  count: number,
  changesOf: (order: number) => Record<string, unknown> = () => ({}),
): Promise<void> {
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  for (let order = 1; order <= count; order += 1) {
    const { status, text } = await service.submit(
      samplePurchase({ event_id: `order-${order}`, ...changesOf(order) }),
    )
    assert.equal(status, 202, text)
  }
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [])
}

async function queuedIds({ database: { pool } }: TestService): Promise<number[]> {
  const { rows } = await pool.query(
    `select id from all_deliveries where status = 'queued' order by id`,
  )
  return rows.map(({ id }) => id)
}

it('200 sends failed deliveries again and shows their history', async test => {
  const service = await startTestService(test)
  await withFailures(service, 3)
  assert.deepEqual(await countStatuses(service), { 'failed:permanent': 3 })

  const { status, body } = await replay(service)
  assert.equal(status, 200)
  assert.deepEqual(body, { ...NOTHING, queued: 3 })
  const [waiting] = (await service.read('order-1')).body.deliveries
  assert.equal(waiting.status, 'queued')
  assert.match(waiting.explanation, /^Waiting to be sent again: it was replayed at 2026-11-21T12/)

  assert.equal(await service.deliver(), 3)
  assert.deepEqual(await countStatuses(service), { accepted: 3 })
  const [sent] = (await service.read('order-1')).body.deliveries
  assert.equal(sent.attempt_count >= 2, true)
})

it('200 sends no token at a replay, nor says that a platform got one', async test => {
  const service = await startTestService(test)
  const value_data = { value: '1', currency: 'EUR', order_id: 'jane@mail.example' }
  await withFailures(service, 1, () => ({ value_data }))
  assert.deepEqual((await replay(service)).body, { ...NOTHING, queued: 1 })
  await service.deliver()
  const { count, events } = await service.received()
  assert.equal(count, 1)
  assert.doesNotMatch(JSON.stringify(events), /redacted_/)
  const { explanation } = (await service.read('order-1')).body.deliveries[0]
  assert.match(explanation, /tokens, which no platform gets, in: value_data\.order_id\./)
})

it('200 for a body that is absent, empty, null or without members', async test => {
  const service = await startTestService(test)
  const json = { headers: { 'content-type': 'application/json' } }
  for (const options of [{}, { rawBody: '', ...json }, { body: null }, { body: {} }]) {
    const { status, body } = await replay(service, options)
    assert.deepEqual([status, body], [200, NOTHING])
  }
})

it('200 replays only matching deliveries, each once', async test => {
  const service = await startTestService(test)
  await withFailures(service, 6, order => ({ event_name: order > 3 ? 'Lead' : 'Purchase' }))
  const byIds = await replay(service, { body: { delivery_ids: [1, 1, 5, 99] } })
  assert.equal(byIds.body.queued, 2)
  assert.deepEqual(await queuedIds(service), [1, 5])
  const byBoth = await replay(service, { body: { delivery_ids: [2, 4], event_name: 'Lead' } })
  assert.equal(byBoth.body.queued, 1)
  const byName = await replay(service, { body: { event_name: 'Purchase' } })
  assert.equal(byName.body.queued, 2)
  assert.deepEqual(await queuedIds(service), [1, 2, 3, 4, 5])
  const byNone = await replay(service, { body: { delivery_ids: [] } })
  assert.deepEqual(byNone.body, NOTHING)
})

it('200 replays the newest events first, up to the limit, and reports that it was capped', async test => {
  const service = await startTestService(test)
  await withFailures(service, 5, order => ({ event_time: `2026-11-21T11:0${order}:00Z` }))
  const first = await replay(service, { body: { limit: 2 } })
  assert.deepEqual(first.body, { ...NOTHING, queued: 2, capped: true })
  assert.deepEqual(await queuedIds(service), [4, 5])
  const rest = await replay(service, { body: { limit: 3 } })
  assert.deepEqual(rest.body, { ...NOTHING, queued: 3 })
})

it('200 counts deliveries that are too old or without payload, unchanged', async test => {
  const service = await startTestService(test)
  const old = { event_time: '2026-11-14T13:00:00Z' }
  await withFailures(service, 3, order => (order === 1 ? old : {}))
  await service.database.pool.query(`delete from event_payloads where event_id = 'order-2'`)
  // One minute before the end it would be too old by the time the platform reads it.
  service.clock.advance(3_540)
  for (const again of [false, true]) {
    const { body } = await replay(service)
    assert.deepEqual(body, { ...NOTHING, queued: again ? 0 : 1, expired: 1, payload_expired: 1 })
  }
  assert.deepEqual(await countStatuses(service), { 'failed:permanent': 2, queued: 1 })
})

it('200 ignores deliveries that did not fail or belong to another tracker', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_id: 'accepted' }))
  await service.deliver()
  await withFailures(service, 1)
  const stranger = await service.newTracker()
  const { body } = await replay(service, { secret: stranger.trackerSecret })
  assert.deepEqual(body, NOTHING)
  await replay(service)
  assert.deepEqual(await countStatuses(service), { accepted: 1, queued: 1 })
})

it('200 for two concurrent replays, which share the deliveries', async test => {
  const service = await startTestService(test)
  await withFailures(service, 40)
  const replies = await Promise.all(Array.from({ length: 8 }, () => replay(service)))
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  const queued = replies.reduce((sum, { body }) => sum + body.queued, 0)
  assert.equal(queued, 40)
  assert.equal(await service.deliver(), 40)
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).receipts, 40)
})

it('401 without a secret', async test => {
  const service = await startTestService(test)
  assert.equal((await replay(service, { secret: null })).status, 401)
})

it('422 names every invalid field', async test => {
  const service = await startTestService(test)
  const body = { delivery_ids: [0, '7', 1.5, 2 ** 53], event_name: '', limit: 0 }
  const reply = await replay(service, { body })
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors).sort(), [
    'delivery_ids.0',
    'delivery_ids.1',
    'delivery_ids.2',
    'delivery_ids.3',
    'event_name',
    'limit',
  ])
  for (const wrong of [[], 'all', 7, { event_name: 'a\0b' }, { limit: null }]) {
    assert.equal((await replay(service, { body: wrong })).status, 422, JSON.stringify(wrong))
  }
})

it('accepts as many of the longest delivery IDs as the contract allows', async test => {
  const service = await startTestService(test)
  await withFailures(service, 1)
  const longest = Array.from({ length: 9_999 }, (_, at) => Number.MAX_SAFE_INTEGER - at)
  const body = { delivery_ids: [1, ...longest] }
  assert.ok(JSON.stringify(body).length > 65_536)
  const { status, body: result } = await replay(service, { body })
  assert.deepEqual([status, result], [200, { ...NOTHING, queued: 1 }])
  const more = await replay(service, { body: { delivery_ids: [...body.delivery_ids, 2] } })
  assert.deepEqual(more.body.errors.delivery_ids, [
    'The delivery_ids field must not have more than 10000 items.',
  ])
})

it('restarts the retry schedule and keeps counting attempts', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 503, code: 2 } }])
  await service.submit(samplePurchase())
  for (const seconds of [0, 5, 30]) {
    service.clock.advance(seconds)
    await service.deliver()
  }
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  service.clock.advance(120)
  await service.deliver()
  assert.deepEqual(await countStatuses(service), { 'failed:permanent': 1 })

  await scriptFaults(service.simulatorUrl, [{ respond: { status: 503, code: 2 } }])
  await replay(service)
  await service.deliver()
  const [delivery] = (await service.read('order-1001')).body.deliveries
  assert.deepEqual([delivery.status, delivery.attempt_count], ['retrying', 5])
  const wait = Date.parse(delivery.next_attempt_at) - Number(service.clock.now())
  assert.equal(wait, 5_000)
})

it('marks a replay that may count twice', async test => {
  const service = await startTestService(test)
  await withFailures(service, 1)
  const sentence = /first sent more than 48 hours before, so the platform may count it twice/
  service.clock.advance(48 * 3_600)
  await replay(service)
  assert.doesNotMatch((await service.read('order-1')).body.deliveries[0].explanation, sentence)

  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  await service.deliver()
  service.clock.advance(1)
  await replay(service)
  assert.match((await service.read('order-1')).body.deliveries[0].explanation, sentence)
  await scriptFaults(service.simulatorUrl, [])
  await service.deliver()
  const [accepted] = (await service.read('order-1')).body.deliveries
  assert.equal(accepted.status, 'accepted')
  assert.match(accepted.explanation, sentence)
})
