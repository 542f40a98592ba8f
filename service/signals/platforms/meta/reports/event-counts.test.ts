import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EventCountTally } from './report-answer.ts'

const DAY = { from: new Date('2026-11-20T00:00:00Z'), until: new Date('2026-11-21T00:00:00Z') }

function row(start_time: unknown, ...data: unknown[]) {
  return { start_time, aggregation: 'event', data }
}

function entry(value: unknown, count: unknown) {
  return { value, count }
}

const NOON = '2026-11-20T12:00:00+0000'

it('sums hours and pages in any UTC offset', () => {
  const tally = new EventCountTally(DAY)
  assert.ok(tally.add({ data: [row(NOON, entry('Lead', 2)), row('2026-11-20T13:00:00Z')] }))
  assert.ok(tally.add({ data: [row('2026-11-20T23:00:00+0900', entry('Lead', '3'))] }))
  assert.ok(tally.add({ data: [row('2026-11-20T16:00-08:00', entry('Lead', 40))] }))
  assert.deepEqual({ ...tally.counts().counts }, { Lead: 5 })
})

it('ignores hours of other days', () => {
  const tally = new EventCountTally(DAY)
  const hours = ['2026-11-19T23:00:00+0000', '2026-11-20T00:00:00+0000', '2026-11-21T00:00:00+0000']
  assert.ok(tally.add({ data: hours.map(hour => row(hour, entry('Lead', 1))) }))
  assert.deepEqual({ ...tally.counts().counts }, { Lead: 1 })
})

it('accepts any event name, in a form that the store accepts', () => {
  const tally = new EventCountTally(DAY)
  const names = ['__proto__', 'constructor', 'a\0b', '\ud800', ' ']
  assert.ok(tally.add({ data: [row(NOON, ...names.map(name => entry(name, 1)))] }))
  const { counts } = tally.counts()
  assert.deepEqual(Object.keys(counts), ['__proto__', 'constructor', 'a\uFFFDb', '\uFFFD', ' '])
  assert.equal(counts.toString, undefined)
})

const WRONG: Record<string, unknown> = {
  'a missing list': undefined,
  'null as a row': [null],
  'a row without a time': [row(undefined)],
  'an invalid time': [row('yesterday')],
  'a time without an offset': [row('2026-11-20T12:00:00')],
  'another aggregation': [{ ...row(NOON), aggregation: 'host' }],
  'a row without counts': [{ ...row(NOON), data: {} }],
  'a number as a name': [row(NOON, entry(7, 1))],
  'an empty name': [row(NOON, entry('', 1))],
  'a missing count': [row(NOON, entry('Lead', undefined))],
  'a negative count': [row(NOON, entry('Lead', -1))],
  'a negative count as a string': [row(NOON, entry('Lead', '-1'))],
  'a fractional count': [row(NOON, entry('Lead', 1.5))],
  'an implausible count': [row(NOON, entry('Lead', 1_000_000_001))],
  'an implausible count as a string': [row(NOON, entry('Lead', '9999999999'))],
  'an empty count': [row(NOON, entry('Lead', ''))],
  'a count in hexadecimal': [row(NOON, entry('Lead', '0x10'))],
  'a repeated name in one hour': [row(NOON, entry('Lead', 1)), row(NOON, entry('Lead', 1))],
}

for (const [what, data] of Object.entries(WRONG)) {
  it(`refuses ${what}`, () => {
    assert.equal(new EventCountTally(DAY).add({ data }), false)
  })
}
