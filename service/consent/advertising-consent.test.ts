import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAdvertisingConsent } from './advertising-consent.ts'
import { parseCapturedAt } from './consent-signal.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')

describe('readAdvertisingConsent', () => {
  it('has no signal for an absent or empty object or other purposes', () => {
    for (const consent of [
      undefined,
      {},
      { captured_at: '2026-11-20T00:00:00Z' },
      { analytics_storage: 'denied', functional: true, email: 'denied' },
      { version: '3', region: 'DE', user: { ads: false } },
    ]) {
      assert.equal(verdict(consent), 'unknown: no_signal in consent')
    }
  })

  for (const name of ['ad_storage', 'adUserData', 'AD-PERSONALIZATION', 'ads', 'advertising']) {
    it(`reads "${name}" as granted and as denied`, () => {
      assert.equal(verdict({ [name]: 'granted' }), `granted: words_granted in consent.${name}`)
      assert.equal(verdict({ [name]: false }), `denied: words_denied in consent.${name}`)
    })
  }

  it('denies if one member denies', () => {
    const consent = { ad_storage: 'granted', ad_user_data: 'granted', marketing: 'no' }
    assert.equal(verdict(consent), 'denied: words_denied in consent.marketing')
  })

  it('never reads an unknown word as a grant, alone or beside one', () => {
    assert.equal(verdict({ ads: 'oui' }), 'unknown: words_unreadable in consent.ads')
    const mixed = { ad_storage: 'granted', ad_user_data: 'nein' }
    assert.equal(verdict(mixed), 'unknown: words_unreadable in consent.ad_user_data')
  })

  it('denies beside an unknown word', () => {
    const consent = { ad_storage: 'pending', ad_user_data: 'denied' }
    assert.equal(verdict(consent), 'denied: words_denied in consent.ad_user_data')
  })

  it('treats null as unset: no grant alone, no effect beside one, but not silence', () => {
    assert.equal(verdict({ ads: null }), 'unknown: words_unreadable in consent.ads')
    const mixed = { ad_storage: null, ad_user_data: 'granted' }
    assert.equal(verdict(mixed), 'granted: words_granted in consent.ad_user_data')
  })

  it('reads one level of purpose containers and names the full path', () => {
    const consent = { categoryPreferences: { Analytics: true, Advertising: false } }
    const denied = 'denied: words_denied in consent.categoryPreferences.Advertising'
    assert.equal(verdict(consent), denied)
    assert.equal(
      verdict({ purposes: { marketing: true } }),
      'granted: words_granted in consent.purposes.marketing',
    )
    assert.equal(verdict({ purposes: { deep: { marketing: false } } }), silent)
    assert.equal(verdict({ purposes: ['marketing'] }), silent)
  })

  it('denies on a denial of everything but does not grant on a grant of everything', () => {
    assert.equal(verdict({ status: 'denied' }), 'denied: words_denied in consent.status')
    assert.equal(verdict({ granted: false }), 'denied: words_denied in consent.granted')
    assert.equal(verdict({ status: 'granted' }), silent)
    assert.equal(verdict({ status: 'active' }), silent)
  })

  it('ignores members of opposite polarity', () => {
    assert.equal(verdict({ do_not_sell: false, sale_of_data: false, us_privacy: '1YNN' }), silent)
  })

  it('expires a grant after 395 days, never a denial; captured_at alone is no signal', () => {
    const captured_at = '2025-10-22T11:59:59Z'
    const expired = 'unknown: consent_expired in consent.captured_at'
    assert.equal(verdict({ ads: true, captured_at }), expired)
    assert.equal(verdict({ ads: 'oui', captured_at }), expired)
    assert.equal(verdict({ ads: false, captured_at }), 'denied: words_denied in consent.ads')
    assert.equal(verdict({ captured_at }), silent)
    const justInTime = { ads: true, captured_at: '2025-10-22T12:00:00Z' }
    assert.equal(verdict(justInTime), 'granted: words_granted in consent.ads')
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
    assert.equal(verdict(consent), silent)
  })
})

const silent = 'unknown: no_signal in consent'

function reading(consent: Record<string, unknown> | undefined) {
  return readAdvertisingConsent(consent, parseCapturedAt(consent?.captured_at), RECEIVED_AT)
}

function verdict(consent: Record<string, unknown> | undefined): string {
  const { state, why, field } = reading(consent)
  return `${state}: ${why} in ${field}`
}
