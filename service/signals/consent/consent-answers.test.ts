import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAnswer } from './consent-answers.ts'

const WORDS = {
  yes: `granted GRANTED Yes true allow Accepted opt_in opt-in on 1 y authorized active enabled in
    CONSENT_GRANTED acceptAll accept_all allConsented oui ja sí sim да はい not_denied not_opted_out`,
  no: `denied Denied NO false deny rejected opt_out opted-out out off 0 -1 n revoked withdrawn
    disabled inactive restricted CONSENT_DENIED rejectedAll onDenyAllVendors not_granted non nein
    нет いいえ refusé abgelehnt none never no_consent`,
  unset: `pending unknown unset notDetermined CONSENT_STATUS_UNSPECIFIED not_set u`,
  unclear: `perhaps dismissed implied marketing 2 G100 2026-11-20 yes/no`,
} as const

describe('readAnswer', () => {
  for (const [answer, words] of Object.entries(WORDS)) {
    for (const word of words.split(/\s+/)) {
      it(`reads "${word}" as ${answer}`, () => assert.equal(readAnswer(word).answer, answer))
    }
  }

  it('reads booleans, 1, 0 and -1, and nothing else of other types', () => {
    assert.deepEqual(
      [true, 1, false, 0, -1].map(value => readAnswer(value).answer),
      ['yes', 'yes', 'no', 'no', 'no'],
    )
    for (const value of [null, undefined, '', '  ']) assert.equal(readAnswer(value).answer, 'unset')
    for (const value of [2, 0.5, {}, [true], 'g'.repeat(10_000)]) {
      assert.equal(readAnswer(value).answer, 'unclear')
    }
  })

  it('does not read names of Object.prototype as words', () => {
    assert.equal(readAnswer('constructor').answer, 'unclear')
    assert.equal(readAnswer('__proto__').answer, 'unclear')
  })

  it('knows an answer about everything, a refusal in words, and a statement about an opt-out', () => {
    assert.deepEqual(
      ['rejectedAll', 'acceptAll', 'denied'].map(text => readAnswer(text).isAboutAll),
      [true, true, false],
    )
    assert.deepEqual(
      ['rejected', 'no', 'off', 'no_consent'].map(text => readAnswer(text).isRefusal),
      [true, false, false, true],
    )
    assert.deepEqual(
      ['opted_out', 'opted_in', 'denied'].map(text => readAnswer(text).isOptStatement),
      [true, true, false],
    )
  })
})
