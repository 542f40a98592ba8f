import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDestination } from '../../testing/fixtures/dashboard.ts'
import { startTestWorker, waitForStatus } from '../../testing/fixtures/delivery-worker.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken, scriptFaults } from '../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { listenForNotifications } from '../runtime/db/notification-listener.ts'
import { DELIVERY_CHANNEL } from '../signals/delivery/destination-queue-store.ts'
import { raiseAlert } from '../signals/reports/alert-store.ts'

const TOKEN = 'EAAB-a-token-of-the-test'

async function revokeCurrentToken(service: TestService): Promise<string> {
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  return accessToken
}

/** A worker that only a notification wakes, as in another process. */
async function startListeningWorker(test: TestContext, service: TestService): Promise<void> {
  const worker = startTestWorker(test, service)
  const notifications = await listenForNotifications({
    connectionString: service.connectionString,
    channel: DELIVERY_CHANNEL,
    onNotification: () => worker.wake(),
    onLost: () => {},
  })
  test.after(() => notifications.close())
}

it('shows a rejected credential with what waits, and sends it after a new one', async test => {
  const service = await startTestService(test)
  const { owner, read, one } = await openDestination(service)
  const valid = await revokeCurrentToken(service)
  await service.submit(samplePurchase())
  await service.deliver()
  const paused = await read()
  assert.equal(paused.destination.status, 'inactive')
  assert.match(paused.destination.config.status_reason, /The platform rejects the credential/)
  assert.equal(paused.credential, 'rejected')
  assert.deepEqual(paused.queue, {
    waiting: 1,
    retrying: 0,
    in_flight: 0,
    is_lower_bound: false,
    oldest_at: '2026-11-21T12:00:00.000Z',
    next_attempt_at: paused.queue.next_attempt_at,
  })
  assert.equal(paused.next_check_at, '2026-11-21T12:01:00.000Z')
  assert.equal(paused.last_request.outcome, 'auth')

  await startListeningWorker(test, service)
  service.clock.advance(1)
  const body = { access_token: `${valid}-new` }
  const replaced = await owner.client.call('PUT', `${one}/credential`, { body })
  assert.deepEqual([replaced.status, replaced.body.status], [200, 'active'])
  await waitForStatus(service, 'accepted', { count: 1 })
  const { credential, queue, destination } = await read()
  assert.deepEqual([credential, queue.waiting, destination.status], ['accepted', 0, 'active'])
})

it('tries a paused destination when a person asks, without waiting for its next check', async test => {
  const service = await startTestService(test)
  const { owner, read, one, tracker } = await openDestination(service)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 403, code: 200 }, times: 1 }])
  await service.submit(samplePurchase())
  await service.deliver()
  assert.equal((await read()).destination.status, 'inactive')

  await startListeningWorker(test, service)
  const checked = await owner.client.call('POST', `${one}/check`)
  assert.equal(checked.status, 200)
  await waitForStatus(service, 'accepted', { count: 1 })
  // The delivery is settled first, by a transaction of its own.
  await waitUntil('it is active', async () => (await read()).destination.status === 'active')
  // An active destination needs no check, and the log no entry.
  assert.equal((await owner.client.call('POST', `${one}/check`)).status, 200)
  const entries = await readAuditEntries(
    service.database,
    tracker.workspaceId,
    'destination.checked',
  )
  assert.equal(entries.length, 1)
})

it('shows why a destination waits: an outage, and a pause that the platform asked for', async test => {
  const service = await startTestService(test)
  const { read, tracker } = await openDestination(service)
  const setBackoff = (cause: string) =>
    service.database.pool.query(
      `update destinations set backoff_cause = $1, backoff_since = $2, backoff_until = $3
       where tracker_id = $4`,
      [cause, '2026-11-21T11:59:00Z', '2026-11-21T12:00:10Z', tracker.trackerId],
    )
  for (const cause of ['throttled', 'request_limit', 'unreachable']) {
    await setBackoff(cause)
    const times = { since: '2026-11-21T11:59:00.000Z', until: '2026-11-21T12:00:10.000Z' }
    assert.deepEqual((await read()).backoff, { cause, ...times })
  }
  service.clock.advance(60)
  assert.equal((await read()).backoff.cause, 'unreachable')
  for (const cause of ['throttled', 'request_limit']) {
    await setBackoff(cause)
    assert.equal((await read()).backoff, null)
  }
})

it('lists the open alerts of each destination', async test => {
  const service = await startTestService(test)
  const { read, tracker } = await openDestination(service)
  const { trackerId, destinationId } = tracker
  const alert = { trackerId, destinationId, kind: 'emq_low', details: {} } as const
  const sentence = 'The match quality of Purchase is low.'
  await raiseAlert({ database: service.database }, { ...alert, sentence }, service.clock.now())
  const raised_at = '2026-11-21T12:00:00.000Z'
  assert.deepEqual((await read()).alerts, [{ kind: 'emq_low', sentence, raised_at }])
})

it('shows whether a credential is untried, and one that no key opens', async test => {
  const service = await startTestService(test)
  const { owner, read, one, tracker } = await openDestination(service)
  assert.equal((await read()).credential, 'untried')
  await service.submit(samplePurchase())
  await service.deliver()
  assert.equal((await read()).credential, 'accepted')
  await service.database.pool.query(
    "update destinations set sealed_credential = '\\x00' where tracker_id = $1",
    [tracker.trackerId],
  )
  assert.equal((await read()).credential, 'unreadable')
  const body = { access_token: TOKEN }
  assert.equal((await owner.client.call('PUT', `${one}/credential`, { body })).status, 200)
  assert.notEqual((await read()).credential, 'unreadable')
})
