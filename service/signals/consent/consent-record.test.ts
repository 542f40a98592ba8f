import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { buildConsentRecord, isProvenance } from './consent-record.ts'

describe('consentRecord', () => {
  it('keeps booleans, null, consent words, times, labels, and the TC string unchanged', () => {
    const tcString = buildTcString()
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
    const record = buildConsentRecord(objects)
    assert.deepEqual(record, { ...objects, dropped: [], dropped_unnamed: 0 })
  })

  it('keeps coded signals in their known form, and nothing else under their names', () => {
    const objects = {
      consent: {
        do_not_sell: true,
        us_privacy: '1YYN',
        gpp: 'DBABLA~BVVqAAAAAABY.QA',
        vendors: { facebook: false },
      },
      consent_mode: { gcs: 'G100' },
      tcf: { 'euconsent-v2': buildTcString(), addtl_consent: '2~1.35~dv.9.21', gdprApplies: 1 },
    }
    assert.deepEqual(buildConsentRecord(objects), { ...objects, dropped: [], dropped_unnamed: 0 })
    const disguised = {
      consent: { us_privacy: '4915', gpp: 'DBABLA~jane_doe~1985', gppString: 'Djane' },
      consent_mode: { gcs: 'jane' },
      tcf: { 'euconsent-v2': 'Cjane', addtl_consent: '1~4915112345678' },
    }
    const record = buildConsentRecord(disguised)
    const { consent, consent_mode, tcf } = record
    assert.deepEqual({ consent, consent_mode, tcf }, { consent: {}, consent_mode: {}, tcf: {} })
    assert.equal(record.dropped.length, 6)
  })

  it('keeps a GPP object, and GPC and GPP strings beside the objects, as members of consent', () => {
    const gpp = { string: 'DBABLA~BVVqAAAAAABY.QA' }
    const body = { gpp: { ...gpp, sid: [7] }, 'Sec-GPC': '0', consent: { ads: true } }
    const { consent, dropped } = buildConsentRecord(body)
    assert.deepEqual(consent, { gpp, 'Sec-GPC': '0', ads: true })
    assert.deepEqual(dropped, ['consent.gpp.sid'])
    assert.deepEqual(buildConsentRecord({ gpp_string: gpp.string } as object).consent, {
      gpp_string: gpp.string,
    })
  })

  it('returns null for an absent object', () => {
    const { consent, consent_mode, tcf } = buildConsentRecord({ consent: {} })
    assert.deepEqual({ consent, consent_mode, tcf }, { consent: {}, consent_mode: null, tcf: null })
  })

  it('drops everything else and reports the paths', () => {
    const record = buildConsentRecord({
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

  it('keeps purpose containers one level deep, filtered the same way', () => {
    const record = buildConsentRecord({
      consent: { purposes: { ads: true, email: 'jane@example.com', deeper: { ads: true } } },
    })
    assert.deepEqual(record.consent, { purposes: { ads: true } })
    assert.deepEqual(record.dropped, ['consent.purposes.email', 'consent.purposes.deeper'])
  })

  it('drops names that may be identifiers and counts them', () => {
    const consent = {
      'jane@example.com': true,
      '4915112345678': true,
      'n49-151-12345678': true,
      a5f4dcc3b5aa765d61d8327: true,
      'Jane Doe': true,
      ['x'.repeat(41)]: true,
    }
    const record = buildConsentRecord({ consent })
    assert.deepEqual(record.consent, {})
    assert.deepEqual(record.dropped, [])
    assert.equal(record.dropped_unnamed, 6)
  })

  it('keeps an undecodable TC string of valid form, up to 8 KiB', () => {
    const undecodable =
      'COsbk4AOSbk4AnWAAAENAwCgAAAAAAAAAAYgACPAAAAA.TDKO4AAqAKAGQAyqAAA.YAAAAAAAAAA'
    assert.deepEqual(buildConsentRecord({ tcf: { string: undecodable } }).tcf, {
      string: undecodable,
    })
    const long = buildTcString().padEnd(8_193, 'A')
    assert.deepEqual(buildConsentRecord({ tcf: { string: long } }).tcf, {})
    assert.deepEqual(buildConsentRecord({ consent: { string: buildTcString() } }).consent, {})
  })

  it('keeps 64 members and 32 dropped names per object and counts the rest', () => {
    const members = Array.from({ length: 100 }, (_, at) => [`member_${at}`, true])
    const kept = buildConsentRecord({ consent: Object.fromEntries(members) })
    assert.equal(Object.keys(kept.consent ?? {}).length, 64)
    assert.equal(kept.dropped_unnamed, 36)
    const texts = members.map(([name]) => [name, 'free text'])
    const dropped = buildConsentRecord({ consent: Object.fromEntries(texts) })
    assert.equal(dropped.dropped.length, 32)
    assert.equal(dropped.dropped_unnamed, 68)
  })

  it('is not affected by members named like parts of Object.prototype', () => {
    const consent = JSON.parse('{"__proto__": {"ads": true}, "constructor": true, "ads": true}')
    const record = buildConsentRecord({ consent })
    assert.equal(Object.getPrototypeOf(record.consent), Object.prototype)
    assert.deepEqual(Object.keys(record.consent ?? {}), ['constructor', 'ads'])
    assert.deepEqual([record.dropped, record.dropped_unnamed], [['consent.__proto__'], 0])
  })

  it('never keeps an identifier, wherever it is in the objects', () => {
    fc.assert(
      fc.property(fc.jsonValue(), identifier, fc.constantFrom(...PLACES), (other, text, place) => {
        const objects = place(text, other)
        assert.doesNotMatch(JSON.stringify(buildConsentRecord(objects)), new RegExp(escaped(text)))
      }),
    )
  })
})

const identifier = fc.constantFrom(
  ...['jane@example.com', '+49 1511 2345678', '4915112345678', '203.0.113.195', '2001:db8::7'],
  ...['0b7e1c9a-3f52-4d7e-9a51-2f0c6b8d4e11', 'Jane Doe', 'fb.1.1700000000000.IwAR0abc'],
)

type Place = (text: string, other: unknown) => Parameters<typeof buildConsentRecord>[0]

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

describe('isProvenance', () => {
  for (const value of [
    '3.2.1',
    'onetrust',
    'US-CA',
    '2026-05-04',
    'privacy-2026-05-04',
    '123456',
    7,
  ]) {
    it(`keeps the label ${value}`, () => assert.equal(isProvenance('version', value), true))
  }

  const IDENTIFIERS: [value: unknown, what: string][] = [
    ['jane@example.com', 'a mail address'],
    ['4915112345678', 'a phone number'],
    ['555-123-4567', 'a phone number with dashes'],
    ['192.168.100.200', 'an IP address'],
    ['2001:db8::1', 'an IPv6 address'],
    ['1234567', 'seven digits'],
    ['2026-05-04-1234567', 'seven digits behind a day'],
    ['fb.1.1700000000000.IwAR0abc', 'a click id'],
    ['ab-cd-ef-ab-cd-ef-ab-cd', 'a run of hex digits with separators'],
    [4915112345678, 'a phone number as a number'],
    [52.520008, 'a coordinate'],
    ['5f4dcc3b5aa765d61d8327deb882cf99', 'a digest'],
    ['0b7e1c9a-3f52-4d7e-9a51-2f0c6b8d4e11', 'a UUID'],
    ['Jane Doe', 'a name with a space'],
    ['x'.repeat(65), 'a long text'],
    [true, 'a boolean, which is not a label'],
    [{}, 'an object'],
  ]
  for (const [value, what] of IDENTIFIERS) {
    it(`drops ${what}`, () => assert.equal(isProvenance('version', value), false))
  }

  it('recognizes six members in any spelling', () => {
    for (const name of ['version', 'method', 'source', 'policyVersion', 'banner_version', 'Region'])
      assert.equal(isProvenance(name, 'v1'), true)
    assert.equal(isProvenance('user', 'v1'), false)
  })
})
