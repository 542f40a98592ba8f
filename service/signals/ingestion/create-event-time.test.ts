import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

it('returns every format of event_time in UTC with milliseconds', async test => {
  const service = await startTestService(test)
  for (const [event_time, read] of [
    [1_795_258_800, '2026-11-21T11:00:00.000Z'],
    ['2026-11-21T11:00:00Z', '2026-11-21T11:00:00.000Z'],
    ['2026-11-21T13:00:00.250+02:00', '2026-11-21T11:00:00.250Z'],
    [undefined, '2026-11-21T12:00:00.000Z'],
  ] as const) {
    const event_id = `at-${event_time}`
    const reply = await service.submit(samplePurchase({ event_id, event_time }))
    assert.equal(reply.status, 202)
    assert.equal((await service.read(event_id)).body.event.event_time, read)
  }
})

it('returns 422 for milliseconds, fractions, dates without a time, and invalid dates', async test => {
  const service = await startTestService(test)
  for (const [event_time, sentence] of [
    [1_795_258_800_000, 'The event_time field looks like milliseconds; send Unix seconds.'],
    [1_795_258_800.5, 'The event_time field must be an integer or a string.'],
    [null, 'The event_time field must be an integer or a string.'],
    ['2026-11-21', /^The event_time field must be Unix seconds or ISO 8601 with an offset/],
    ['2026-02-30T10:00:00Z', /^The event_time field must be Unix seconds or ISO 8601/],
    [-1, 'The event_time field must not be before 1970.'],
  ] as const) {
    const reply = await service.submit(samplePurchase({ event_time }))
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors), ['event_time'])
    const [said, ...more] = reply.body.errors.event_time
    assert.deepEqual(more, [])
    if (typeof sentence === 'string') assert.equal(said, sentence)
    else assert.match(said, sentence)
  }
})

it('returns 422 for 6 minutes in the future; accepts 4 minutes and sends the current time', async test => {
  const service = await startTestService(test)
  const six = await service.submit(samplePurchase({ event_time: '2026-11-21T12:06:00Z' }))
  assert.equal(six.status, 422)
  assert.deepEqual(six.body.errors, {
    event_time: ['The event_time field must not be more than 5 minutes in the future.'],
  })
  const four = await service.submit(samplePurchase({ event_time: '2026-11-21T12:04:00Z' }))
  assert.equal(four.status, 202)
  const { event } = (await service.read('order-1001')).body
  assert.equal(event.event_time, '2026-11-21T12:04:00.000Z')
  await service.deliver()
  const { events } = await service.received()
  assert.equal((events[0] as { event_time?: number } | undefined)?.event_time, 1_795_262_400)
})

it('returns 202 for an event outside the platform window and expires its delivery', async test => {
  const service = await startTestService(test)
  const old = { event_id: 'old', event_time: '2026-11-14T11:59:59Z' }
  assert.equal((await service.submit(samplePurchase(old))).status, 202)
  const { deliveries } = (await service.read('old')).body
  assert.equal(deliveries[0].status, 'expired')
  assert.equal(deliveries[0].next_attempt_at, null)
  assert.match(deliveries[0].explanation, /^Not sent: the event of 2026-11-14T11:59:59\.000Z/)
  const store = { event_id: 'store', event_time: '2026-11-01T12:00:00Z' }
  await service.submit(samplePurchase({ ...store, action_source: 'physical_store' }))
  assert.equal((await service.read('store')).body.deliveries[0].status, 'queued')
})
