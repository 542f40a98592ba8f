import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { META_CONSENT_NEEDS } from '../platforms/meta/client.ts'
import { parseCapturedAt, toCredibleTime } from './consent-signal.ts'
import { readConsentObject } from './platform-consent.ts'
import { readConsent } from './read-consent.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')

describe('readConsentObject', () => {
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
      { version: '3', region: 'DE', user: { analytics: false } },
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
    assert.equal(readSignal({ ads: 'peut-être' }), 'unknown: words_unreadable in consent.ads')
    const mixed = { ad_storage: 'granted', ad_user_data: 'vielleicht' }
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

  it('reads objects of any depth, and lists, and names the full path', () => {
    const consent = { categoryPreferences: { Analytics: true, Advertising: false } }
    const denied = 'denied: words_denied in consent.categoryPreferences.Advertising'
    assert.equal(readSignal(consent), denied)
    assert.equal(
      readSignal({ purposes: { marketing: true } }),
      'granted: words_granted in consent.purposes.marketing',
    )
    assert.equal(
      readSignal({ purposes: { deep: { marketing: false } } }),
      'denied: words_denied in consent.purposes.deep.marketing',
    )
    assert.equal(
      readSignal({ purposes: ['marketing'] }),
      'granted: words_granted in consent.purposes',
    )
  })

  it('cannot grant where an object is too deep to be read, or has too many members', () => {
    let deep: Record<string, unknown> = { analytics: false }
    for (let level = 0; level < 12; level += 1) deep = { level: deep }
    assert.match(readSignal({ ads: true, deep }), /^unknown: words_unreadable/)
    const names = Array.from({ length: 2_001 }, (_, index) => [`member_${index}`, 1])
    const wide = { ads: true, ...Object.fromEntries(names) }
    assert.match(readSignal(wide), /^unknown: words_unreadable/)
  })

  it('denies on a denial of consent as a whole, and grants only where all is accepted', () => {
    assert.equal(readSignal({ status: 'denied' }), 'denied: words_denied in consent.status')
    assert.equal(readSignal({ granted: false }), 'denied: words_denied in consent.granted')
    assert.equal(readSignal({ status: 'granted' }), notMentioned)
    assert.equal(readSignal({ status: 'active' }), notMentioned)
    assert.equal(readSignal({ status: 'accept_all' }), 'granted: words_granted in consent.status')
    assert.equal(readSignal({ accepted_all: false }), notMentioned)
  })

  for (const [field, refused, allowed] of [
    ['do_not_sell', true, false],
    ['doNotSellOrShare', 'yes', 'no'],
    ['ads_opt_out', 1, 0],
    ['opt_out', 'opted_out', 'opted-in'],
    ['sale_of_data', 'denied', 'granted'],
    ['saleOfData', false, true],
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
      for (const value of ['maybe', 7, 'x'.repeat(99)]) {
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

  it('reads "deny" and "no" in an opt-out as none, and "denied" as unclear', () => {
    const unclear = 'unknown: words_unreadable in consent.opt_out'
    assert.equal(readSignal({ opt_out: 'denied', ads: true }), unclear)
    const optedOut = 'denied: opted_out in consent.opt_out'
    for (const value of ['granted', 'ACCEPT', 'active']) {
      assert.equal(readSignal({ opt_out: value, ads: true }), optedOut)
    }
    for (const value of ['DENY', 'no', 'inactive']) {
      assert.equal(
        readSignal({ opt_out: value, ads: true }),
        'granted: words_granted in consent.ads',
      )
    }
  })

  for (const name of ['facebook', 'Meta', 'Facebook Pixel', 'fbq']) {
    it(`reads "${name}" as consent to the platform`, () => {
      assert.equal(readSignal({ [name]: true }), `granted: words_granted in consent.${name}`)
      const denied = `denied: words_denied in consent.${name}`
      assert.equal(readSignal({ [name]: 'denied', ads: 'granted' }), denied)
    })
  }

  it('does not read consent of another platform as consent to this one, nor its refusal', () => {
    assert.equal(readSignal({ 'Google Ads': true, tiktok: true }), notMentioned)
    const beside = { 'Google Ads': false, 'TikTok Advertising': 'denied', ads: true }
    assert.equal(readSignal(beside), 'granted: words_granted in consent.ads')
  })

  it('reads the platform among vendors, as a value, an object or in a list', () => {
    const denied = (path: string) => `denied: words_denied in consent.${path}`
    assert.equal(readSignal({ vendors: { facebook: false }, ads: 1 }), denied('vendors.facebook'))
    const status = { vendors: { facebook: { id: 'facebook', enabled: false } } }
    assert.equal(readSignal(status), denied('vendors.facebook.enabled'))
    const lists = { ads: 1, vendors: { consent: { enabled: ['google'], disabled: ['facebook'] } } }
    assert.equal(readSignal(lists), denied('vendors.consent.disabled'))
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
    assert.equal(readSignal({ ads: 'perhaps', captured_at }), expired)
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

  it('reads members named like parts of Object.prototype as any other', () => {
    const consent = JSON.parse('{"__proto__": {"analytics": false}, "constructor": "denied"}')
    assert.equal(readSignal(consent), notMentioned)
    const refused = JSON.parse('{"ads": true, "toString": {"ads": false}}')
    assert.equal(readSignal(refused), 'denied: words_denied in consent.toString.ads')
  })
})

const silent = 'unknown: no_signal in consent'
const notMentioned = 'unknown: advertising_not_mentioned in consent'
const OPT_OUTS = /sell|opt_out|us_privacy|usp/i

function reading(consent: Record<string, unknown> | undefined) {
  const captured = parseCapturedAt(consent?.captured_at)
  return readConsentObject(readConsent({ consent }), {
    needs: META_CONSENT_NEEDS,
    captured,
    credibleTime: toCredibleTime(captured, RECEIVED_AT),
    receivedAt: RECEIVED_AT,
  })
}

function readSignal(consent: Record<string, unknown> | undefined): string {
  const { state, why, field } = reading(consent)
  return `${state}: ${why} in ${field}`
}
