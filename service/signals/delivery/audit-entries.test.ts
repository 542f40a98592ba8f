import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runSimultaneously } from '../../../testing/concurrency/lock-barrier.ts'
import { blockAuditWrites, failCommits, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { countStatuses } from '../../../testing/fixtures/delivery-worker.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'

const REFUSE_ALL = [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }]

function switchTo(service: TestService, body: unknown, options: object = {}) {
  const path = `/api/v1/destinations/${service.tracker.destinationId}/test-mode`
  return service.request('PATCH', path, { body, ...options })
}

function replay(service: TestService, options: object = {}) {
  return service.request('POST', '/api/v1/deliveries/replay', options)
}

/** So many purchases that the platform has refused. */
async function withFailures(service: TestService, count: number): Promise<void> {
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  for (let order = 1; order <= count; order += 1) {
    const { status, text } = await service.submit(samplePurchase({ event_id: `order-${order}` }))
    assert.equal(status, 202, text)
  }
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [])
}

it('audits each switch of test mode with its end, without the code', async test => {
  const service = await startTestService(test)
  const { trackerId, workspaceId, destinationId } = service.tracker
  await switchTo(service, { enabled: true, test_event_code: 'JANE00007' })
  service.clock.advance(60)
  await switchTo(service, { enabled: true })
  await switchTo(service, { enabled: true, test_event_code: 'JANE00008' })
  await switchTo(service, { enabled: false })
  const written = await readAuditEntries(service.database, workspaceId, 'test_mode.switched')
  const details = (on: boolean, was: boolean, until: string | null, code: boolean) => ({
    is_on: on,
    was_on: was,
    until,
    is_code_changed: code,
  })
  assert.deepEqual(
    written.map(entry => entry.details),
    [
      details(true, false, '2026-11-22T12:00:00.000Z', true),
      details(true, true, '2026-11-22T12:01:00.000Z', false),
      details(true, true, '2026-11-22T12:01:00.000Z', true),
      details(false, true, null, false),
    ],
  )
  for (const { actor, subject } of written) {
    assert.deepEqual(actor, { type: 'tracker', id: trackerId })
    assert.deepEqual(subject, { type: 'destination', id: destinationId })
  }
  assert.deepEqual(
    written.map(({ at }) => at.slice(14, 19)),
    ['00:00', '01:00', '01:00', '01:00'],
  )
  assert.doesNotMatch(JSON.stringify(written), /JANE/)
})

it('audits no switch that changes nothing or is refused', async test => {
  const service = await startTestService(test)
  const { workspaceId } = service.tracker
  const other = await service.newTracker()
  assert.equal((await switchTo(service, { enabled: false })).status, 200)
  assert.equal((await switchTo(service, { enabled: 'yes' })).status, 422)
  assert.equal((await switchTo(service, { enabled: true }, { secret: null })).status, 401)
  const secret = other.trackerSecret
  assert.equal((await switchTo(service, { enabled: true }, { secret })).status, 404)
  for (const workspace of [workspaceId, other.workspaceId]) {
    assert.deepEqual(await readAuditEntries(service.database, workspace, 'test_mode.switched'), [])
  }
  // What ended by its time is off already.
  await switchTo(service, { enabled: true })
  service.clock.advance(2 * 86_400)
  await switchTo(service, { enabled: false })
  assert.equal(
    (await readAuditEntries(service.database, workspaceId, 'test_mode.switched')).length,
    1,
  )
})

it('audits one of several identical concurrent switches', async test => {
  const service = await startTestService(test)
  const { workspaceId } = service.tracker
  const body = { enabled: true, test_event_code: 'TEST00007' }
  const switchOn = () => switchTo(service, body)
  const acts = [switchOn, switchOn, switchOn]
  const replies = await runSimultaneously(service.database, 'destinations', acts)
  assert.ok(replies.every(({ status }) => status === 200))
  assert.equal(
    (await readAuditEntries(service.database, workspaceId, 'test_mode.switched')).length,
    1,
  )
})

it('audits each replay with its counts, even one that found nothing', async test => {
  const service = await startTestService(test)
  const { trackerId, workspaceId } = service.tracker
  await withFailures(service, 4)
  const email = 'jane@example.com'
  await replay(service, { body: { event_name: email, limit: 7 } })
  await replay(service, { body: { event_name: 'Purchase', delivery_ids: [1, 2, 99] } })
  await replay(service, { body: { limit: 1 } })
  const written = await readAuditEntries(service.database, workspaceId, 'deliveries.replayed')
  const nothing = { queued: 0, expired: 0, payload_expired: 0, capped: false }
  const filters = { limit: 1_000, delivery_ids: null, event_name: null }
  const tracker = { type: 'tracker', id: trackerId }
  assert.partialDeepStrictEqual(
    written.map(({ sequence, ...entry }) => entry),
    [
      { ...nothing, ...filters, limit: 7 },
      { ...nothing, ...filters, queued: 2, delivery_ids: 3, event_name: 'Purchase' },
      { ...nothing, ...filters, queued: 1, limit: 1, capped: true },
    ].map(details => ({
      at: '2026-11-21T12:00:00.000Z',
      action: 'deliveries.replayed' as const,
      details,
      actor: tracker,
      subject: tracker,
    })),
  )
  assert.equal(written.length, 3)
  assert.doesNotMatch(JSON.stringify(written), /jane/)
})

it('audits each concurrent replay, and queues every delivery once', async test => {
  const service = await startTestService(test)
  await withFailures(service, 6)
  const replies = await Promise.all([1, 2, 3, 4].map(() => replay(service)))
  const queued = replies.map(({ body }) => body.queued)
  const { workspaceId } = service.tracker
  const written = await readAuditEntries(service.database, workspaceId, 'deliveries.replayed')
  assert.deepEqual(written.map(({ details }) => details.queued).sort(), queued.sort())
  assert.deepEqual(await countStatuses(service), { queued: 6 })
})

it('audits no replay or switch that is rolled back', async test => {
  const service = await startTestService(test)
  const { database, tracker } = service
  await withFailures(service, 2)
  for (const table of ['delivery_queue', 'destinations']) await failCommits(database, table)
  assert.equal((await replay(service)).status, 500)
  assert.equal((await switchTo(service, { enabled: true })).status, 500)
  const written = await readAuditEntries(database, tracker.workspaceId)
  assert.deepEqual(new Set(written.map(({ action }) => action)), new Set(['key.issued']))
})

it('audits no refused replay, and queues nothing when auditing fails', async test => {
  const service = await startTestService(test)
  const { database, tracker } = service
  await withFailures(service, 2)
  assert.equal((await replay(service, { body: { limit: 0 } })).status, 422)
  assert.equal((await replay(service, { secret: null })).status, 401)
  await blockAuditWrites(database)
  assert.equal((await replay(service)).status, 500)
  assert.equal((await switchTo(service, { enabled: true })).status, 500)
  assert.deepEqual(await countStatuses(service), { 'failed:permanent': 2 })
  const { rows } = await database.pool.query('select test_mode_until from destinations')
  assert.deepEqual(rows, [{ test_mode_until: null }])
  const written = await readAuditEntries(database, tracker.workspaceId)
  assert.deepEqual(new Set(written.map(({ action }) => action)), new Set(['key.issued']))
})
