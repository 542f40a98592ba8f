import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SeenEvents } from './seen-events.ts'

function nameOf(eventId: string) {
  return { dataset: '1', eventName: 'PageView', eventId, isTest: false }
}

it('remembers at least half of its limit and drops the oldest beyond it', () => {
  const sightings = new SeenEvents(10)
  const first = sightings.findOrCreate(nameOf('0'))
  for (let event = 1; event < 6; event++) sightings.findOrCreate(nameOf(`${event}`))
  assert.equal(sightings.findOrCreate(nameOf('0')), first)
  for (let event = 6; event < 11; event++) sightings.findOrCreate(nameOf(`${event}`))
  assert.equal(sightings.find(nameOf('0')), undefined)
  assert.ok(sightings.find(nameOf('5')))
})

it('distinguishes dataset, name, ID and kind', () => {
  const sightings = new SeenEvents(100)
  const names = [
    nameOf('a'),
    { ...nameOf('a'), dataset: '2' },
    { ...nameOf('a'), eventName: 'PageView a' },
    { ...nameOf('a a'), eventName: 'PageView' },
    { ...nameOf('a'), isTest: true },
  ]
  assert.equal(new Set(names.map(name => sightings.findOrCreate(name))).size, names.length)
})
