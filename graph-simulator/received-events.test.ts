import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type ReceivedBatch, type ReceivedEvent, ReceivedEvents } from './received-events.ts'

const HOUR_MS = 3_600_000
const EVERYTHING = { dataset: undefined, eventId: undefined, limit: 1_000 }

it('drops the oldest receipts when there are more than the limit', () => {
  const received = new ReceivedEvents({ eventsMax: 3, bytesMax: 1_000 })
  for (const id of ['a', 'b', 'c', 'd', 'e']) received.add(batch(), [event(id)])
  const { count, receipts } = received.find(EVERYTHING)
  assert.equal(count, 3)
  assert.deepEqual(
    receipts.map(receipt => receipt.eventId),
    ['c', 'd', 'e'],
  )
  assert.equal(received.find({ ...EVERYTHING, eventId: 'a' }).count, 0)
  assert.equal(received.find({ ...EVERYTHING, eventId: 'c' }).count, 1)
})

it('drops only the oldest receipts of an event_id that repeats', () => {
  const received = new ReceivedEvents({ eventsMax: 2, bytesMax: 1_000 })
  for (let copy = 0; copy < 5; copy++) received.add(batch(), [event('a')])
  assert.equal(received.find({ ...EVERYTHING, eventId: 'a' }).count, 2)
  assert.equal(received.find(EVERYTHING).count, 2)
})

it('drops the oldest receipts when their text exceeds the byte limit', () => {
  const received = new ReceivedEvents({ eventsMax: 1_000, bytesMax: 100 })
  const bytes = Buffer.alloc(40)
  for (const id of ['a', 'b', 'c']) received.add({ ...batch(), bytes }, [event(id), event(id)])
  const { receipts } = received.find(EVERYTHING)
  assert.deepEqual(
    receipts.map(receipt => receipt.eventId),
    ['b', 'b', 'c', 'c'],
  )
})

it('keeps nothing of a request above the limit and accepts the next one', () => {
  const received = new ReceivedEvents({ eventsMax: 10, bytesMax: 100 })
  received.add({ ...batch(), bytes: Buffer.alloc(101) }, [event('a')])
  assert.equal(received.find(EVERYTHING).count, 0)
  received.add(batch(), [event('b')])
  assert.equal(received.find(EVERYTHING).count, 1)
})

it('drops the deduplication window with its receipt', () => {
  const received = new ReceivedEvents({ eventsMax: 1, bytesMax: 1_000 })
  received.add(batch(), [event('a')])
  received.add(batch(), [event('b')])
  const [again] = received.add(batch(), [event('a')])
  assert.equal(again?.deduplicated, false)
})

it('opens a new window 48 hours after the first receipt, regardless of copies', () => {
  const received = new ReceivedEvents({ eventsMax: 10, bytesMax: 1_000 })
  const copies = [0, 47, 47.99, 48, 95.99].map(
    hours => received.add(batch(hours), [event('a')])[0]?.deduplicated,
  )
  assert.deepEqual(copies, [false, true, true, false, true])
})

it('distinguishes pairs of name and ID with the same concatenation', () => {
  const received = new ReceivedEvents({ eventsMax: 10, bytesMax: 1_000 })
  received.add(batch(), [{ eventName: 'a', eventId: 'b c', start: 0 }])
  const [other] = received.add(batch(), [{ eventName: 'a b', eventId: 'c', start: 0 }])
  assert.equal(other?.deduplicated, false)
})

it('never deduplicates events without an event_id', () => {
  const received = new ReceivedEvents({ eventsMax: 10, bytesMax: 1_000 })
  const receipts = received.add(batch(), [event(null), event(null)])
  assert.deepEqual(
    receipts.map(receipt => receipt.deduplicated),
    [false, false],
  )
})

function batch(hours = 0): ReceivedBatch {
  return {
    dataset: '1',
    testEventCode: null,
    partnerAgent: null,
    requestId: 'A1',
    receivedAt: new Date(hours * HOUR_MS),
    bytes: Buffer.from('{}'),
  }
}

function event(eventId: string | null): ReceivedEvent {
  return { eventId, eventName: 'Purchase', start: 0 }
}
