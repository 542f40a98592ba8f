import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { consentRecord } from './consent-record.ts'
import { tcStringForTests } from './tc-string-for-tests.ts'

describe('consentRecord', () => {
  it('keeps booleans, null, consent words, times, labels and the TC string as they came', () => {
    const tcString = tcStringForTests()
    const objects = {
      consent: {
        ad_user_data: 'GRANTED',
        analytics: false,
        ads: null,
        captured_at: '2026-11-20T08:00:00+01:00',
        policy_version: '2026-05-04',
        purposes: { marketing: 1 },
      },
      consent_mode: { ad_storage: 'denied' },
      tcf: { string: tcString, captured_at: '2026-11-20T08:00:00Z', gdprApplies: true },
    }
    const record = consentRecord(objects)
    assert.deepEqual(record, { ...objects, dropped: [], dropped_unnamed: 0 })
  })

  it('answers null for an object that the event came without', () => {
    const { consent, consent_mode, tcf } = consentRecord({ consent: {} })
    assert.deepEqual({ consent, consent_mode, tcf }, { consent: {}, consent_mode: null, tcf: null })
  })

  it('drops everything else and says what, by its path', () => {
    const record = consentRecord({
      consent: { email: 'jane@example.com', ads: true, note: 'Jane said yes', list: [true] },
      consent_mode: { wait_for_update: 500 },
      tcf: { tcString: 'jane_doe_1985', captured_at: 'yesterday' },
    })
    assert.deepEqual(record, {
      consent: { ads: true },
      consent_mode: {},
      tcf: {},
      dropped: [
        ...['consent.email', 'consent.note', 'consent.list', 'consent_mode.wait_for_update'],
        ...['tcf.tcString', 'tcf.captured_at'],
      ],
      dropped_unnamed: 0,
    })
  })

  it('keeps a purpose container one level deep, cleaned like the rest', () => {
    const record = consentRecord({
      consent: { purposes: { ads: true, email: 'jane@example.com', deeper: { ads: true } } },
    })
    assert.deepEqual(record.consent, { purposes: { ads: true } })
    assert.deepEqual(record.dropped, ['consent.purposes.email', 'consent.purposes.deeper'])
  })

  it('never keeps a name that may be an identifier itself, and counts it', () => {
    const consent = {
      'jane@example.com': true,
      '4915112345678': true,
      'n49-151-12345678': true,
      a5f4dcc3b5aa765d61d8327: true,
      'Jane Doe': true,
      ['x'.repeat(41)]: true,
    }
    const record = consentRecord({ consent })
    assert.deepEqual(record.consent, {})
    assert.deepEqual(record.dropped, [])
    assert.equal(record.dropped_unnamed, 6)
  })

  it('keeps a TC string that does not decode, if it has the form of one, up to 8 KiB', () => {
    const undecodable =
      'COsbk4AOSbk4AnWAAAENAwCgAAAAAAAAAAYgACPAAAAA.TDKO4AAqAKAGQAyqAAA.YAAAAAAAAAA'
    assert.deepEqual(consentRecord({ tcf: { string: undecodable } }).tcf, { string: undecodable })
    const long = tcStringForTests().padEnd(8_193, 'A')
    assert.deepEqual(consentRecord({ tcf: { string: long } }).tcf, {})
    assert.deepEqual(consentRecord({ consent: { string: tcStringForTests() } }).consent, {})
  })

  it('keeps 64 members of an object and 32 names of what it drops, and counts the rest', () => {
    const members = Array.from({ length: 100 }, (_, at) => [`member_${at}`, true])
    const kept = consentRecord({ consent: Object.fromEntries(members) })
    assert.equal(Object.keys(kept.consent ?? {}).length, 64)
    assert.equal(kept.dropped_unnamed, 36)
    const texts = members.map(([name]) => [name, 'free text'])
    const dropped = consentRecord({ consent: Object.fromEntries(texts) })
    assert.equal(dropped.dropped.length, 32)
    assert.equal(dropped.dropped_unnamed, 68)
  })

  it('is not changed by members named like parts of Object.prototype', () => {
    const consent = JSON.parse('{"__proto__": {"ads": true}, "constructor": true, "ads": true}')
    const record = consentRecord({ consent })
    assert.equal(Object.getPrototypeOf(record.consent), Object.prototype)
    assert.deepEqual(Object.keys(record.consent ?? {}), ['constructor', 'ads'])
    assert.equal(record.dropped_unnamed, 1)
  })

  it('never lets an identifier through, wherever in the objects it stands', () => {
    fc.assert(
      fc.property(fc.jsonValue(), identifier, fc.constantFrom(...PLACES), (other, text, place) => {
        const objects = place(text, other)
        assert.doesNotMatch(JSON.stringify(consentRecord(objects)), new RegExp(escaped(text)))
      }),
    )
  })
})

const identifier = fc.constantFrom(
  ...['jane@example.com', '+49 1511 2345678', '4915112345678', '203.0.113.195', '2001:db8::7'],
  ...['0b7e1c9a-3f52-4d7e-9a51-2f0c6b8d4e11', 'Jane Doe', 'fb.1.1700000000000.IwAR0abc'],
)

type Place = (text: string, other: unknown) => Parameters<typeof consentRecord>[0]

const PLACES: Place[] = [
  (text, other) => ({ consent: { ad_user_data: text, other } }),
  (text, other) => ({ consent: { [text]: true, other } }),
  (text, other) => ({ consent: { version: text, other } }),
  (text, other) => ({ consent: { captured_at: text, other } }),
  (text, other) => ({ consent: { purposes: { marketing: text, [text]: other } } }),
  (text, other) => ({ consent_mode: { ad_storage: [text], other } }),
  (text, other) => ({ tcf: { string: text, other } }),
  (text, other) => ({ tcf: { other: { string: text, other } } }),
]

function escaped(text: string): string {
  return text.replace(/[.+]/g, '\\$&')
}
