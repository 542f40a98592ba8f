import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  readSimulatorSummary,
  restoreTokens,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import type { DestinationStatusChange } from './delivery-context.ts'
import { findDestination } from './destination-store.ts'

async function submitMany(service: TestService, count: number): Promise<void> {
  for (let order = 1; order <= count; order += 1) {
    const reply = await service.submit(samplePurchase({ event_id: `order-${order}` }))
    assert.equal(reply.status, 202)
  }
}

async function statusCounts(service: TestService): Promise<Record<string, number>> {
  const { rows } = await service.database.pool.query(
    `select status || '/' || attempt_count as what, count(*) from all_deliveries group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(row => [row.what, row.count]))
}

async function destinationOf({ database, tracker }: TestService) {
  const destination = await findDestination(database, tracker.trackerId, tracker.destinationId)
  assert.ok(destination)
  return destination
}

function watchMoves(service: TestService): DestinationStatusChange[] {
  const moves: DestinationStatusChange[] = []
  service.delivery.onDestinationStatusChanged = move => void moves.push(move)
  return moves
}

it('pauses a destination with a revoked token and counts no attempt', async test => {
  const service = await startTestService(test, { batchMax: 2 })
  const moves = watchMoves(service)
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await submitMany(service, 5)
  assert.equal(await service.deliver(), 2)
  assert.deepEqual(await statusCounts(service), { 'queued/0': 5 })
  const { status, statusReason } = await destinationOf(service)
  assert.equal(status, 'inactive')
  assert.match(statusReason ?? '', /^The platform rejects the credential \(code 190\): \S/)
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).requests, 1)
  assert.deepEqual(moves, [
    {
      trackerId: service.tracker.trackerId,
      destinationId: service.tracker.destinationId,
      status: 'inactive',
      reason: statusReason,
    },
  ])
  const { deliveries } = (await service.read('order-1')).body
  assert.match(
    deliveries[0].explanation,
    /^Waiting: the destination is paused \(The platform rejects the credential .*\.\) It is sent/,
  )
  const { rows } = await service.database.pool.query(
    'select count(*) filter (where first_sent_at is not null) as sent from all_deliveries',
  )
  assert.equal(rows[0].sent, 0)
})

it('probes with one event at growing intervals, without repeated alerts', async test => {
  const service = await startTestService(test)
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await submitMany(service, 3)
  await service.deliver()
  const moves = watchMoves(service)
  for (const seconds of [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]) {
    service.clock.advance(seconds - 1)
    assert.equal(await service.deliver(), 0)
    service.clock.advance(1)
    assert.equal(await service.deliver(), 1)
  }
  assert.deepEqual(await statusCounts(service), { 'queued/0': 3 })
  assert.deepEqual(moves, [])
  const { rows } = await service.database.pool.query(
    `select event_count from send_attempts where outcome = 'auth' order by started_at`,
  )
  assert.deepEqual(
    rows.map(row => row.event_count),
    [3, 1, 1, 1, 1, 1, 1, 1, 1],
  )
})

it('resumes at the first successful probe and drains the queue', async test => {
  const service = await startTestService(test)
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await submitMany(service, 4)
  await service.deliver()
  await restoreTokens(service.simulatorUrl)
  const moves = watchMoves(service)
  service.clock.advance(60)
  assert.equal(await service.deliver(), 4)
  assert.deepEqual(await statusCounts(service), { 'accepted/1': 4 })
  const { status, statusReason, failedProbes } = await destinationOf(service)
  assert.deepEqual([status, statusReason, failedProbes], ['active', null, 0])
  assert.deepEqual(
    moves.map(move => [move.status, move.reason]),
    [['active', null]],
  )
  const { receipts, deduplicated } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, deduplicated], [4, 0])
})

it('resumes even if the probed event is rejected', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 403, code: 200, message: 'Permission missing' } },
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_003 } },
  ])
  await submitMany(service, 3)
  await service.deliver()
  assert.match(
    (await destinationOf(service)).statusReason ?? '',
    /rejects the configuration \(code 200\)/,
  )
  service.clock.advance(60)
  await service.deliver()
  assert.equal((await destinationOf(service)).status, 'active')
  assert.deepEqual(await statusCounts(service), { 'accepted/1': 2, 'failed:permanent/1': 1 })
})

it('delays probes of an unreachable platform', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 401, code: 190 } },
    { respond: { status: 503, code: 2 } },
  ])
  await submitMany(service, 5)
  await service.deliver()
  service.clock.advance(60)
  assert.equal(await service.deliver(), 1)
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).requests, 2)
  assert.equal((await destinationOf(service)).status, 'inactive')
  service.clock.advance(119)
  assert.equal(await service.deliver(), 0)
  service.clock.advance(1)
  assert.equal(await service.deliver(), 1)
})

it('expires events whose window ends while the destination is paused', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 401, code: 190 } }])
  await submitMany(service, 3)
  await service.deliver()
  service.clock.advance(8 * 86_400)
  assert.equal(await service.deliver(), 3)
  assert.deepEqual(await statusCounts(service), { 'expired/0': 3 })
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).requests, 1)
})

it('pauses a destination whose credential another key sealed, with the reason', async test => {
  const service = await startTestService(test)
  const keys = service.delivery.credentialKeys
  service.delivery.credentialKeys = { current: randomBytes(32), previous: [randomBytes(32)] }
  await submitMany(service, 2)
  assert.equal(await service.deliver(), 2)
  assert.deepEqual(await statusCounts(service), { 'queued/0': 2 })
  const { status, statusReason } = await destinationOf(service)
  assert.equal(status, 'inactive')
  assert.equal(
    statusReason,
    "The stored credential cannot be opened with this server's SIGNALBOX_CREDENTIAL_KEY.",
  )
  service.delivery.credentialKeys = keys
  service.clock.advance(60)
  await service.deliver()
  assert.deepEqual(await statusCounts(service), { 'accepted/1': 2 })
})
