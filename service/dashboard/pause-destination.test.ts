import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace, openDestination } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { findPlatformTarget, scriptFaults } from '../../testing/fixtures/simulator.ts'
import { deliverDueBatch } from '../signals/delivery/deliver-batch.ts'
import { findWorkspacesToUpdate } from '../signals/reports/alert-announcement-store.ts'

const DAY_SECONDS = 86_400

async function openPaused(service: TestService) {
  const opened = await openDestination(service)
  const change = (body: object) => opened.owner.client.call('PATCH', opened.one, { body })
  return { ...opened, change }
}

async function readDelivery(service: TestService, eventId: string) {
  const { body } = await service.request('GET', `/api/v1/events/${eventId}`)
  return body.deliveries[0]
}

it('pauses a destination until a person resumes it, and nothing else does', async test => {
  const service = await startTestService(test)
  const { owner, read, one, change, tracker } = await openPaused(service)
  const paused = await change({ paused: true })
  assert.deepEqual([paused.status, paused.body.status], [200, 'inactive'])
  assert.equal(paused.body.config.status_reason, 'A person paused this destination.')
  await service.submit(samplePurchase({ event_id: 'waiting' }))

  const token = { access_token: 'a-new-token' }
  assert.equal((await owner.client.call('PUT', `${one}/credential`, { body: token })).status, 200)
  assert.equal((await owner.client.call('POST', `${one}/check`)).status, 200)
  await owner.client.call('PATCH', `${one}/test-mode`, { body: { enabled: true } })
  // A test purchase shows whether the platform works, and resumes nothing.
  const purchase = await owner.client.call('POST', `${one}/test-purchases`)
  assert.equal(purchase.body.status, 'accepted')
  await owner.client.call('PATCH', `${one}/test-mode`, { body: { enabled: false } })
  service.clock.advance(DAY_SECONDS)
  await service.deliver()
  const { destination, paused_at, next_check_at, credential, queue } = await read()
  assert.deepEqual(
    [destination.status, paused_at, next_check_at, credential, queue.waiting],
    ['inactive', '2026-11-21T12:00:00.000Z', null, 'accepted', 1],
  )
  const { status, attempt_count, explanation } = await readDelivery(service, 'waiting')
  assert.deepEqual([status, attempt_count], ['queued', 0])
  assert.match(explanation, /^Waiting: a person paused the destination\. It is sent when a person/)
  const due = { at: new Date(0), limit: 10 }
  assert.deepEqual(await findWorkspacesToUpdate(service.database, due), [], 'no alert')

  assert.equal((await change({ paused: false })).body.status, 'active')
  await service.deliver()
  assert.equal((await readDelivery(service, 'waiting')).status, 'accepted')
  assert.equal((await read()).paused_at, null)
  const entries = await readAuditEntries(service.database, tracker.workspaceId)
  const changes = entries.filter(({ action }) => /^destination\.(paused|resumed)$/.test(action))
  assert.deepEqual(
    changes.map(({ action, actor, details }) => [action, actor.id, details]),
    [
      ['destination.paused', String(owner.userId), {}],
      ['destination.resumed', String(owner.userId), {}],
    ],
  )
})

it('hands back what a worker claimed before it saw the pause, without an attempt', async test => {
  const service = await startTestService(test)
  const { change, tracker } = await openPaused(service)
  await service.submit(samplePurchase({ event_id: 'claimed' }))
  await change({ paused: true })
  const { trackerId, destinationId } = tracker
  const queue = { trackerId, destinationId, platform: 'meta', isProbe: false }
  const run = await deliverDueBatch(service.delivery, queue, () => {})
  assert.deepEqual([run.claimedCount, run.health.kind], [1, 'untried'])
  assert.deepEqual((await service.received()).events, [])
  const { status, attempt_count } = await readDelivery(service, 'claimed')
  assert.deepEqual([status, attempt_count], ['queued', 0])
})

it('keeps the pause of a person over a rejection, and tries the platform after it', async test => {
  const service = await startTestService(test)
  const { change, read } = await openPaused(service)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 403, code: 200 }, times: 1 }])
  await service.submit(samplePurchase({ event_id: 'refused' }))
  await service.deliver()
  assert.match((await read()).destination.config.status_reason, /rejects/)
  // Nothing is resumed that no person paused.
  assert.equal((await change({ paused: false })).body.status, 'inactive')
  await change({ paused: true })
  service.clock.advance(DAY_SECONDS)
  await service.deliver()
  assert.equal((await read()).destination.status, 'inactive')
  await change({ paused: false })
  await service.deliver()
  assert.equal((await readDelivery(service, 'refused')).status, 'accepted')
})

it('renames a destination, and refuses a name that is none', async test => {
  const service = await startTestService(test)
  const { change, read, tracker } = await openPaused(service)
  await change({ name: '  Main   dataset ' })
  assert.equal((await read()).name, 'Main dataset')
  for (const name of ['', 'x'.repeat(101), '\u200b', 'see www.shop.example']) {
    const refused = await change({ name })
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['name']], name)
  }
  assert.equal((await change({ paused: 'yes' })).status, 422)
  assert.equal((await change({ name: null })).status, 200)
  assert.equal((await read()).name, null)
  const entries = await readAuditEntries(service.database, tracker.workspaceId)
  const actions = entries.map(({ action, details }) => [action, JSON.stringify(details)])
  assert.deepEqual(actions.slice(-2), Array(2).fill(['destination.renamed', '{}']))
})

it('pauses once when several people pause at the same time', async test => {
  const service = await startTestService(test)
  const { change, tracker } = await openPaused(service)
  const replies = await Promise.all([1, 2, 3].map(() => change({ paused: true })))
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 200],
  )
  const entries = await readAuditEntries(
    service.database,
    tracker.workspaceId,
    'destination.paused',
  )
  assert.equal(entries.length, 1)
})

it('disconnects a destination for good: nothing more is sent, and its past stays', async test => {
  const service = await startTestService(test)
  const { owner, list, one, change, tracker } = await openPaused(service)
  const path = `${list}/${tracker.destinationId}`
  await service.submit(samplePurchase({ event_id: 'before' }))
  await service.deliver()
  await change({ paused: true })
  await service.submit(samplePurchase({ event_id: 'waiting' }))
  service.clock.advance(3_600)
  const early = await owner.client.call('DELETE', path)
  assert.equal(early.status, 403)
  assert.match(early.body.message, /Confirm your identity/)

  const other = await openDashboardWorkspace(service)
  const replies = await Promise.all([1, 2].map(() => other.owner.client.call('DELETE', path)))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 404])
  for (const [method, place, body] of [
    ['PATCH', one, { paused: false }],
    ['PUT', `${one}/credential`, { access_token: 'another-token' }],
    ['POST', `${one}/check`, undefined],
    ['PATCH', `${one}/test-mode`, { enabled: true }],
    ['POST', `${one}/test-purchases`, {}],
    ['PATCH', `${one}/routing`, {}],
    ['POST', `${one}/routing/preview`, {}],
  ] as const) {
    const reply = await other.owner.client.call(method, place, body ? { body } : {})
    assert.equal(reply.status, 404, `${method} ${place}`)
  }
  assert.deepEqual((await owner.client.call('GET', list)).body.destinations, [])

  await service.deliver()
  const waiting = await readDelivery(service, 'waiting')
  assert.deepEqual([waiting.status, waiting.attempt_count], ['skipped:no_destination', 0])
  assert.match(waiting.explanation, /^Not sent: a person disconnected the destination/)
  assert.equal((await readDelivery(service, 'before')).status, 'accepted')
  await service.submit(samplePurchase({ event_id: 'after' }))
  const after = await readDelivery(service, 'after')
  assert.match(after.explanation, /^Not sent: the tracker had no destination/)
  assert.equal((await service.received()).events.length, 1)

  const { datasetId, accessToken } = await findPlatformTarget(service, tracker)
  const again = { type: 'meta', config: { dataset_id: datasetId }, access_token: accessToken }
  const connected = await other.owner.client.call('POST', list, { body: again })
  assert.equal(connected.status, 201, JSON.stringify(connected.body))
  const entries = await readAuditEntries(
    service.database,
    tracker.workspaceId,
    'destination.disconnected',
  )
  assert.equal(entries.length, 1)
})
