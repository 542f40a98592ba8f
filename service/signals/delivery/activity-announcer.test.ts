import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { listenForNotifications } from '../../runtime/db/notification-listener.ts'
import {
  ACTIVITY_CHANNEL,
  ActivityAnnouncer,
  DELIVERY_CHANNEL,
  parseTrackerIds,
} from './destination-queue-store.ts'

async function listen(test: TestContext, connectionString: string, channel: string) {
  const payloads: string[] = []
  const listener = await listenForNotifications({
    connectionString,
    channel,
    onNotification: payload => payloads.push(payload),
    onLost: () => {},
  })
  test.after(() => listener.close())
  return payloads
}

it('announces changes of a burst together, the last one too', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const activity = await listen(test, connectionString, ACTIVITY_CHANNEL)
  const deliveries = await listen(test, connectionString, DELIVERY_CHANNEL)
  const announcer = new ActivityAnnouncer(database, assert.ifError)
  const trackerIds = Array.from({ length: 100 }, () => randomUUID())
  for (const id of trackerIds) announcer.announce({ trackerIds: [id], hasDueDeliveries: false })
  announcer.announce({ trackerIds: [trackerIds[0] as string], hasDueDeliveries: true })
  await waitUntil('the burst is announced', () => activity.length === 2)
  // Each is sent over a connection of its own, so either may arrive first.
  const named = activity.map(payload => [...(parseTrackerIds(payload) ?? [])])
  const [first, rest] = named.toSorted((a, b) => a.length - b.length)
  assert.deepEqual(first, trackerIds.slice(0, 1))
  assert.deepEqual(rest?.toSorted(), trackerIds.toSorted())
  await waitUntil('workers are woken', () => deliveries.length === 1)
  announcer.announce({ trackerIds: ['later'], hasDueDeliveries: false })
  await waitUntil('a later change is announced', () => activity.length === 3)
  assert.equal(deliveries.length, 1, 'no delivery is due')
})

it('announces more trackers than a payload can name as all of them', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const activity = await listen(test, connectionString, ACTIVITY_CHANNEL)
  const announcer = new ActivityAnnouncer(database, assert.ifError)
  for (const count of [200, 201]) {
    const trackerIds = Array.from({ length: count }, () => randomUUID())
    announcer.announce({ trackerIds, hasDueDeliveries: false })
  }
  await waitUntil('both are announced', () => activity.length === 2)
  assert.equal(parseTrackerIds(activity[0] as string)?.size, 200)
  assert.equal(parseTrackerIds(activity[1] as string), null)
})

it('announces events that have no delivery, and no duplicates', async test => {
  const service = await startTestService(test)
  const activity = await listen(test, service.connectionString, ACTIVITY_CHANNEL)
  const deliveries = await listen(test, service.connectionString, DELIVERY_CHANNEL)
  const verification = {
    event_id: 'verification',
    event_name: 'signal_verification',
    event_time: service.clock.now().toISOString(),
    consent_basis: 'legitimate_interest',
  }
  assert.equal((await service.submit(verification)).status, 202)
  await waitUntil('it is announced', () => activity.length === 1)
  assert.deepEqual(activity, [service.tracker.trackerId])
  assert.equal((await service.submit(verification)).status, 200)
  assert.equal((await service.submit(samplePurchase())).status, 202)
  // Each channel has a connection of its own, so either notification may arrive first.
  await waitUntil('workers are woken', () => deliveries.length === 1)
  await waitUntil('the purchase is announced', () => activity.length >= 2)
  assert.deepEqual(activity, [service.tracker.trackerId, service.tracker.trackerId])
})
