import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAdvertisingConsent } from './advertising-consent.ts'
import { parseCapturedAt } from './consent-signal.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')

describe('readAdvertisingConsent', () => {
  it('has no signal for an absent object, an empty one, or one that says when and how', () => {
    for (const consent of [
      undefined,
      {},
      { captured_at: '2026-11-20T00:00:00Z' },
      { method: 'banner', source: 'web', version: 3, locale: 'de-DE', policy_version: '2026-05' },
      { policyUrl: 'https://shop.example/privacy', version: null },
    ]) {
      assert.equal(readSignal(consent), silent)
    }
  })

  it('reads an object about anything else as unknown, not as silence', () => {
    for (const consent of [
      { analytics_storage: 'denied', functional: true, email: 'denied' },
      { version: '3', region: 'DE', user: { ads: false } },
      { 'jane@example.com': true },
      { method: 'opt_out' },
      { source: { name: 'banner' } },
      { analytics: null },
    ]) {
      assert.equal(readSignal(consent), notMentioned)
    }
    const beside = { analytics: 'denied', groups: 'C0001:1', ads: 'granted' }
    assert.equal(readSignal(beside), 'granted: words_granted in consent.ads')
  })

  for (const name of ['ad_storage', 'adUserData', 'AD-PERSONALIZATION', 'ads', 'advertising']) {
    it(`reads "${name}" as granted and as denied`, () => {
      assert.equal(readSignal({ [name]: 'granted' }), `granted: words_granted in consent.${name}`)
      assert.equal(readSignal({ [name]: false }), `denied: words_denied in consent.${name}`)
    })
  }

  it('denies if one member denies', () => {
    const consent = { ad_storage: 'granted', ad_user_data: 'granted', marketing: 'no' }
    assert.equal(readSignal(consent), 'denied: words_denied in consent.marketing')
  })

  it('never reads an unknown word as a grant, alone or beside one', () => {
    assert.equal(readSignal({ ads: 'oui' }), 'unknown: words_unreadable in consent.ads')
    const mixed = { ad_storage: 'granted', ad_user_data: 'nein' }
    assert.equal(readSignal(mixed), 'unknown: words_unreadable in consent.ad_user_data')
  })

  it('denies beside an unknown word', () => {
    const consent = { ad_storage: 'pending', ad_user_data: 'denied' }
    assert.equal(readSignal(consent), 'denied: words_denied in consent.ad_user_data')
  })

  it('treats null as unset: no grant alone, no effect beside one, but not silence', () => {
    assert.equal(readSignal({ ads: null }), 'unknown: words_unreadable in consent.ads')
    const mixed = { ad_storage: null, ad_user_data: 'granted' }
    assert.equal(readSignal(mixed), 'granted: words_granted in consent.ad_user_data')
  })

  it('reads one level of purpose containers and names the full path', () => {
    const consent = { categoryPreferences: { Analytics: true, Advertising: false } }
    const denied = 'denied: words_denied in consent.categoryPreferences.Advertising'
    assert.equal(readSignal(consent), denied)
    assert.equal(
      readSignal({ purposes: { marketing: true } }),
      'granted: words_granted in consent.purposes.marketing',
    )
    assert.equal(readSignal({ purposes: { deep: { marketing: false } } }), notMentioned)
    assert.equal(readSignal({ purposes: ['marketing'] }), notMentioned)
  })

  it('denies on a denial of everything but does not grant on a grant of everything', () => {
    assert.equal(readSignal({ status: 'denied' }), 'denied: words_denied in consent.status')
    assert.equal(readSignal({ granted: false }), 'denied: words_denied in consent.granted')
    assert.equal(readSignal({ status: 'granted' }), notMentioned)
    assert.equal(readSignal({ status: 'active' }), notMentioned)
  })

  for (const [field, refused, allowed] of [
    ['do_not_sell', true, false],
    ['doNotSellOrShare', 'yes', 'no'],
    ['ads_opt_out', 1, 0],
    ['opt_out', 'opted_out', 'opted-in'],
    ['sale_of_data', 'denied', 'granted'],
    ['saleOfData', false, true],
    ['facebook', false, true],
    ['Meta', 'denied', 'granted'],
    ['Facebook Pixel', false, true],
    ['us_privacy', '1YYN', '1YNN'],
    ['usp_string', '1yyn', '1---'],
    ['gcs', 'G100', 'G111'],
  ] as const) {
    it(`reads "${field}" ${refused} as a denial beside a grant, and never as a grant`, () => {
      const why = field === 'gcs' || !OPT_OUTS.test(field) ? 'words_denied' : 'opted_out'
      const denied = `denied: ${why} in consent.${field}`
      assert.equal(readSignal({ [field]: refused, ads: 'granted' }), denied)
      assert.equal(readSignal({ [field]: refused }), denied)
      assert.equal(
        readSignal({ [field]: allowed }),
        `unknown: opt_out_not_made in consent.${field}`,
      )
      assert.equal(
        readSignal({ [field]: allowed, ads: 1 }),
        'granted: words_granted in consent.ads',
      )
    })

    it(`reads "${field}" with another value as unknown beside a grant, and null as no answer`, () => {
      const unreadable = `unknown: words_unreadable in consent.${field}`
      for (const value of ['maybe', 7, ['x'], 'x'.repeat(99)]) {
        assert.equal(readSignal({ [field]: value, ads: 'granted' }), unreadable)
      }
      for (const value of [null, '']) {
        assert.equal(
          readSignal({ [field]: value, ads: 1 }),
          'granted: words_granted in consent.ads',
        )
        assert.equal(readSignal({ [field]: value }), unreadable)
      }
    })
  }

  it('reads "granted" and "denied" in an opt-out as unclear', () => {
    for (const value of ['granted', 'denied']) {
      const consent = { opt_out: value, ads: true }
      assert.equal(readSignal(consent), 'unknown: words_unreadable in consent.opt_out')
    }
  })

  it('reads the platform among vendors, as a value, an object or in a list', () => {
    const denied = (path: string) => `denied: words_denied in consent.${path}`
    assert.equal(readSignal({ vendors: { facebook: false }, ads: 1 }), denied('vendors.facebook'))
    const status = { vendors: { facebook: { id: 'facebook', enabled: false } } }
    assert.equal(readSignal(status), denied('vendors.facebook'))
    const lists = { ads: 1, vendors: { consent: { enabled: ['google'], disabled: ['facebook'] } } }
    assert.equal(readSignal(lists), denied('vendors.consent'))
    assert.equal(readSignal({ purposes: { disabled: ['marketing'] } }), denied('purposes.disabled'))
    assert.equal(readSignal({ vendors: { google: false } }), notMentioned)
    const metadata = { meta: { banner: 'v3' }, ads: 1 }
    assert.equal(readSignal(metadata), 'granted: words_granted in consent.ads')
  })

  it('reads a value of Global Privacy Control that is neither on nor off as unknown', () => {
    const consent = { gpc: 'perhaps', ads: 'granted' }
    assert.equal(readSignal(consent), 'unknown: words_unreadable in consent.gpc')
    assert.equal(readSignal({ gpc: false }), 'unknown: opt_out_not_made in consent.gpc')
  })

  it('expires a grant after 395 days, never a denial; captured_at alone is no signal', () => {
    const captured_at = '2025-10-22T11:59:59Z'
    const expired = 'unknown: consent_expired in consent.captured_at'
    assert.equal(readSignal({ ads: true, captured_at }), expired)
    assert.equal(readSignal({ ads: 'oui', captured_at }), expired)
    assert.equal(readSignal({ ads: false, captured_at }), 'denied: words_denied in consent.ads')
    assert.equal(readSignal({ captured_at }), silent)
    const justInTime = { ads: true, captured_at: '2025-10-22T12:00:00Z' }
    assert.equal(readSignal(justInTime), 'granted: words_granted in consent.ads')
  })

  it('reads the words of any date and keeps only a credible date', () => {
    const dated = reading({ ads: true, captured_at: '2026-11-20T01:00:00+01:00' })
    assert.equal(dated.captured_at, '2026-11-20T00:00:00.000Z')
    for (const captured_at of ['soon', '2027-01-01T00:00:00Z', null]) {
      const { state, captured_at: time } = reading({ ads: true, captured_at })
      assert.deepEqual({ state, time }, { state: 'granted', time: null })
    }
  })

  it('ignores members named like parts of Object.prototype', () => {
    const consent = JSON.parse('{"__proto__": {"ads": false}, "constructor": "denied"}')
    assert.equal(readSignal(consent), notMentioned)
  })
})

const silent = 'unknown: no_signal in consent'
const notMentioned = 'unknown: advertising_not_mentioned in consent'
const OPT_OUTS = /sell|opt_out|us_privacy|usp/i

function reading(consent: Record<string, unknown> | undefined) {
  const captured = parseCapturedAt(consent?.captured_at)
  return readAdvertisingConsent(consent, { captured, receivedAt: RECEIVED_AT })
}

function readSignal(consent: Record<string, unknown> | undefined): string {
  const { state, why, field } = reading(consent)
  return `${state}: ${why} in ${field}`
}
