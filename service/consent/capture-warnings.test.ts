import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { captureWarnings } from './capture-warnings.ts'
import { readCapturedAt } from './captured-at.ts'
import type { ConsentMoment } from './consent-moment.ts'

const RECEIVED_AT = '2026-11-21T12:00:00Z'

describe('captureWarnings', () => {
  it('is silent about a consent captured before the event, minutes ago', () => {
    assert.deepEqual(messages('2026-11-21T11:50:00Z'), [])
  })

  it('always carries the one code and the one field', () => {
    const moment = momentOf({ eventTime: '2026-01-01T00:00:00Z' })
    const values = [null, 'yesterday', '2026-11-22T00:00:00Z', '2026-03-01T00:00:00Z']
    const warnings = values.flatMap(value => captureWarnings(readCapturedAt(value), moment))
    assert.equal(warnings.length, 5)
    for (const { code, field } of warnings) {
      assert.equal(code, 'consent_captured_at_invalid')
      assert.equal(field, 'consent.captured_at')
    }
  })

  it('warns of a missing time only when the event carries identity', () => {
    assert.match(messages(undefined, { identityPresent: true }).join(), /is missing/)
    assert.match(messages(null, { identityPresent: true }).join(), /is missing/)
    assert.deepEqual(messages(undefined, { identityPresent: false }), [])
  })

  it('warns of a time without an offset, with identity or without', () => {
    const text = '2026-11-21T11:50:00'
    assert.match(messages(text, { identityPresent: true }).join(), /not an RFC 3339/)
    assert.match(messages(text, { identityPresent: false }).join(), /not an RFC 3339/)
  })

  it('tolerates 5 minutes into the future and warns after them, once', () => {
    assert.deepEqual(messages('2026-11-21T12:05:00Z'), [])
    const late = messages('2026-11-21T12:05:00.001Z')
    assert.equal(late.length, 1)
    assert.match(late.join(), /in the future/)
  })

  it('tolerates 5 minutes after the event and warns after them', () => {
    const eventTime = '2026-11-21T10:00:00Z'
    assert.deepEqual(messages('2026-11-21T10:05:00Z', { eventTime }), [])
    assert.match(messages('2026-11-21T10:05:01Z', { eventTime }).join(), /later than the event/)
  })

  it('takes 180 days as they are and warns of a second more', () => {
    assert.deepEqual(messages('2026-05-25T12:00:00Z'), [])
    assert.match(messages('2026-05-25T11:59:59Z').join(), /older than 180 days/)
  })

  it('says both when an old consent is later than an even older event', () => {
    const both = messages('2026-03-01T00:00:00Z', { eventTime: '2026-02-01T00:00:00Z' })
    assert.equal(both.length, 2)
  })

  it('never repeats what the caller sent', () => {
    assert.doesNotMatch(messages('jane@example.com').join(), /jane/)
  })
})

interface Given {
  eventTime?: string
  identityPresent?: boolean
}

function messages(value: unknown, given: Given = {}): string[] {
  return captureWarnings(readCapturedAt(value), momentOf(given)).map(({ message }) => message)
}

function momentOf({ eventTime = RECEIVED_AT, identityPresent = true }: Given): ConsentMoment {
  return { receivedAt: new Date(RECEIVED_AT), eventTime: new Date(eventTime), identityPresent }
}
