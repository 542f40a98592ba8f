import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EventCountTally } from './event-counts.ts'

const DAY = { from: new Date('2026-11-20T00:00:00Z'), until: new Date('2026-11-21T00:00:00Z') }

function row(start_time: unknown, ...data: unknown[]) {
  return { start_time, aggregation: 'event', data }
}

function entry(value: unknown, count: unknown) {
  return { value, count }
}

const NOON = '2026-11-20T12:00:00+0000'

it('adds up hours and pages, whatever the offset in which they are told', () => {
  const tally = new EventCountTally(DAY)
  assert.ok(tally.add({ data: [row(NOON, entry('Lead', 2)), row('2026-11-20T13:00:00Z')] }))
  assert.ok(tally.add({ data: [row('2026-11-20T23:00:00+0900', entry('Lead', '3'))] }))
  assert.ok(tally.add({ data: [row('2026-11-20T16:00-08:00', entry('Lead', 40))] }))
  assert.deepEqual({ ...tally.counts().counts }, { Lead: 5 })
})

it('leaves out hours that are not of the day', () => {
  const tally = new EventCountTally(DAY)
  const hours = ['2026-11-19T23:00:00+0000', '2026-11-20T00:00:00+0000', '2026-11-21T00:00:00+0000']
  assert.ok(tally.add({ data: hours.map(hour => row(hour, entry('Lead', 1))) }))
  assert.deepEqual({ ...tally.counts().counts }, { Lead: 1 })
})

it('takes any name for a name, and makes it fit for the store', () => {
  const tally = new EventCountTally(DAY)
  const names = ['__proto__', 'constructor', 'a\0b', '\ud800', ' ']
  assert.ok(tally.add({ data: [row(NOON, ...names.map(name => entry(name, 1)))] }))
  const { counts } = tally.counts()
  assert.deepEqual(Object.keys(counts), ['__proto__', 'constructor', 'a\uFFFDb', '\uFFFD', ' '])
  assert.equal(counts.toString, undefined)
})

const WRONG: Record<string, unknown> = {
  'no list': undefined,
  'a row that is none': [null],
  'a row without a time': [row(undefined)],
  'a time that is none': [row('yesterday')],
  'a time without an offset': [row('2026-11-20T12:00:00')],
  'another aggregation': [{ ...row(NOON), aggregation: 'host' }],
  'a row without counts': [{ ...row(NOON), data: {} }],
  'a name that is none': [row(NOON, entry(7, 1))],
  'an empty name': [row(NOON, entry('', 1))],
  'a count that is missing': [row(NOON, entry('Lead', undefined))],
  'a negative count': [row(NOON, entry('Lead', -1))],
  'a negative count as text': [row(NOON, entry('Lead', '-1'))],
  'a part of an event': [row(NOON, entry('Lead', 1.5))],
  'a count that nobody has': [row(NOON, entry('Lead', 1_000_000_001))],
  'a count as large text': [row(NOON, entry('Lead', '9999999999'))],
  'an empty count': [row(NOON, entry('Lead', ''))],
  'a count in hexadecimal': [row(NOON, entry('Lead', '0x10'))],
  'a name twice in an hour': [row(NOON, entry('Lead', 1)), row(NOON, entry('Lead', 1))],
}

for (const [what, data] of Object.entries(WRONG)) {
  it(`refuses ${what}`, () => {
    assert.equal(new EventCountTally(DAY).add({ data }), false)
  })
}
