import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDestination } from '../../testing/fixtures/dashboard.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'

it('switches test mode as the person, sends a purchase, and ends by itself', async test => {
  const service = await startTestService(test)
  const { owner, tracker, read, one, list } = await openDestination(service)
  const notices = async () =>
    (await owner.client.call('GET', list.replace('destinations', 'test-modes'))).body.test_modes
  const purchase = () => owner.client.call('POST', `${one}/test-purchases`, { body: {} })
  const early = await purchase()
  assert.equal(early.status, 422)
  assert.match(early.body.message, /Test mode is off/)

  const body = { enabled: true, test_event_code: 'TEST00007' }
  const on = await owner.client.call('PATCH', `${one}/test-mode`, { body })
  assert.deepEqual([on.status, on.body.test_mode], [200, true])
  assert.equal((await read()).test_mode_seconds_left, 86_400)
  service.clock.advance(3_600)
  const [notice] = await notices()
  assert.deepEqual([notice.destination_id, notice.seconds_left], [tracker.destinationId, 82_800])

  const sent = await purchase()
  assert.deepEqual([sent.status, sent.body.status], [200, 'accepted'])
  const { events } = await service.received()
  assert.equal(events.length, 1)

  service.clock.advance(82_800)
  assert.deepEqual(await notices(), [])
  assert.equal((await read()).test_mode_seconds_left, null)
  const entries = await readAuditEntries(service.database, tracker.workspaceId)
  const written = entries
    .filter(({ subject }) => subject.id === tracker.destinationId)
    .map(({ action, actor, details }) => [action, actor, details.event_id ?? details.is_on])
  const actor = { type: 'person', id: String(owner.userId) }
  assert.deepEqual(written, [
    ['test_mode.switched', actor, true],
    ['test_purchase.sent', actor, sent.body.event_id],
  ])
})

it('returns the status, and the reason of the platform, of a purchase that it refuses', async test => {
  const service = await startTestService(test)
  const { owner, one } = await openDestination(service)
  await owner.client.call('PATCH', `${one}/test-mode`, { body: { enabled: true } })
  const accepted = await owner.client.call('POST', `${one}/test-purchases`)
  assert.deepEqual([accepted.body.status, accepted.body.reason], ['accepted', null])
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100 } }])
  const sent = await owner.client.call('POST', `${one}/test-purchases`)
  assert.deepEqual([sent.status, sent.body.status], [200, 'failed:permanent'])
  assert.match(sent.body.reason, /^Code 100[/:] ?.*\S\.$/)
})

it('returns 503 for a test purchase in a process that knows no platform', async test => {
  const service = await startTestService(test, { knowsPlatform: false })
  const { owner, one } = await openDestination(service)
  await owner.client.call('PATCH', `${one}/test-mode`, { body: { enabled: true } })
  const sent = await owner.client.call('POST', `${one}/test-purchases`)
  assert.deepEqual([sent.status, sent.headers.get('retry-after')], [503, '60'])
})
