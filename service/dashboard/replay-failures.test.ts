import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { countStatuses } from '../../testing/fixtures/delivery-worker.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'

const REFUSED = { respond: { status: 400, code: 100, subcode: 2_804_048 } }
const NOTHING = {
  queued: 0,
  expired: 0,
  payload_expired: 0,
  may_count_twice: 0,
  unknown_outcome: 0,
  capped: false,
}

async function openReplays(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const preview = (body: object) => owner.client.call('POST', `${path}/replays/preview`, { body })
  const replay = (body: object) => owner.client.call('POST', `${path}/replays`, { body })
  const progress = (replayedAt: string) =>
    owner.client.call('GET', `${path}/replays/${encodeURIComponent(replayedAt)}`)
  return { service, owner, preview, replay, progress }
}

async function fail(
  service: TestService,
  events: Record<string, unknown>[],
  fault: object = REFUSED,
): Promise<void> {
  await scriptFaults(service.simulatorUrl, [fault])
  for (const event of events) await service.submit(samplePurchase(event))
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [])
}

it('previews exactly what a replay then does, and changes nothing before', async test => {
  const { service, preview, replay } = await openReplays(test)
  await fail(service, [
    { event_id: 'too-old', event_time: '2026-11-14T13:00:00Z' },
    { event_id: 'no-payload' },
    { event_id: 'first' },
    { event_id: 'second' },
  ])
  await service.database.pool.query(`delete from event_payloads where event_id = 'no-payload'`)
  service.clock.advance(3_540)
  const before = await countStatuses(service)
  const previewed = await preview({})
  assert.equal(previewed.status, 200)
  assert.deepEqual(previewed.body, { ...NOTHING, queued: 2, expired: 1, payload_expired: 1 })
  assert.deepEqual(await countStatuses(service), before)

  const { status, body } = await replay({})
  assert.equal(status, 200)
  const { replayed_at, ...counts } = body
  assert.deepEqual(counts, previewed.body)
  assert.equal(replayed_at, service.clock.now().toISOString())
  assert.equal(await service.deliver(), 2)
  assert.deepEqual(await countStatuses(service), { accepted: 2, 'failed:permanent': 2 })
})

it('selects by events, deliveries, status, destination, cause and limit', async test => {
  const { service, preview } = await openReplays(test)
  await fail(service, [{ event_id: 'a' }, { event_id: 'b', event_name: 'Lead' }])
  await fail(service, [{ event_id: 'c' }])
  const { pool } = service.database
  // PostgreSQL keeps a NUL in JSON, but cannot read the members of that JSON.
  const message = 'said "code":100, and \0'
  const error = { class: 'permanent', code: 2_804_003, subcode: null, message }
  await pool.query(`update deliveries set last_error = $1 where event_id = 'c'`, [
    JSON.stringify(error),
  ])
  const { rows } = await pool.query('select id from deliveries order by event_id')
  const [a] = rows
  const cases: [object, number][] = [
    [{}, 3],
    [{ event_ids: ['a', 'c', 'missing'] }, 2],
    [{ event_ids: [] }, 0],
    [{ delivery_ids: [a.id] }, 1],
    [{ event_ids: ['b'], delivery_ids: [a.id] }, 0],
    [{ event_name: 'Lead' }, 1],
    [{ statuses: ['failed:permanent'] }, 3],
    [{ statuses: ['failed:auth', 'failed:unknown'] }, 0],
    [{ destination_id: service.tracker.destinationId }, 3],
    [{ destination_id: service.tracker.trackerId }, 0],
    [{ cause: { code: 100 } }, 2],
    [{ cause: { code: 100, subcode: 2_804_048, class: 'permanent' } }, 2],
    [{ cause: { code: 2_804_003 } }, 1],
    [{ cause: { code: 10 } }, 0],
    [{ cause: {} }, 3],
  ]
  for (const [selection, queued] of cases) {
    const { status, body } = await preview(selection)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(body, { ...NOTHING, queued }, JSON.stringify(selection))
  }
  assert.deepEqual((await preview({ limit: 2 })).body, { ...NOTHING, queued: 2, capped: true })
})

it('counts what the platform may count twice', async test => {
  const { service, preview, replay } = await openReplays(test)
  await fail(service, [{ event_id: 'late', event_time: '2026-11-21T11:00:00Z' }])
  service.clock.advance(48 * 3_600)
  assert.equal((await preview({})).body.may_count_twice, 0)
  service.clock.advance(1)
  const expected = { ...NOTHING, queued: 1, may_count_twice: 1 }
  assert.deepEqual((await preview({})).body, expected)
  const { replayed_at: _, ...counts } = (await replay({})).body
  assert.deepEqual(counts, expected)
  const { explanation } = (await service.read('late')).body.deliveries[0]
  assert.match(explanation, /so the platform may count it twice/)
})

it('counts what the platform may have already, because an answer is missing', async test => {
  const { service, preview } = await openReplays(test)
  await fail(service, [{ event_id: 'dropped' }], { abort: 'after_store' })
  await scriptFaults(service.simulatorUrl, [REFUSED])
  service.clock.advance(3_600)
  await service.deliver()
  assert.deepEqual(await countStatuses(service), { 'failed:permanent': 1 })
  assert.deepEqual((await preview({})).body, { ...NOTHING, queued: 1, unknown_outcome: 1 })
  const { explanation } = (await service.read('dropped')).body.deliveries[0]
  assert.match(explanation, /ended without a known answer/)
})

it('reports the progress of a replay until nothing of it waits', async test => {
  const { service, replay, progress } = await openReplays(test)
  await fail(service, [{ event_id: 'a' }, { event_id: 'b' }])
  service.clock.advance(60)
  const { replayed_at } = (await replay({})).body
  service.clock.advance(1)
  await service.submit(samplePurchase({ event_id: 'other' }))
  assert.deepEqual((await progress(replayed_at)).body, { waiting: 2, failed: 0, is_exact: true })
  await scriptFaults(service.simulatorUrl, [REFUSED])
  await service.deliver()
  assert.deepEqual((await progress(replayed_at)).body, { waiting: 0, failed: 2, is_exact: true })
  const unreadable = await progress('yesterday')
  assert.deepEqual([unreadable.status, Object.keys(unreadable.body.errors)], [422, ['replay']])
})

it('records the person who replayed, and shares the deliveries between two at once', async test => {
  const { service, owner, replay } = await openReplays(test)
  await fail(
    service,
    Array.from({ length: 20 }, (_, order) => ({ event_id: `order-${order}` })),
  )
  const replies = await Promise.all([replay({}), replay({}), replay({})])
  const queued = replies.map(({ body }) => body.queued)
  assert.equal(
    queued.reduce((sum, count) => sum + count, 0),
    20,
  )
  const { workspaceId } = service.tracker
  const entries = await readAuditEntries(service.database, workspaceId, 'deliveries.replayed')
  const actor = { type: 'person', id: String(owner.userId) }
  assert.deepEqual(
    entries.map(entry => entry.actor),
    [actor, actor, actor],
  )
})

it('422 names every invalid field', async test => {
  const { preview, replay } = await openReplays(test)
  const body = {
    delivery_ids: [0],
    event_ids: [''],
    statuses: ['accepted'],
    cause: { code: '100' },
    limit: 0,
  }
  const fields = ['cause.code', 'delivery_ids.0', 'event_ids.0', 'limit', 'statuses.0']
  for (const call of [preview, replay]) {
    const reply = await call(body)
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors).sort(), fields)
    const destination = await call({ destination_id: 'mine' })
    assert.deepEqual(Object.keys(destination.body.errors), ['destination_id'])
  }
})
