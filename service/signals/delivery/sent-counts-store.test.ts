import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startServiceThatSent, submitNumbered } from '../../../testing/fixtures/deliveries.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { countMatchKeys, countSentOfDay } from './sent-counts-store.ts'

const DAY = '2026-11-21'

function matchKeys({ database, tracker }: TestService, from = DAY, until = DAY) {
  const { trackerId, destinationId } = tracker
  return countMatchKeys(database, { trackerId, destinationId, from, until })
}

function sentOfDay({ database, tracker }: TestService, day = DAY) {
  const { trackerId, destinationId } = tracker
  return countSentOfDay(database, { trackerId, destinationId, day })
}

const NONE = { acceptedOfOtherDays: 0, acceptedOnOtherDays: 0, tests: 0, unknownAttempts: 0 }

it('counts the identifiers of accepted events by event name', async test => {
  const em = 'jane@example.com'
  const service = await startServiceThatSent(test, [
    { user_data: { em, client_user_agent: 'Mozilla/5.0' } },
    { user_data: { em, ph: '+49 30 901820' } },
    { event_name: 'Lead', user_data: { em: [em, 'joe@example.com'] } },
  ])
  assert.deepEqual(await matchKeys(service), [
    { eventName: 'Lead', events: 1, keys: { em: 1 } },
    { eventName: 'Purchase', events: 2, keys: { client_user_agent: 1, em: 2, ph: 1 } },
  ])
})

it('counts a click id that was joined from an earlier visit', async test => {
  const fbc = 'fb.1.1795255000000.AbCdEfGhIjKlMnOpQrStUvWxYz'
  const service = await startServiceThatSent(test, [
    { event_name: 'PageView', user_data: { em: 'jane@example.com', fbc }, value_data: undefined },
    { user_data: { em: 'jane@example.com' } },
  ])
  const [, purchase] = await matchKeys(service)
  assert.deepEqual(purchase, { eventName: 'Purchase', events: 1, keys: { em: 1, fbc: 1 } })
})

it('sums the days of a range, both ends included', async test => {
  const service = await startServiceThatSent(test, [{}])
  service.clock.advance(86_400)
  await submitNumbered(service, {}, 1)
  await service.deliver()
  const eventsOf = async (from: string, until: string) =>
    (await matchKeys(service, from, until)).map(({ events }) => events)
  assert.deepEqual(await eventsOf(DAY, '2026-11-22'), [2])
  assert.deepEqual(await eventsOf('2026-11-22', '2026-11-23'), [1])
  assert.deepEqual(await eventsOf('2026-11-23', '2026-11-24'), [])
})

it('counts nothing of another tracker or destination', async test => {
  const service = await startServiceThatSent(test, [{}])
  const { trackerId, destinationId } = await service.newTracker()
  const queue = { trackerId, destinationId }
  assert.deepEqual(await countSentOfDay(service.database, { ...queue, day: DAY }), [])
  const mixed = { trackerId, destinationId: service.tracker.destinationId, day: DAY }
  assert.deepEqual(await countSentOfDay(service.database, mixed), [])
})

it('separates the day of sending from the day of the event', async test => {
  const service = await startServiceThatSent(test, [{}, { event_time: '2026-11-20T23:59:59Z' }])
  assert.deepEqual(await sentOfDay(service), [
    { eventName: 'Purchase', ...NONE, accepted: 2, acceptedOfOtherDays: 1 },
  ])
  assert.deepEqual(await sentOfDay(service, '2026-11-20'), [
    { eventName: 'Purchase', ...NONE, accepted: 0, acceptedOnOtherDays: 1 },
  ])
  assert.deepEqual(await sentOfDay(service, '2026-11-19'), [])
})

it('counts an event with a future time on its day of receipt', async test => {
  const service = await startTestService(test, { startAt: '2026-11-21T23:59:00Z' })
  await submitNumbered(service, { event_time: '2026-11-22T00:01:00Z' })
  await service.deliver()
  assert.deepEqual(await sentOfDay(service), [{ eventName: 'Purchase', ...NONE, accepted: 1 }])
})

it('counts test events separately and without their identifiers', async test => {
  const service = await startTestService(test)
  const path = `/api/v1/destinations/${service.tracker.destinationId}`
  const body = { enabled: true, test_event_code: 'TEST1' }
  await service.request('PATCH', `${path}/test-mode`, { body })
  await submitNumbered(service, { user_data: { em: 'jane@example.com', ph: '+49 30 901820' } })
  await service.deliver()
  const { status } = await service.request('POST', `${path}/test-purchase`, {})
  assert.equal(status, 200)
  assert.deepEqual(await sentOfDay(service), [
    { eventName: 'Purchase', ...NONE, accepted: 0, tests: 2 },
  ])
  assert.deepEqual(await matchKeys(service), [])
  await service.request('PATCH', `${path}/test-mode`, { body: { enabled: false } })
  await submitNumbered(service, { user_data: { em: 'jane@example.com' } }, 1)
  await service.deliver()
  assert.deepEqual(await matchKeys(service), [
    { eventName: 'Purchase', events: 1, keys: { em: 1 } },
  ])
})

it('counts an attempt without an answer and the acceptance after it', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ abort: 'after_store', times: 2 }])
  await submitNumbered(service, {})
  await service.deliver()
  for (let attempt = 0; attempt < 2; attempt += 1) {
    service.clock.advance(60)
    await service.deliver()
  }
  assert.deepEqual(await sentOfDay(service), [
    { eventName: 'Purchase', ...NONE, accepted: 1, unknownAttempts: 2 },
  ])
})

it('counts no rejected or unsent event, and a replay once', async test => {
  const service = await startTestService(test)
  const refusal = { status: 400, code: 100, message: 'Invalid parameter' }
  await scriptFaults(service.simulatorUrl, [{ respond: refusal, times: 1 }])
  await submitNumbered(service, {})
  await service.deliver()
  assert.deepEqual(await sentOfDay(service), [])
  const replay = await service.request('POST', '/api/v1/deliveries/replay', { body: {} })
  assert.equal(replay.body.queued, 1, replay.text)
  await service.deliver()
  assert.deepEqual(await sentOfDay(service), [{ eventName: 'Purchase', ...NONE, accepted: 1 }])
})

it('counts two hundred event names a day and the others under one name', async test => {
  const lead = (number: number) => ({ event_name: `custom-${number}`, value_data: undefined })
  const numbers = Array.from({ length: 230 }, (_, index) => lead(1_000 + index))
  const service = await startServiceThatSent(test, [...numbers, lead(1_001)])
  const counts = await sentOfDay(service)
  assert.equal(counts.length, 201)
  const others = { ...NONE, eventName: '(other names)', accepted: 30 }
  assert.deepEqual(counts[0], others)
  const [, , second] = counts
  assert.deepEqual(second, { ...NONE, eventName: 'custom-1001', accepted: 2 })
  await submitNumbered(service, lead(9_999), 500)
  await submitNumbered(service, lead(1_001), 501)
  await service.deliver()
  const later = await sentOfDay(service)
  assert.equal(later.length, 201)
  assert.deepEqual([later[0]?.accepted, later[2]?.accepted], [31, 3])
})

it('counts any event name and any identifier key', async test => {
  const events = ['__proto__', 'a b', `it's "quoted" \\ {,}`, 'Ünïcode 日本'].map(event_name => ({
    event_name,
    value_data: undefined,
  }))
  const service = await startServiceThatSent(test, events)
  const names = (await sentOfDay(service)).map(({ eventName }) => eventName).sort()
  assert.deepEqual(names, events.map(({ event_name }) => event_name).sort())
})
