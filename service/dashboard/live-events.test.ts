import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startDatabaseProxy } from '../../testing/crash/database-proxy.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { openLiveEvents } from '../../testing/fixtures/live-events.ts'
import { PageClient } from '../../testing/fixtures/page-client.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startSecondService } from '../../testing/fixtures/second-process.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { ledgerEntry, storeEntries } from '../../testing/fixtures/stored-events.ts'
import {
  addMember,
  createSignedInClient,
  createTestUser,
  type TestUser,
} from '../../testing/fixtures/users.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { ActivityAnnouncer } from '../signals/delivery/destination-queue-store.ts'

async function openLive(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path, tracker } = await openDashboardWorkspace(service)
  const submit = async (event_id: string, of: Pick<TestService, 'submit'> = service) => {
    service.clock.advance(1)
    const { status } = await of.submit(samplePurchase({ event_id }))
    assert.equal(status, 202)
  }
  const watch = (client: PageClient, lastEventId?: string) =>
    openLiveEvents(test, { client, path, ...(lastEventId !== undefined && { lastEventId }) })
  return { service, owner, path, tracker, submit, watch }
}

/** The browser of a person, at another process. */
function browserAt(url: string, { client }: TestUser): PageClient {
  const browser = new PageClient(url)
  for (const [name, value] of client.cookies) browser.cookies.set(name, value)
  return browser
}

it('sends the newest events, then each new one once, in order of receipt', async test => {
  const { owner, submit, watch } = await openLive(test)
  for (let order = 1; order <= 52; order += 1) await submit(`order-${order}`)
  const live = await watch(owner.client)
  assert.equal(live.messages[0]?.data.events.length, 50)
  assert.equal(live.eventIds()[0], 'order-3')
  assert.equal(live.messages[0]?.data.has_left_out, false)
  const other = await watch(owner.client)
  for (let order = 53; order <= 70; order += 1) await submit(`order-${order}`)
  const expected = Array.from({ length: 68 }, (_, index) => `order-${index + 3}`)
  for (const { eventIds } of [live, other]) {
    await waitUntil('all events arrive', () => eventIds().includes('order-70'))
    assert.deepEqual(eventIds(), expected)
  }
  const text = JSON.stringify(live.messages)
  for (const identity of ['Mozilla', 'visitor-1', 'user_data']) {
    assert.equal(text.includes(identity), false, identity)
  }
})

it('sends an event that is committed after later ones, within ten seconds', async test => {
  const { service, owner, tracker, submit, watch } = await openLive(test)
  const { trackerId } = tracker
  await submit('before')
  const live = await watch(owner.client)
  service.clock.advance(30)
  await submit('newest')
  await waitUntil('the newest event arrives', () => live.eventIds().includes('newest'))
  const at = service.clock.now().getTime()
  const late = { trackerId, eventId: 'late', createdAt: new Date(at - 9_000) }
  const tooLate = { trackerId, eventId: 'too-late', createdAt: new Date(at - 11_000) }
  await storeEntries(service.database, [ledgerEntry(late), ledgerEntry(tooLate)], [])
  await submit('after')
  await waitUntil('the event after it arrives', () => live.eventIds().includes('after'))
  assert.deepEqual(live.eventIds(), ['before', 'newest', 'late', 'after'])
})

it('sends the status of a delivery when it is settled', async test => {
  const { service, owner, submit, watch } = await openLive(test)
  const announcer = new ActivityAnnouncer(service.database, assert.ifError)
  service.delivery.onSettled = (_settlements, _seconds, trackerId) =>
    announcer.announce({ trackerIds: [trackerId], hasDueDeliveries: false })
  await submit('order-1')
  const live = await watch(owner.client)
  const statusOf = () => live.rowOf('order-1')?.deliveries[0]?.status
  assert.equal(statusOf(), 'queued')
  await service.deliver()
  await waitUntil('the delivery is accepted', () => statusOf() === 'accepted')
  assert.deepEqual(live.eventIds(), ['order-1'], 'no new event')
})

it('sends only events of its tracker, whichever process accepts them', async test => {
  const { service, owner, submit, watch } = await openLive(test)
  const second = await startSecondService(test, service)
  const submitTo = async (secret: string, event_id: string) => {
    const response = await fetch(`${second.url}/api/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(samplePurchase({ event_id })),
    })
    assert.equal(response.status, 202)
  }
  const here = await watch(owner.client)
  const there = await watch(browserAt(second.url, owner))
  await submitTo((await service.newTracker()).trackerSecret, 'elsewhere')
  await submitTo(service.tracker.trackerSecret, 'by-second')
  await submit('by-first')
  for (const { eventIds } of [here, there]) {
    await waitUntil('both events arrive', () => eventIds().length === 2)
    assert.deepEqual(eventIds(), ['by-second', 'by-first'])
  }
})

it('ends at once when the service shuts down, and resumes elsewhere without a gap', async test => {
  const { service, owner, submit, watch } = await openLive(test)
  await submit('old')
  service.clock.advance(60)
  await submit('recent')
  const live = await watch(owner.client)
  await submit('last')
  await waitUntil('the last event arrives', () => live.eventIds().includes('last'))
  const second = await startSecondService(test, service)
  const submitToSecond = async (event_id: string) => {
    const response = await fetch(`${second.url}/api/v1/events`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.tracker.trackerSecret}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(samplePurchase({ event_id })),
    })
    assert.equal(response.status, 202)
  }
  await service.server.close()
  await waitUntil('the page notices', live.hasEnded, 2)
  service.clock.advance(1)
  await submitToSecond('meanwhile')
  service.clock.advance(60)
  const resumed = await watch(browserAt(second.url, owner), live.lastEventId())
  // Those of the last ten seconds come again, under the same IDs.
  assert.deepEqual(resumed.eventIds(), ['recent', 'last', 'meanwhile'])
  service.clock.advance(1)
  await submitToSecond('afterwards')
  await waitUntil('the next event arrives', () => resumed.eventIds().includes('afterwards'))
  assert.deepEqual(resumed.eventIds(), ['recent', 'last', 'meanwhile', 'afterwards'])
})

it('catches up after the database was unreachable', async test => {
  const { service, owner, submit, watch } = await openLive(test)
  const proxy = await startDatabaseProxy(test, service.connectionString)
  const { connectionString } = proxy
  const second = await startSecondService(test, { ...service, connectionString })
  const live = await watch(browserAt(second.url, owner))
  proxy.disconnect()
  for (let order = 1; order <= 15; order += 1) await submit(`order-${order}`)
  await waitUntil('the loss is noticed', () => second.logged().includes('poll instead'))
  proxy.reconnect()
  await waitUntil('the last event arrives', () => live.eventIds().includes('order-15'))
  await submit('order-16')
  await waitUntil('the next event arrives', () => live.eventIds().includes('order-16'))
  const expected = Array.from({ length: 16 }, (_, index) => `order-${index + 1}`)
  assert.deepEqual(live.eventIds(), expected)
})

it('ends the streams of a session that ended, a disabled person and a former member', async test => {
  const { service, owner, tracker, submit, watch } = await openLive(test)
  const { workspaceId } = tracker
  const [disabled, former] = [await createTestUser(service), await createTestUser(service)]
  for (const { userId } of [disabled, former]) {
    await addMember(service, { workspaceId, userId, role: 'member' })
  }
  const otherBrowser = await createSignedInClient(service, owner.userId)
  const staying = await watch(owner.client)
  const signedOut = await watch(otherBrowser)
  const ofDisabled = await watch(disabled.client)
  const ofFormer = await watch(former.client)

  await otherBrowser.post('/sign-out')
  await service.database.pool.query(`update people.users set status = 'disabled' where id = $1`, [
    disabled.userId,
  ])
  const member = `/browser/workspaces/${workspaceId}/members/${former.userId}`
  assert.equal((await owner.client.call('DELETE', member)).status, 204)
  for (const { hasEnded } of [signedOut, ofDisabled, ofFormer]) {
    await waitUntil('the stream ends', hasEnded, 5)
  }
  await submit('order-1')
  await waitUntil('the event arrives', () => staying.eventIds().includes('order-1'))
  assert.equal(staying.hasEnded(), false)
})

it('returns 429 with Retry-After for the 11th stream of a person, and serves others', async test => {
  const { service, owner, path, tracker, watch } = await openLive(test)
  const streams = await Promise.all(Array.from({ length: 10 }, () => watch(owner.client)))
  const refused = await owner.client.call('GET', `${path}/live`)
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '10')
  assert.match(refused.body.message, /You have too many live views open/)
  const other = await createTestUser(service)
  const { workspaceId } = tracker
  await addMember(service, { workspaceId, userId: other.userId, role: 'member' })
  await watch(other.client)
  streams[0]?.close()
  await waitUntil('a place is free', async () => {
    return (await owner.client.call('GET', `${path}/live`)).status === 200
  })
})

it('sends headers that keep proxies from buffering, and resumes from the query too', async test => {
  const { service, owner, path, submit } = await openLive(test)
  await submit('order-1')
  const id = service.clock.now().toISOString()
  const { status, headers } = await owner.client.call('GET', `${path}/live?last_event_id=${id}`)
  assert.equal(status, 200)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('x-accel-buffering'), 'no')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.match(headers.get('request-id') ?? '', /^req_/)
  for (const invalid of ['yesterday', '2026-11-21', '0']) {
    const query = `last_event_id=${invalid}`
    const refused = await owner.client.call('GET', `${path}/live?${query}`)
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['last_event_id']])
  }
})
