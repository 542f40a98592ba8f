import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseConsentValue } from './consent-signal.ts'

describe('readConsentWord', () => {
  it('reads booleans, 1 and 0', () => {
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
    it(`reads "${yes}" as granted`, () => assert.equal(parseConsentValue(yes), 'granted'))
  }
  for (const no of ['denied', 'Denied', 'NO', 'false', 'deny', 'rejected', 'opt_out', 'Opt Out']) {
    it(`reads "${no}" as denied`, () => assert.equal(parseConsentValue(no), 'denied'))
  }
  it('reads the words of the Data Manager API, and its UNSPECIFIED as unknown', () => {
    assert.equal(parseConsentValue('CONSENT_GRANTED'), 'granted')
    assert.equal(parseConsentValue('CONSENT_DENIED'), 'denied')
    assert.equal(parseConsentValue('CONSENT_STATUS_UNSPECIFIED'), 'unknown')
  })

  it('never reads silence, other languages, other numbers or other shapes as a word', () => {
    const values = [null, undefined, '', 'pending', 'oui', 2, -1, {}, [true], 'g'.repeat(10_000)]
    for (const value of values) assert.equal(parseConsentValue(value), 'unknown')
  })

  it('does not read names of Object.prototype as words', () => {
    assert.equal(parseConsentValue('constructor'), 'unknown')
    assert.equal(parseConsentValue('__proto__'), 'unknown')
  })
})
