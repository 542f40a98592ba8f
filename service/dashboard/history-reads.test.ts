import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { SESSION_OPERATIONS } from '@signalbox/contract/session/session-operations.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import type { ReadDatabase } from '../runtime/db/replica/read-replica.ts'

/** The operations that may answer from a copy of the store that is some seconds old. */
const OF_HISTORY = [
  ...['searchEvents', 'exportEvents', 'getEventFlow', 'listIssues', 'listRefusals'],
  ...['getMatchQuality', 'downloadMatchQuality', 'listReconciliations', 'downloadReconciliations'],
]

const OWN_WRITE_SECONDS = 11

/** A service whose reads of history go to a second database, which is empty. */
async function startWithOldCopy(test: TestContext) {
  const copy = await createTestDatabase(test)
  const asked: { hasWritten: boolean }[] = []
  const readDatabase: ReadDatabase = {
    ownWriteSeconds: OWN_WRITE_SECONDS,
    read: async (work, options) => {
      asked.push(options)
      return { value: await work(copy.database), ageSeconds: 3.2 }
    },
  }
  const service = await startTestService(test, { readDatabase })
  const { owner, path, tracker } = await openDashboardWorkspace(service)
  await service.submit(samplePurchase({ event_id: 'order-1' }))
  const read = (route: string) => owner.client.call('GET', `${path}${route}`)
  return { service, owner, path, tracker, asked, read }
}

it('only lists and counts of history read from the copy', async test => {
  const { owner, tracker, asked } = await startWithOldCopy(test)
  const found: string[] = []
  const values: Record<string, string> = {
    workspace: String(tracker.workspaceId),
    tracker: tracker.trackerId,
    destination: tracker.destinationId,
    event: 'order-1',
  }
  const reading = SESSION_OPERATIONS.filter(({ method }) => method === 'GET')
  assert.ok(reading.length > 40)
  for (const { url, config } of reading) {
    // It stays open.
    if (config.operationId === 'watchEvents') continue
    const route = url.replaceAll(/:(\w+)/g, (_, name) => values[name] ?? 'x')
    await owner.client.call('GET', `${SESSION_API_PATH}${route}`)
    if (asked.splice(0).length > 0) found.push(config.operationId)
  }
  assert.deepEqual(found.sort(), OF_HISTORY.toSorted())
})

it('a list says how old it may be, and one event is looked for in the store', async test => {
  const { read, asked } = await startWithOldCopy(test)
  const list = await read('/events')
  assert.deepEqual(list.body.events, [])
  assert.equal(list.headers.get('signalbox-data-age'), '4')
  for (const search of ['event_id=order-1', 'search=order-1']) {
    const { body, headers } = await read(`/events?${search}`)
    assert.deepEqual(
      body.events.map((event: { id: string }) => event.id),
      ['order-1'],
    )
    assert.equal(headers.get('signalbox-data-age'), null)
  }
  const details = await read('/events/order-1')
  assert.equal(details.status, 200)
  assert.deepEqual(asked, [{ hasWritten: false }])
})

it('a session that changed something says so for a while', async test => {
  const { owner, path, read, asked } = await startWithOldCopy(test)
  const other = await startWithoutCopy(test)
  const change = { body: { name: 'Renamed' } }
  const { headers, status } = await owner.client.call('PATCH', path, change)
  assert.equal(status, 204)
  const cookie = headers.getSetCookie().find(given => given.startsWith('signalbox_wrote='))
  assert.equal(cookie, 'signalbox_wrote=1; Path=/; Max-Age=11; HttpOnly; SameSite=Lax')
  await read('/events')
  assert.deepEqual(asked, [{ hasWritten: true }])
  const answer = await other.owner.client.call('PATCH', other.path, change)
  assert.deepEqual(answer.headers.getSetCookie(), [], 'without a replica nothing is said')
  const list = await other.owner.client.call('GET', `${other.path}/events`)
  assert.equal(list.headers.get('signalbox-data-age'), null)
})

async function startWithoutCopy(test: TestContext) {
  return openDashboardWorkspace(await startTestService(test))
}
