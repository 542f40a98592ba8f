import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { expireLeases } from '../../../testing/fixtures/deliveries.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  connectScripted,
  failure,
  type ScriptedPlatform,
  startScriptedPlatform,
} from '../../../testing/fixtures/scripted-platform.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import type { EventAnswer } from '../platforms/platform.ts'

/** A service that has events for a platform which answers by event. */
async function startWithEvents(test: TestContext, count: number) {
  const scripted = await startScriptedPlatform(test)
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  const destinationId = await connectScripted(service)
  for (let number = 1; number <= count; number += 1) {
    await service.submit(samplePurchase({ event_id: `event-${number}` }))
  }
  return { scripted, service, destinationId }
}

/** Answers each event by its ID; events that are not named are accepted. */
function answerEach(scripted: ScriptedPlatform, answers: Record<string, EventAnswer>): void {
  scripted.script.push(({ eventIds }) => ({
    events: eventIds.map(id => answers[id] ?? { outcome: 'accepted', error: null }),
  }))
}

async function readDelivery({ read }: TestService, eventId: string, destinationId: string) {
  const { body } = await read(eventId)
  return body.deliveries.find((it: Record<string, unknown>) => it.destination_id === destinationId)
}

async function readStatuses(service: TestService, destinationId: string, count: number) {
  const statuses: Record<string, string> = {}
  for (let number = 1; number <= count; number += 1) {
    const { status } = await readDelivery(service, `event-${number}`, destinationId)
    statuses[`event-${number}`] = status
  }
  return statuses
}

it('settles each event by its own outcome and sends what was accepted only once', async test => {
  const { scripted, service, destinationId } = await startWithEvents(test, 4)
  answerEach(scripted, {
    'event-2': { outcome: 'permanent', error: failure('permanent', 'No such product.') },
    'event-3': { outcome: 'retry', error: failure('retry', 'Try later.') },
    'event-4': { outcome: 'unknown', error: failure('unknown', 'No answer about it.') },
  })
  await service.deliver()
  assert.deepEqual(await readStatuses(service, destinationId, 4), {
    'event-1': 'accepted',
    'event-2': 'failed:permanent',
    'event-3': 'retrying',
    'event-4': 'retrying',
  })
  const failed = await readDelivery(service, 'event-2', destinationId)
  assert.match(failed.explanation, /No such product/)
  assert.equal(failed.last_error.message, 'No such product.')

  service.clock.advance(60)
  await service.deliver()
  const retried = scripted.requests.slice(1).flatMap(({ eventIds }) => eventIds)
  assert.deepEqual(retried.sort(), ['event-3', 'event-4'])
  assert.equal(scripted.requests[0]?.eventIds.length, 4, 'one request, and nothing halved')
  const { rows } = await service.database.pool.query(
    `select sum(accepted)::int as accepted, sum(unknown)::int as unknown from sent_counts
     where destination_id = $1::uuid`,
    [destinationId],
  )
  assert.deepEqual(rows, [{ accepted: 3, unknown: 1 }])
})

it('halves a batch only when the platform refuses it as a whole', async test => {
  const { scripted, service, destinationId } = await startWithEvents(test, 4)
  const refused = { outcome: 'permanent', error: failure('permanent') } as const
  scripted.script.push(({ eventIds }) => {
    const events = eventIds.map(() => refused)
    return { outcome: 'permanent', error: failure('permanent'), events }
  })
  await service.deliver()
  assert.equal(scripted.requests.length, 1)
  const statuses = Object.values(await readStatuses(service, destinationId, 4))
  assert.deepEqual(new Set(statuses), new Set(['failed:permanent']))
})

it('waits before it sends events again that alone were refused for the credential', async test => {
  const { scripted, service, destinationId } = await startWithEvents(test, 2)
  answerEach(scripted, { 'event-2': { outcome: 'auth', error: failure('auth') } })
  await service.deliver()
  assert.deepEqual(await readStatuses(service, destinationId, 2), {
    'event-1': 'accepted',
    'event-2': 'retrying',
  })
  const { rows } = await service.database.pool.query(
    'select status from destinations where id = $1::uuid',
    [destinationId],
  )
  assert.deepEqual(rows, [{ status: 'active' }])
})

it('treats an answer about another number of events as no usable answer', async test => {
  const { scripted, service, destinationId } = await startWithEvents(test, 2)
  scripted.script.push(() => ({ events: [{ outcome: 'accepted', error: null }] }))
  await service.deliver()
  assert.deepEqual(await readStatuses(service, destinationId, 2), {
    'event-1': 'retrying',
    'event-2': 'retrying',
  })
  const { last_error } = await readDelivery(service, 'event-1', destinationId)
  assert.equal(last_error.message, 'The platform answered about 1 events of 2.')
})

it('never sends an accepted event again when the worker dies after the settlement', async test => {
  const { scripted, service, destinationId } = await startWithEvents(test, 3)
  answerEach(scripted, { 'event-2': { outcome: 'retry', error: failure('retry') } })
  await service.deliver()
  // What another worker finds when this one is gone and its lease has ended.
  await expireLeases(service.database)
  service.clock.advance(3_600)
  await service.deliver()
  const sent = scripted.requests.map(({ eventIds }) => [...eventIds].sort())
  assert.deepEqual(sent, [['event-1', 'event-2', 'event-3'], ['event-2']])
  const statuses = Object.values(await readStatuses(service, destinationId, 3))
  assert.deepEqual(statuses, ['accepted', 'accepted', 'accepted'])
})

it('removes identifiers from the errors of single events', async test => {
  const { scripted, service, destinationId } = await startWithEvents(test, 2)
  scripted.script.push(({ eventIds }) => ({
    events: eventIds.map(() => ({
      outcome: 'permanent',
      error: failure('permanent', 'The address of Mozilla/5.0 (a phone) is bad.'),
    })),
  }))
  const agent = 'Mozilla/5.0 (a phone)'
  await service.submit(
    samplePurchase({
      event_id: 'event-3',
      user_data: { em: 'a@b.example', client_user_agent: agent },
    }),
  )
  await service.deliver()
  const { last_error } = await readDelivery(service, 'event-3', destinationId)
  assert.equal(last_error.message, 'The address of REDACTED is bad.')
})
