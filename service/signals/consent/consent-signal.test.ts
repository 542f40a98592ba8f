import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseConsentValue } from './consent-signal.ts'

describe('readConsentWord', () => {
  it('parses booleans, 1, and 0', () => {
    assert.deepEqual([true, 1].map(parseConsentValue), ['granted', 'granted'])
    assert.deepEqual([false, 0].map(parseConsentValue), ['denied', 'denied'])
  })

  for (const yes of [
    'granted',
    'GRANTED',
    'Yes',
    'true',
    'allow',
    'Accepted',
    'opt_in',
    'opt-in',
  ]) {
    it(`parses "${yes}" as granted`, () => assert.equal(parseConsentValue(yes), 'granted'))
  }
  for (const no of ['denied', 'Denied', 'NO', 'false', 'deny', 'rejected', 'opt_out', 'Opt Out']) {
    it(`parses "${no}" as denied`, () => assert.equal(parseConsentValue(no), 'denied'))
  }
  it('parses the words of the Data Manager API, and UNSPECIFIED as unknown', () => {
    assert.equal(parseConsentValue('CONSENT_GRANTED'), 'granted')
    assert.equal(parseConsentValue('CONSENT_DENIED'), 'denied')
    assert.equal(parseConsentValue('CONSENT_STATUS_UNSPECIFIED'), 'unknown')
  })

  it('parses empty values, other languages, other numbers, and other types as unknown', () => {
    const values = [null, undefined, '', 'pending', 'oui', 2, -1, {}, [true], 'g'.repeat(10_000)]
    for (const value of values) assert.equal(parseConsentValue(value), 'unknown')
  })

  it('does not parse names of Object.prototype as words', () => {
    assert.equal(parseConsentValue('constructor'), 'unknown')
    assert.equal(parseConsentValue('__proto__'), 'unknown')
  })
})
