import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const EVENTS = '/api/v1/events'

function sendFromPage(service: TestService, changes: Record<string, unknown> = {}) {
  return service.request('POST', EVENTS, {
    secret: service.tracker.publishableKey,
    headers: { origin: SHOP_ORIGIN },
    body: samplePageView({ event_id: 'order-1001', ...changes }),
  })
}

function readFromPage(service: TestService, eventId = 'order-1001') {
  return service.request('GET', `${EVENTS}/${eventId}?space=publishable`)
}

it('accepts an order whose event ID a page has already used and stores both events', async test => {
  const service = await startTestService(test)
  assert.equal((await sendFromPage(service)).status, 202)
  assert.equal((await service.submit(samplePurchase())).status, 202)
  assert.equal((await service.read('order-1001')).body.event.event_name, 'Purchase')
  assert.equal((await readFromPage(service)).body.event.event_name, 'PageView')
  const named = await service.request('GET', `${EVENTS}/order-1001?space=secret`)
  assert.equal(named.body.event.event_name, 'Purchase')
})

it('returns 200 for a repeated event ID within the same space', async test => {
  const service = await startTestService(test)
  await sendFromPage(service)
  await service.submit(samplePurchase())
  assert.deepEqual((await sendFromPage(service)).body.duplicate, true)
  assert.deepEqual((await service.submit(samplePurchase())).body.duplicate, true)
})

it('falls back to the publishable event and names its space', async test => {
  const service = await startTestService(test)
  const { headers } = await sendFromPage(service)
  const location = headers.get('location') as string
  assert.match(location, /\/api\/v1\/events\/order-1001\?space=publishable$/)
  const { pathname, search } = new URL(location)
  assert.equal((await service.request('GET', pathname + search)).status, 200)
  assert.equal((await service.read('order-1001')).body.event.event_name, 'PageView')
  const secret = await service.request('GET', `${EVENTS}/order-1001?space=secret`)
  assert.equal(secret.status, 404)
  const submitted = await service.submit(samplePurchase({ event_id: 'other' }))
  assert.match(submitted.headers.get('location') as string, /\/other$/)
  assert.equal((await readFromPage(service, 'other')).status, 404)
})

it('says in each read which key sent the event', async test => {
  const service = await startTestService(test)
  await sendFromPage(service)
  const sentence = / The event was sent with a publishable key, which anyone can copy from a page\./
  const readPlaces = async (path: string) => {
    const { headers, body } = await service.request('GET', path)
    const [{ explanation }] = body.deliveries
    return [headers.get('content-location'), sentence.test(explanation)]
  }
  const url = `${service.url}${EVENTS}/order-1001`
  const fromPage = [`${url}?space=publishable`, true]
  assert.deepEqual(await readPlaces(`${EVENTS}/order-1001`), fromPage)
  await service.submit(samplePurchase())
  assert.deepEqual(await readPlaces(`${EVENTS}/order-1001`), [`${url}?space=secret`, false])
  assert.deepEqual(await readPlaces(`${EVENTS}/order-1001?space=publishable`), fromPage)
  await service.database.pool.query('update events set space = 2 where space = 0')
  await service.database.pool.query('delete from events where space = 1')
  const { headers } = await service.read('order-1001')
  assert.equal(headers.get('content-location'), url)
})

it('returns 422 for an unknown space and 404 for the event of another tracker', async test => {
  const service = await startTestService(test)
  await sendFromPage(service)
  const wrong = await service.request('GET', `${EVENTS}/order-1001?space=browser`)
  assert.equal(wrong.status, 422)
  assert.deepEqual(wrong.body.errors, {
    space: ['The space field must be "secret" or "publishable".'],
  })
  const { trackerSecret: secret } = await service.newTracker()
  const path = `${EVENTS}/order-1001?space=publishable`
  assert.equal((await service.request('GET', path, { secret })).status, 404)
  assert.equal((await service.request('GET', path, { secret: null })).status, 401)
})

it('lists the events of both spaces and delivers each once', async test => {
  const service = await startTestService(test)
  await sendFromPage(service, { user_data: { em: 'jane@example.com' } })
  await service.submit(samplePurchase())
  assert.equal(await service.deliver(), 2)
  const { events } = await service.received('event_id=order-1001')
  const names = events.map(event => event.event_name as unknown as string)
  assert.deepEqual(names.sort(), ['PageView', 'Purchase'])
  const { body } = await service.request('GET', '/api/v1/dashboard/events')
  const listed = body.events.data.map((event: Record<string, unknown>) => [
    event.event_name,
    (event.deliveries as { status: string }[]).map(({ status }) => status),
  ])
  assert.deepEqual(listed.sort(), [
    ['PageView', ['accepted']],
    ['Purchase', ['accepted']],
  ])
})

it('looks up the parent in the space of the child first, then in the other', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.submit(samplePurchase({ event_id: 'refund', parent_event_id: 'order-1001' }))
  await sendFromPage(service, { event_id: 'click', parent_event_id: 'order-1001' })
  const before = (await readFromPage(service, 'click')).body.lineage.parent
  assert.equal(before.event_name, 'Purchase')
  const childrenOf = async (path: string) => {
    const { body } = await service.request('GET', path)
    return body.lineage.children.map(({ id }: { id: string }) => id).sort()
  }
  assert.deepEqual(await childrenOf(`${EVENTS}/order-1001`), ['click', 'refund'])

  await sendFromPage(service)
  const after = (await readFromPage(service, 'click')).body.lineage.parent
  assert.equal(after.event_name, 'PageView')
  assert.deepEqual(await childrenOf(`${EVENTS}/order-1001`), ['refund'])
  assert.deepEqual(await childrenOf(`${EVENTS}/order-1001?space=publishable`), ['click'])
})

it('erases a person from the events of both spaces', async test => {
  const service = await startTestService(test)
  await sendFromPage(service, { visitor_id: 'visitor-7' })
  await service.submit(samplePurchase({ visitor_id: 'visitor-7' }))
  const digest = '9c3b1a04e4e7b5de6a1d3f4e6b0d7e6c'.padEnd(64, '0')
  const unknown = await service.request('DELETE', '/api/v1/user-data', {
    body: { identifier_hash: digest },
  })
  assert.equal(unknown.body.events_updated, 0)
  const erased = await service.request('DELETE', '/api/v1/user-data', {
    body: { identifier_hash: hash('sha256', 'visitor-7') },
  })
  assert.equal(erased.body.events_updated, 2)
  assert.equal((await readFromPage(service)).body.event.payload_expired, true)
  assert.equal((await service.read('order-1001')).body.event.payload_expired, true)
})
