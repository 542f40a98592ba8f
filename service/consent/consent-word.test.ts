import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readConsentWord } from './consent-word.ts'

describe('readConsentWord', () => {
  it('reads booleans, 1 and 0', () => {
    assert.deepEqual([true, 1].map(readConsentWord), ['granted', 'granted'])
    assert.deepEqual([false, 0].map(readConsentWord), ['denied', 'denied'])
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
    it(`reads "${yes}" as granted`, () => assert.equal(readConsentWord(yes), 'granted'))
  }
  for (const no of ['denied', 'Denied', 'NO', 'false', 'deny', 'rejected', 'opt_out', 'Opt Out']) {
    it(`reads "${no}" as denied`, () => assert.equal(readConsentWord(no), 'denied'))
  }
  it('reads the words of the Data Manager API, and its UNSPECIFIED as unknown', () => {
    assert.equal(readConsentWord('CONSENT_GRANTED'), 'granted')
    assert.equal(readConsentWord('CONSENT_DENIED'), 'denied')
    assert.equal(readConsentWord('CONSENT_STATUS_UNSPECIFIED'), 'unknown')
  })

  it('never reads silence, other languages, other numbers or other shapes as a word', () => {
    const values = [null, undefined, '', 'pending', 'oui', 2, -1, {}, [true], 'g'.repeat(10_000)]
    for (const value of values) assert.equal(readConsentWord(value), 'unknown')
  })

  it('does not read names of Object.prototype as words', () => {
    assert.equal(readConsentWord('constructor'), 'unknown')
    assert.equal(readConsentWord('__proto__'), 'unknown')
  })
})
