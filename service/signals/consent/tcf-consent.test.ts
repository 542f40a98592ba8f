import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { META_CONSENT_NEEDS } from '../platforms/meta/client.ts'
import { readConsent } from './read-consent.ts'
import { readTcfConsent } from './tcf-consent.ts'
import vectors from './vectors/tcf-vectors.json' with { type: 'json' }

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')
const RECENT = '2026-11-20T00:00:00Z'

/** The expected decision for each vector at that time. */
const EXPECTED = new Map([
  ['all_ads_purposes_granted_v2_3', 'granted: tc_ad_purposes_granted'],
  ['all_ads_purposes_granted_core_only_v2_2_shape', 'unknown: tc_disclosed_vendors_missing'],
  ['storage_only_p1', 'denied: tc_ad_purposes_refused'],
  ['reject_all', 'denied: tc_ad_purposes_refused'],
  ['personalisation_without_storage_p3_p4', 'denied: tc_ad_purposes_refused'],
  ['all_granted_but_18_months_old', 'unknown: consent_expired'],
  ['purposes_granted_no_vendor_consent', 'granted: tc_ad_purposes_granted'],
  ['invalid', 'unknown: tc_string_undecodable'],
])

describe('readTcfConsent', () => {
  for (const { name, tcString } of vectors) {
    it(`reads the vector "${name}" (${tcString.slice(0, 12)}) as ${EXPECTED.get(name)}`, () => {
      assert.equal(readSignal({ string: tcString }), EXPECTED.get(name))
    })
  }

  it('has no signal for an object without a string', () => {
    assert.equal(readSignal(undefined), 'unknown: no_signal')
    assert.equal(readSignal({}), 'unknown: no_signal')
    const captured_at = '2026-11-20T00:00:00Z'
    assert.equal(readSignal({ captured_at }), 'unknown: no_signal')
    assert.equal(readSignal({ captured_at, gdprApplies: false }), 'unknown: no_signal')
    const notApplied = { tcString: '', gdprApplies: false, cmpId: 10, eventStatus: 'tcloaded' }
    assert.equal(readSignal(notApplied), 'unknown: no_signal')
  })

  it('reads TCF data without a string as unknown, not as silence', () => {
    for (const tcf of [
      { gdprApplies: true },
      { gdprApplies: 1, captured_at: '2026-11-20T00:00:00Z' },
      { gdprApplies: true, cmpStatus: 'loaded' },
      { addtl_consent: '2~1.35~dv.9' },
    ]) {
      assert.equal(readSignal(tcf), 'unknown: tc_string_missing')
    }
  })

  it('refuses an empty map of consents, unless the GDPR does not apply', () => {
    const purpose = { consents: {}, legitimateInterests: {} }
    assert.equal(readSignal({ gdprApplies: true, purpose }), 'denied: tc_ad_purposes_refused')
    assert.equal(readSignal({ purpose, cmpStatus: 'loaded' }), 'denied: tc_ad_purposes_refused')
    assert.equal(readSignal({ purpose, gdprApplies: false }), 'unknown: no_signal')
  })

  it('reads the string under the names of TCData, cookie, mobile key and URL, in any case', () => {
    const refused = buildTcString({ purposes: [] })
    for (const name of ['euconsent-v2', 'TCString', 'IABTCF_TCString', 'gdpr_consent']) {
      const { state, field } = reading({ [name]: refused })
      assert.deepEqual({ state, field }, { state: 'denied', field: `tcf.${name}` })
    }
    const kept = { gdprApplies: false, tcString: refused }
    assert.equal(readSignal(kept), 'denied: tc_ad_purposes_refused')
  })

  it('requires the provider in an Additional Consent string only when the id is set', () => {
    const string = buildTcString()
    const read = (addtlConsent: unknown, additionalConsentProvider: number | undefined = 89) => {
      const tcf = { string, addtlConsent }
      const { state, why } = reading(tcf, additionalConsentProvider)
      return `${state}: ${why}`
    }
    const granted = 'granted: tc_ad_purposes_granted'
    const notConsented = 'denied: ac_provider_not_consented'
    for (const listed of ['1~89', '2~1.89.311~dv.9.21', '2~89~dv.', '', null]) {
      assert.equal(read(listed), granted)
    }
    for (const unlisted of ['1~', '1~1.890', '2~1.35~dv.89', '2~~dv.89']) {
      assert.equal(read(unlisted), notConsented)
      assert.equal(reading({ string, addtlConsent: unlisted }).state, 'granted')
    }
    for (const junk of ['3~89', '1~89.', '89', 89, ['89'], '1~4915112345678']) {
      assert.equal(read(junk), 'unknown: ac_string_undecodable')
    }
    const refused = { string: buildTcString({ purposes: [] }), addtlConsent: '1~89' }
    assert.equal(reading(refused, 89).why, 'tc_ad_purposes_refused')
  })

  it('reads an undecodable string as unknown, not as absent', () => {
    for (const string of ['', null, 42, ['C'], 'x'.repeat(9_000)]) {
      assert.equal(readSignal({ string }), 'unknown: tc_string_undecodable')
    }
  })

  it('reads a denial under the name that TCData uses, and names that member', () => {
    const { state, field } = reading({ tcString: buildTcString({ purposes: [] }) })
    assert.deepEqual({ state, field }, { state: 'denied', field: 'tcf.tcString' })
  })

  for (const missing of [1, 3, 4, 7]) {
    it(`denies when purpose ${missing} is not consented`, () => {
      const purposes = [1, 2, 3, 4, 7, 10].filter(purpose => purpose !== missing)
      assert.equal(readSignalOf({ purposes }), 'denied: tc_ad_purposes_refused')
    })
  }

  it('ignores legitimate interest', () => {
    const plan = { purposes: [1, 3, 4], legitimateInterests: [7] }
    assert.equal(readSignalOf(plan), 'denied: tc_ad_purposes_refused')
  })

  it('waives only purpose 1, and only if the string says that it was not asked', () => {
    const asked = { purposeOneTreatment: true, purposes: [3, 4, 7] }
    assert.equal(readSignalOf(asked), 'granted: tc_ad_purposes_granted')
    const refused = { purposeOneTreatment: true, purposes: [3, 4] }
    assert.equal(readSignalOf(refused), 'denied: tc_ad_purposes_refused')
  })

  it('grants nothing by a string of policy 3, but denies by its refusal', () => {
    assert.equal(readSignalOf({ policyVersion: 3 }), 'unknown: tc_policy_too_old')
    const refused = 'denied: tc_ad_purposes_refused'
    assert.equal(readSignalOf({ policyVersion: 3, purposes: [] }), refused)
    assert.equal(readSignalOf({ policyVersion: 2, purposes: [1, 3, 4] }), refused)
    assert.equal(readSignalOf({ policyVersion: 5 }), 'granted: tc_ad_purposes_granted')
    assert.equal(readSignalOf({ policyVersion: 4 }), 'granted: tc_ad_purposes_granted')
  })

  it('requires at least one disclosed vendor from 1 March 2026 on', () => {
    const before = { created: '2026-02-28', disclosed: null }
    assert.equal(readSignalOf(before), 'granted: tc_ad_purposes_granted')
    const after = { created: '2026-03-01', disclosed: null }
    assert.equal(readSignalOf(after), 'unknown: tc_disclosed_vendors_missing')
    const none = { created: '2026-03-01', disclosed: { idMax: 0 } }
    assert.equal(readSignalOf(none), 'unknown: tc_disclosed_vendors_missing')
    const refused = { created: '2026-03-01', disclosed: null, purposes: [1] }
    assert.equal(readSignalOf(refused), 'denied: tc_ad_purposes_refused')
    const ranged: [number, number][] = [[5, 9]]
    const some = { created: '2026-03-01', disclosed: { ranges: ranged } }
    assert.equal(readSignalOf(some), 'granted: tc_ad_purposes_granted')
  })

  it('expires a string 396 days after its day', () => {
    // 396 days before the receipt is 2025-10-21T12:00Z.
    assert.equal(readSignalOf({ created: '2025-10-22' }), 'granted: tc_ad_purposes_granted')
    assert.equal(readSignalOf({ created: '2025-10-21' }), 'unknown: consent_expired')
  })

  it('expires by captured_at after 395 days and never revives an old string', () => {
    const young = buildTcString()
    const old = buildTcString({ created: '2025-05-01' })
    const expired = 'unknown: consent_expired'
    assert.equal(readSignal({ string: young, captured_at: '2025-10-22T11:59:59Z' }), expired)
    assert.equal(readSignal({ string: old, captured_at: '2026-11-20T00:00:00Z' }), expired)
  })

  it('uses captured_at, then the day of the string', () => {
    const string = buildTcString({ created: '2026-11-02' })
    const dated = reading({ string, captured_at: '2026-11-02T15:00:00+01:00' })
    assert.equal(dated.captured_at, '2026-11-02T14:00:00.000Z')
    const undated = reading({ string, captured_at: 'noon' })
    assert.equal(undated.captured_at, '2026-11-02T00:00:00.000Z')
  })

  it('denies on a refusal of any age or date', () => {
    const refused = 'denied: tc_ad_purposes_refused'
    assert.equal(readSignalOf({ created: '2025-01-01', purposes: [1] }), refused)
    assert.equal(readSignalOf({ created: '2027-11-21', purposes: [] }), refused)
    const old = { string: buildTcString({ purposes: [] }), captured_at: '2025-01-01T00:00:00Z' }
    assert.equal(readSignal(old), refused)
  })

  it('grants nothing by a string from the future, but tolerates a day', () => {
    assert.equal(readSignalOf({ created: '2026-11-22' }), 'granted: tc_ad_purposes_granted')
    assert.equal(readSignalOf({ created: '2026-11-23' }), 'unknown: tc_created_in_future')
    const dated = { string: buildTcString({ created: '2027-11-21' }), captured_at: RECENT }
    assert.equal(readSignal(dated), 'unknown: tc_created_in_future')
  })

  it('reads strings in conflict as unknown, and as denied if one of them refuses', () => {
    const grants = buildTcString()
    const refuses = buildTcString({ purposes: [1] })
    const expired = buildTcString({ created: '2025-01-01' })
    for (const one of ['string', 'tc_string', 'consent_string']) {
      const both = { [one]: grants, tcString: refuses }
      assert.equal(readSignal(both), 'denied: tc_ad_purposes_refused')
      assert.equal(readSignal({ ...both, [one]: expired }), 'denied: tc_ad_purposes_refused')
      assert.equal(
        readSignal({ [one]: 'junk', tcString: refuses }),
        'denied: tc_ad_purposes_refused',
      )
      assert.equal(readSignal({ [one]: grants, tcString: expired }), 'unknown: tc_strings_conflict')
      assert.equal(readSignal({ [one]: 'junk', tcString: grants }), 'unknown: tc_strings_conflict')
      assert.equal(readSignal({ [one]: 42, tcString: grants }), 'unknown: tc_strings_conflict')
    }
  })

  it('reads equal strings as one, ignores blank ones, and dates two grants by the older', () => {
    const grants = buildTcString()
    const granted = 'granted: tc_ad_purposes_granted'
    assert.equal(readSignal({ string: grants, tcString: grants }), granted)
    assert.equal(readSignal({ string: '', tc_string: null, tcString: grants }), granted)
    const older = buildTcString({ created: '2026-10-01' })
    const { captured_at } = reading({ string: grants, tcString: older })
    assert.equal(captured_at, '2026-10-01T00:00:00.000Z')
  })
})

describe('decoded purposes', () => {
  const read = (tcf: Record<string, unknown>) => readSignal(tcf)
  const refused = 'denied: tc_ad_purposes_refused'
  const granted = 'granted: tc_ad_purposes_granted'

  it('are read as TCData, lists, bits and flags have them', () => {
    const all = { 1: true, 2: false, 3: true, 4: true, 7: true }
    assert.equal(read({ purpose: { consents: all } }), granted)
    assert.equal(read({ purpose: { consents: { ...all, 4: false } } }), refused)
    assert.equal(read({ purpose: { consents: { 1: true } } }), refused)
    assert.equal(read({ purposeConsents: [1, 3, 4, 7] }), granted)
    assert.equal(read({ purposeConsents: [1, 2] }), refused)
    assert.equal(read({ IABTCF_PurposeConsents: '1011001000' }), granted)
    assert.equal(read({ IABTCF_PurposeConsents: '1010001000' }), refused)
  })

  it('deny beside a string that grants, and ignore legitimate interests', () => {
    const string = buildTcString()
    const consents = { 1: true, 3: false, 4: true, 7: true }
    assert.equal(read({ string, purpose: { consents } }), refused)
    const legitimateInterests = { 1: false, 3: false, 4: false, 7: false }
    assert.equal(read({ string, purpose: { legitimateInterests } }), granted)
  })
})

function readSignal(tcf: Record<string, unknown> | undefined): string {
  const { state, why } = reading(tcf)
  return `${state}: ${why}`
}

function readSignalOf(plan: Parameters<typeof buildTcString>[0]): string {
  return readSignal({ string: buildTcString(plan) })
}

function reading(tcf: Record<string, unknown> | undefined, additionalConsentProvider?: number) {
  return readTcfConsent(readConsent({ tcf }), {
    needs: META_CONSENT_NEEDS,
    ownCaptured: tcf?.captured_at,
    receivedAt: RECEIVED_AT,
    settings: { additionalConsentProvider },
  })
}
