import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestAuditTrail, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  startTestWorker,
  submitPurchases,
  waitForStatus,
} from '../../../testing/fixtures/delivery-worker.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  readSimulatorSummary,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { listenForNotifications } from '../../runtime/db/notification-listener.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { setCredential } from './credential-store.ts'
import { deliverDueBatch } from './deliver-batch.ts'
import type { DeliveryContext, DestinationStatusChange } from './delivery-context.ts'
import { DELIVERY_CHANNEL } from './destination-queue-store.ts'
import { findDestination } from './destination-store.ts'

const OPERATOR = { type: 'operator', id: null } as const

function contextOf(service: TestService) {
  const logger = createLogger('silent')
  return { database: service.database, audit: createTestAuditTrail(service), logger }
}

async function setToken(
  service: TestService,
  accessToken: string,
  datasetId: string | null = null,
): Promise<boolean> {
  const { delivery, tracker, clock } = service
  const { workspaceId, trackerId, destinationId } = tracker
  const config = datasetId === null ? {} : { dataset_id: datasetId }
  const target = { workspaceId, trackerId, destinationId, actor: OPERATOR }
  const change = { ...target, accessToken, config, at: clock.now() }
  return setCredential(contextOf(service), delivery.credentialKeys, change)
}

async function destinationOf({ database, tracker }: TestService) {
  const destination = await findDestination(database, tracker.trackerId, tracker.destinationId)
  assert.ok(destination)
  return destination
}

async function attemptCounts({ database }: TestService): Promise<Record<string, number>> {
  const { rows } = await database.pool.query(
    `select status || '/' || attempt_count as what, count(*) from all_deliveries group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(row => [row.what, row.count]))
}

async function revokeCurrentToken(service: TestService): Promise<void> {
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
}

/** The platform itself; once, something happens between its answer and our hearing of it. */
function interrupted(
  { platforms }: DeliveryContext,
  happen: () => Promise<unknown>,
): DeliveryContext['platforms'] {
  let hasHappened = false
  return platforms.map(platform => ({
    ...platform,
    send: async (connection, events) => {
      const answer = await platform.send(connection, events)
      if (!hasHappened) {
        hasHappened = true
        await happen()
      }
      return answer
    },
  }))
}

function watchMoves(service: TestService): DestinationStatusChange['status'][] {
  const moves: DestinationStatusChange['status'][] = []
  service.delivery.onDestinationStatusChanged = ({ status }) => void moves.push(status)
  return moves
}

it('resumes a paused destination and drains it without waiting for a probe', async test => {
  const service = await startTestService(test, { batchMax: 3 })
  await revokeCurrentToken(service)
  await submitPurchases(service, service.tracker, 7)
  await service.deliver()
  assert.equal((await destinationOf(service)).status, 'inactive')
  assert.equal(await service.deliver(), 0)

  assert.equal(await setToken(service, 'a-new-token'), true)
  const { status, statusReason, failedProbes } = await destinationOf(service)
  assert.deepEqual([status, statusReason, failedProbes], ['active', null, 0])
  assert.equal((await findPlatformTarget(service, service.tracker)).accessToken, 'a-new-token')
  assert.equal(await service.deliver(), 7)
  assert.deepEqual(await attemptCounts(service), { 'accepted/1': 7 })
})

it('wakes a sleeping worker', async test => {
  const service = await startTestService(test)
  await revokeCurrentToken(service)
  await submitPurchases(service, service.tracker, 3)
  const worker = startTestWorker(test, service)
  const notices = await listenForNotifications({
    connectionString: service.connectionString,
    channel: DELIVERY_CHANNEL,
    onNotification: () => worker.wake(),
    onLost: () => {},
  })
  test.after(() => notices.close())
  await waitUntil('the destination is paused', async () => {
    return (await destinationOf(service)).status === 'inactive'
  })
  await waitForStatus(service, 'queued', { count: 3 })
  await setToken(service, 'a-new-token')
  await waitForStatus(service, 'accepted', { count: 3 })
})

it('sends with a new credential what waits because the platform throttled the one before', async test => {
  const service = await startTestService(test)
  const respond = { status: 429, body: '', headers: { 'retry-after': '3600' } }
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond }])
  await submitPurchases(service, service.tracker, 1)
  const worker = startTestWorker(test, service)
  const notices = await listenForNotifications({
    connectionString: service.connectionString,
    channel: DELIVERY_CHANNEL,
    onNotification: changedId => worker.wake(changedId),
    onLost: () => {},
  })
  test.after(() => notices.close())
  await waitForStatus(service, 'retrying', { count: 1 })
  await waitUntil('the wait is stored', async () => {
    return (await destinationOf(service)).backoff?.cause === 'throttled'
  })
  await service.submit(samplePurchase({ event_id: 'behind' }))
  worker.wake()
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await setToken(service, `${accessToken}2`)
  assert.equal((await destinationOf(service)).backoff, null)
  await waitForStatus(service, 'accepted', { count: 1 })
  assert.deepEqual(await attemptCounts(service), { 'accepted/1': 1, 'retrying/1': 1 })
})

it('keeps or changes the dataset and leaves the rest of the configuration', async test => {
  const service = await startTestService(test)
  const before = await destinationOf(service)
  await setToken(service, 'a-new-token')
  assert.deepEqual((await destinationOf(service)).config, before.config)
  service.clock.advance(1)
  await setToken(service, 'another-token', '1234567890123456')
  assert.deepEqual(await destinationOf(service), {
    ...before,
    config: { dataset_id: '1234567890123456' },
    sealedCredential: (await destinationOf(service)).sealedCredential,
    updatedAt: service.clock.now(),
  })
  await submitPurchases(service, service.tracker, 1)
  await service.deliver()
  const { receipts } = await readSimulatorSummary(service.simulatorUrl, '1234567890123456')
  assert.equal(receipts, 1)
})

it('reports an unknown destination and changes none of another tracker', async test => {
  const service = await startTestService(test)
  const other = await service.newTracker()
  const { workspaceId, trackerId } = service.tracker
  const { destinationId } = other
  const target = { workspaceId, trackerId, destinationId }
  const change = { ...target, accessToken: 'x', config: {}, actor: OPERATOR, at: new Date(0) }
  const { credentialKeys } = service.delivery
  assert.equal(await setCredential(contextOf(service), credentialKeys, change), false)
  assert.notEqual((await findPlatformTarget(service, other)).accessToken, 'x')
})

it('audits a new credential by destination and changed members, without the token', async test => {
  const service = await startTestService(test)
  const { workspaceId, destinationId } = service.tracker
  await setToken(service, 'a-new-token', '9999999999999999')
  const [entry] = await readAuditEntries(service.database, workspaceId, 'credential.changed')
  assert.deepEqual(entry?.actor, { type: 'operator', id: null })
  assert.deepEqual(entry?.subject, { type: 'destination', id: destinationId })
  assert.deepEqual(entry?.details, { changed_members: ['dataset_id'] })
})

it('is not paused by a late rejection of the previous credential', async test => {
  const service = await startTestService(test)
  const moves = watchMoves(service)
  await revokeCurrentToken(service)
  await submitPurchases(service, service.tracker, 4)
  const happen = () => setToken(service, 'a-new-token')
  service.delivery.platforms = interrupted(service.delivery, happen)
  assert.equal(await service.deliver(), 8)
  assert.deepEqual(await attemptCounts(service), { 'accepted/1': 4 })
  const { status, statusReason } = await destinationOf(service)
  assert.deepEqual([status, statusReason], ['active', null])
  assert.deepEqual(moves, [])
})

it('ignores a late rejected probe of the previous credential', async test => {
  const service = await startTestService(test)
  await revokeCurrentToken(service)
  await submitPurchases(service, service.tracker, 2)
  await service.deliver()
  service.clock.advance(60)
  refuseAnotherMeanwhile(service)
  assert.equal(await service.deliver(), 1)
  await isPausedByItsOwnAnswer(service)
})

it('ignores a late successful probe of the previous credential', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 401, code: 190 } }])
  await submitPurchases(service, service.tracker, 2)
  await service.deliver()
  service.clock.advance(60)
  const moves = watchMoves(service)
  refuseAnotherMeanwhile(service)
  assert.equal(await service.deliver(), 1)
  await isPausedByItsOwnAnswer(service)
  assert.deepEqual(moves, ['inactive'])
})

/** While the next request is under way, a new credential is set and refused in its turn. */
function refuseAnotherMeanwhile(service: TestService): void {
  const { trackerId, destinationId } = service.tracker
  const context = { ...service.delivery }
  service.delivery.platforms = interrupted(service.delivery, async () => {
    await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 403, code: 200 } }])
    await setToken(service, 'a-token-without-rights')
    const run = await deliverDueBatch(
      context,
      { trackerId, destinationId, platform: 'meta', isProbe: false },
      () => {},
    )
    assert.equal(run.health.kind, 'refused')
  })
}

async function isPausedByItsOwnAnswer(service: TestService): Promise<void> {
  const { status, statusReason, failedProbes } = await destinationOf(service)
  assert.deepEqual([status, failedProbes], ['inactive', 0])
  assert.match(statusReason ?? '', /rejects the configuration \(code 200\)/)
}
