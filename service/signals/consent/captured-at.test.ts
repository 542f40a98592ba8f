import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  buildCaptureWarnings,
  type ConsentContext,
  parseCapturedAt,
  toCredibleTime,
} from './consent-signal.ts'

const VALID: [text: string, utc: string][] = [
  ['2026-05-04T12:30:00Z', '2026-05-04T12:30:00.000Z'],
  ['2026-05-04T12:30:00.1Z', '2026-05-04T12:30:00.100Z'],
  ['2026-05-04T12:30:00.123456Z', '2026-05-04T12:30:00.123Z'],
  ['2026-05-04T12:30:00+02:00', '2026-05-04T10:30:00.000Z'],
  ['2026-05-04T12:30:00-05:30', '2026-05-04T18:00:00.000Z'],
  ['2026-05-04T12:30:00-00:00', '2026-05-04T12:30:00.000Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ['2000-02-29T23:59:59+23:59', '2000-02-29T00:00:59.000Z'],
]

const INVALID: [text: unknown, why: string][] = [
  ['2026-02-30T00:00:00Z', 'a day that the month does not have'],
  ['2026-02-29T00:00:00Z', '29 February outside a leap year'],
  ['1900-02-29T00:00:00Z', '29 February of a century year'],
  ['2026-04-31T00:00:00Z', '31 April'],
  ['2026-13-01T00:00:00Z', 'month 13'],
  ['2026-00-01T00:00:00Z', 'month 0'],
  ['2026-01-00T00:00:00Z', 'day 0'],
  ['2026-05-04T24:00:00Z', 'hour 24'],
  ['2026-05-04T12:60:00Z', 'minute 60'],
  ['2016-12-31T23:59:60Z', 'a leap second'],
  ['2026-05-04T12:30:00', 'no offset'],
  ['2026-05-04T12:30:00+0200', 'an offset without a colon'],
  ['2026-05-04T12:30:00+24:00', 'an offset of 24 hours'],
  ['2026-05-04T12:30:00+02:60', 'an offset of 60 minutes'],
  ['2026-05-04T12:30:00.Z', 'a fraction without digits'],
  ['2026-05-04T12:30:00.1234567Z', 'a fraction of 7 digits'],
  ['2026-05-04t12:30:00Z', 'a small t'],
  ['2026-05-04T12:30:00z', 'a small z'],
  ['2026-05-04 12:30:00Z', 'a space for the T'],
  ['2026-05-04T12:30Z', 'no seconds'],
  ['2026-05-04', 'a day alone'],
  ['+002026-05-04T12:30:00Z', 'a long year'],
  ['2026-05-04T12:30:00Z\n', 'a line break at the end'],
  [' 2026-05-04T12:30:00Z', 'a space at the start'],
  ['٢٠٢٦-05-04T12:30:00Z', 'digits of another script'],
  ['', 'the empty text'],
  [1_777_897_800, 'Unix seconds'],
  [true, 'a boolean'],
  [{}, 'an object'],
]

describe('readCapturedAt', () => {
  for (const [text, utc] of VALID) {
    it(`parses ${text}`, () => {
      const captured = parseCapturedAt(text)
      assert.ok(captured instanceof Date)
      assert.equal(captured.toISOString(), utc)
    })
  }

  for (const [value, why] of INVALID) {
    it(`rejects ${why}`, () => assert.equal(parseCapturedAt(value), 'invalid'))
  }

  it('reports null and absence as missing', () => {
    assert.equal(parseCapturedAt(undefined), 'missing')
    assert.equal(parseCapturedAt(null), 'missing')
  })
})

describe('credibleTime', () => {
  const receivedAt = new Date('2026-11-21T12:00:00Z')

  it('accepts a time up to 5 minutes after the receipt', () => {
    const captured = new Date('2026-11-21T12:05:00Z')
    assert.equal(toCredibleTime(captured, receivedAt), '2026-11-21T12:05:00.000Z')
  })

  it('discards a time further in the future, which would override every withdrawal', () => {
    assert.equal(toCredibleTime(new Date('2026-11-21T12:05:00.001Z'), receivedAt), null)
  })

  it('returns null for a missing or invalid time', () => {
    assert.equal(toCredibleTime('missing', receivedAt), null)
    assert.equal(toCredibleTime('invalid', receivedAt), null)
  })
})

const RECEIVED_AT = '2026-11-21T12:00:00Z'

describe('captureWarnings', () => {
  it('returns no warning for consent captured minutes before the event', () => {
    assert.deepEqual(messages('2026-11-21T11:50:00Z'), [])
  })

  it('always uses the same code and field', () => {
    const moment = momentOf({ eventTime: '2026-01-01T00:00:00Z' })
    const values = [null, 'yesterday', '2026-11-22T00:00:00Z', '2026-03-01T00:00:00Z']
    const warnings = values.flatMap(value => buildCaptureWarnings(parseCapturedAt(value), moment))
    assert.equal(warnings.length, 5)
    for (const { code, field } of warnings) {
      assert.equal(code, 'consent_captured_at_invalid')
      assert.equal(field, 'consent.captured_at')
    }
  })

  it('warns about a missing time only for events with identity', () => {
    assert.match(messages(undefined, { identityPresent: true }).join(), /is missing/)
    assert.match(messages(null, { identityPresent: true }).join(), /is missing/)
    assert.deepEqual(messages(undefined, { identityPresent: false }), [])
  })

  it('warns about a time without an offset, with or without identity', () => {
    const text = '2026-11-21T11:50:00'
    assert.match(messages(text, { identityPresent: true }).join(), /not an RFC 3339/)
    assert.match(messages(text, { identityPresent: false }).join(), /not an RFC 3339/)
  })

  it('warns once about a time more than 5 minutes in the future', () => {
    assert.deepEqual(messages('2026-11-21T12:05:00Z'), [])
    const late = messages('2026-11-21T12:05:00.001Z')
    assert.equal(late.length, 1)
    assert.match(late.join(), /in the future/)
  })

  it('warns about a time more than 5 minutes after the event', () => {
    const eventTime = '2026-11-21T10:00:00Z'
    assert.deepEqual(messages('2026-11-21T10:05:00Z', { eventTime }), [])
    assert.match(messages('2026-11-21T10:05:01Z', { eventTime }).join(), /later than the event/)
  })

  it('warns about a time more than 180 days old', () => {
    assert.deepEqual(messages('2026-05-25T12:00:00Z'), [])
    assert.match(messages('2026-05-25T11:59:59Z').join(), /older than 180 days/)
  })

  it('returns both warnings for old consent captured after an even older event', () => {
    const both = messages('2026-03-01T00:00:00Z', { eventTime: '2026-02-01T00:00:00Z' })
    assert.equal(both.length, 2)
  })

  it('never repeats the submitted value', () => {
    assert.doesNotMatch(messages('jane@example.com').join(), /jane/)
  })
})

interface Given {
  eventTime?: string
  identityPresent?: boolean
}

function messages(value: unknown, given: Given = {}): string[] {
  return buildCaptureWarnings(parseCapturedAt(value), momentOf(given)).map(({ message }) => message)
}

function momentOf({ eventTime = RECEIVED_AT, identityPresent = true }: Given): ConsentContext {
  return {
    receivedAt: new Date(RECEIVED_AT),
    eventTime: new Date(eventTime),
    identityPresent,
  }
}
