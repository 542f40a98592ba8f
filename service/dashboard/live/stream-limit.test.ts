import assert from 'node:assert/strict'
import { it } from 'node:test'
import { allocateStreamSlots, StreamLimit, type StreamOwner } from './stream-limit.ts'

/** A person alone in a workspace and at an address. */
const stranger = (id: number, rest: Partial<StreamOwner> = {}): StreamOwner => ({
  userId: id,
  workspaceId: id,
  address: `192.0.2.${id}`,
  ...rest,
})

/** How many streams each of these owners opens before the first refusal, and the refusal. */
function takeAll(limit: StreamLimit, owners: readonly StreamOwner[]) {
  for (const [count, owner] of owners.entries()) {
    const slot = limit.tryTake(owner)
    if (typeof slot === 'string') return { count, refusal: slot }
  }
  return { count: owners.length, refusal: null }
}

function repeat(count: number, ownerOf: (at: number) => StreamOwner): StreamOwner[] {
  return Array.from({ length: count }, (_, at) => ownerOf(at))
}

it('lets no stranger take more than a share of the streams', () => {
  const ofPerson = takeAll(
    new StreamLimit(),
    repeat(200, () => stranger(1)),
  )
  assert.deepEqual(ofPerson, { count: 10, refusal: 'user' })
  // One person with many workspaces, and from many addresses.
  const spread = repeat(200, at => ({ ...stranger(at), userId: 1 }))
  assert.deepEqual(takeAll(new StreamLimit(), spread), { count: 10, refusal: 'user' })
  const ofWorkspace = repeat(200, at => ({ ...stranger(at), workspaceId: 1 }))
  assert.deepEqual(takeAll(new StreamLimit(), ofWorkspace), { count: 50, refusal: 'workspace' })
  const ofAddress = repeat(200, at => ({ ...stranger(at), address: '192.0.2.1' }))
  assert.deepEqual(takeAll(new StreamLimit(), ofAddress), { count: 40, refusal: 'address' })
})

it('keeps places for others while one person has a full share', () => {
  const limit = new StreamLimit()
  takeAll(
    limit,
    repeat(10, () => stranger(1)),
  )
  assert.equal(limit.tryTake(stranger(1)), 'user')
  assert.equal(typeof limit.tryTake(stranger(2)), 'object')
})

it('counts the streams of all HTTP workers of a process', () => {
  const memory = allocateStreamSlots()
  const first = new StreamLimit({ memory, index: 0 })
  const second = new StreamLimit({ memory, index: 1 })
  assert.equal(
    takeAll(
      first,
      repeat(5, () => stranger(1)),
    ).refusal,
    null,
  )
  assert.deepEqual(
    takeAll(
      second,
      repeat(6, () => stranger(1)),
    ),
    { count: 5, refusal: 'user' },
  )
  assert.equal(
    takeAll(
      first,
      repeat(190, at => stranger(at + 2)),
    ).refusal,
    null,
  )
  assert.equal(second.tryTake(stranger(250)), 'process')
  const restarted = new StreamLimit({ memory, index: 0 })
  const slot = restarted.tryTake(stranger(250))
  assert.ok(typeof slot === 'object', 'the streams of the worker before it are gone')
  assert.equal(typeof second.tryTake(stranger(1)), 'object')
  slot.release()
})

it('frees a place once it is released', () => {
  const limit = new StreamLimit()
  const slots = repeat(10, () => stranger(1)).map(owner => limit.tryTake(owner))
  assert.equal(limit.tryTake(stranger(1)), 'user')
  const [slot] = slots
  assert.ok(typeof slot === 'object')
  slot.release()
  assert.equal(typeof limit.tryTake(stranger(1)), 'object')
  assert.equal(limit.tryTake(stranger(1)), 'user')
})
