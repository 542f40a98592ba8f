import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { parseEventTime } from './validate-submission.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00.000Z')
const RECEIVED_SECONDS = RECEIVED_AT.getTime() / 1_000

it('defaults to the time of receipt', () => {
  assert.deepEqual(parseEventTime(undefined, RECEIVED_AT), { at: RECEIVED_AT })
})

it('parses Unix seconds', () => {
  assert.equal(isoOf(RECEIVED_SECONDS - 1), '2026-11-21T11:59:59.000Z')
  assert.equal(isoOf(0), '1970-01-01T00:00:00.000Z')
})

it('parses ISO 8601 with Z or an offset, with and without seconds and fractions', () => {
  for (const [text, iso] of [
    ['2026-11-21T10:00:00Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00:00+02:00', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T05:00:00-0530', '2026-11-21T10:30:00.000Z'],
    ['2026-11-21T10:00:00.5Z', '2026-11-21T10:00:00.500Z'],
    ['2026-11-21T10:00:00,25Z', '2026-11-21T10:00:00.250Z'],
    ['2026-11-21T10:00:00.123456789Z', '2026-11-21T10:00:00.123Z'],
    ['2024-02-29T23:59:59-12:00', '2024-03-01T11:59:59.000Z'],
    ['2026-11-22T01:30:00+14:00', '2026-11-21T11:30:00.000Z'],
  ] as const) {
    assert.equal(isoOf(text), iso, text)
  }
})

it('rejects incomplete times and days that do not exist', () => {
  for (const text of [
    ...['', 'yesterday', '2026-11-21', '2026-11-21T10:00:00', '2026-11-21 10:00:00Z'],
    ...['2026-11-21T10:00:00 Z', '2026-11-21t10:00:00z', '1795262400', '2026-W47-6T10:00:00Z'],
    ...['2026-02-30T10:00:00Z', '2025-02-29T10:00:00Z', '2026-04-31T00:00:00+02:00'],
    ...['2026-13-01T10:00:00Z', '2026-00-10T10:00:00Z', '2026-11-00T10:00:00Z'],
    ...['2026-11-21T25:00:00Z', '2026-11-21T10:60:00Z', '2026-11-21T10:00:60Z'],
    ...['2026-11-21T10:00:00+99:00', '+002026-11-21T10:00:00Z', '2026-11-21T10:00:00Z\n'],
    '2026-11-21T10:00:00.1234567890Z',
  ]) {
    assert.match(faultOf(text), /must be Unix seconds or ISO 8601 with an offset/, text)
  }
})

it('rejects numbers that look like milliseconds', () => {
  for (const milliseconds of [1_795_262_400_000, 100_000_000_000, Number.MAX_SAFE_INTEGER, 1e300]) {
    assert.match(faultOf(milliseconds), /looks like milliseconds; send Unix seconds/)
  }
  assert.match(faultOf(99_999_999_999), /more than 5 minutes in the future/)
})

it('rejects times before 1970', () => {
  for (const time of [-1, -1_795_262_400_000, '1969-12-31T23:59:59Z', '0001-01-01T00:00:00Z']) {
    assert.match(faultOf(time), /must not be before 1970/)
  }
})

it('accepts exactly five minutes in the future', () => {
  assert.equal(isoOf(RECEIVED_SECONDS + 300), '2026-11-21T12:05:00.000Z')
  assert.equal(isoOf('2026-11-21T12:05:00.000Z'), '2026-11-21T12:05:00.000Z')
  for (const ahead of [RECEIVED_SECONDS + 301, '2026-11-21T12:05:00.001Z']) {
    assert.match(faultOf(ahead), /must not be more than 5 minutes in the future/)
  }
})

it('parses every time since 1970 in every format', () => {
  const moment = fc.date({
    min: new Date(0),
    max: RECEIVED_AT,
    noInvalidDate: true,
  })
  const offset = fc.integer({ min: -14 * 60, max: 14 * 60 })
  fc.assert(
    fc.property(moment, offset, (at, minutes) => {
      assert.deepEqual(parseEventTime(at.toISOString(), RECEIVED_AT), { at })
      assert.deepEqual(parseEventTime(withOffset(at, minutes), RECEIVED_AT), { at })
      const seconds = Math.floor(at.getTime() / 1_000)
      assert.deepEqual(parseEventTime(seconds, RECEIVED_AT), { at: new Date(seconds * 1_000) })
    }),
  )
})

it('returns a valid time or an error for any number or text', () => {
  const near = fc.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?(Z|[+-]\d\d:?\d\d)$/)
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeInteger(), fc.string(), near), value => {
      const time = parseEventTime(value, RECEIVED_AT)
      if ('error' in time) return assert.match(time.error, /^The event_time field .+\.$/)
      assert.ok(time.at.getTime() >= 0)
      assert.ok(time.at.getTime() <= RECEIVED_AT.getTime() + 300_000)
    }),
    { numRuns: 1_000 },
  )
})

function isoOf(value: number | string): string {
  const time = parseEventTime(value, RECEIVED_AT)
  return 'at' in time ? time.at.toISOString() : time.error
}

function faultOf(value: number | string): string {
  const time = parseEventTime(value, RECEIVED_AT)
  return 'error' in time ? time.error : time.at.toISOString()
}

/** The same moment as a clock elsewhere shows it. */
function withOffset(at: Date, minutes: number): string {
  const local = new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, -1)
  const sign = minutes < 0 ? '-' : '+'
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `${local}${sign}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
}
