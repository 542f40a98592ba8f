import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { META_CONSENT_NEEDS } from '../platforms/meta/client.ts'
import { type CapturedAt, parseCapturedAt, toCredibleTime } from './consent-signal.ts'
import { readConsentMode } from './platform-consent.ts'
import { readConsent } from './read-consent.ts'

const RECEIVED_AT = new Date('2026-11-21T12:00:00Z')
const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted' }

describe('readConsentMode', () => {
  it('grants on ad_storage and ad_user_data, with ad_personalization granted or absent', () => {
    const granted = 'granted: words_granted'
    assert.equal(readSignal(GRANTED), granted)
    assert.equal(readSignal({ ...GRANTED, ad_personalization: 'granted' }), granted)
    assert.equal(readSignal({ ...GRANTED, ad_personalization: null }), granted)
    assert.equal(readSignal({ adStorage: 'GRANTED', adUserData: 'CONSENT_GRANTED' }), granted)
  })

  for (const signal of ['ad_storage', 'ad_user_data', 'ad_personalization']) {
    it(`denies when ${signal} is denied and names it`, () => {
      const { state, field } = reading({ ...GRANTED, [signal]: 'denied' })
      assert.deepEqual({ state, field }, { state: 'denied', field: `consent_mode.${signal}` })
    })
  }

  it('does not read a Consent Mode v1 object as a grant', () => {
    const missing = 'unknown: ad_storage_or_ad_user_data_missing'
    assert.equal(readSignal({ ad_storage: 'granted', analytics_storage: 'granted' }), missing)
    assert.equal(readSignal({ ad_user_data: 'granted' }), missing)
    assert.equal(readSignal({ ad_storage: null, ad_user_data: null }), missing)
  })

  it('reads an unknown word as unknown, in ad_personalization too', () => {
    const unreadable = 'unknown: words_unreadable'
    assert.equal(readSignal({ ...GRANTED, ad_user_data: 'maybe' }), unreadable)
    assert.equal(readSignal({ ...GRANTED, ad_personalization: 'maybe' }), unreadable)
  })

  it('has no signal for an object that says nothing', () => {
    const silent = 'unknown: no_signal'
    assert.equal(readSignal(undefined), silent)
    assert.equal(readSignal({}), silent)
    assert.equal(readSignal({ captured_at: '2026-11-20T00:00:00Z', source: 'banner' }), silent)
  })

  it('reads an object with other signals alone as unknown, not as silence', () => {
    const notMentioned = 'unknown: advertising_not_mentioned'
    assert.equal(readSignal({ analytics_storage: 'granted' }), notMentioned)
    const others = { analytics_storage: 'denied', security_storage: 'granted', gcd: '13l3l3l3l1' }
    assert.equal(readSignal(others), notMentioned)
    assert.equal(readSignal({ region: ['US-CA'], wait_for_update: 500 }), notMentioned)
  })

  it('reads nested commands: an update replaces a default', () => {
    const granted = 'granted: words_granted'
    assert.equal(readSignal({ default: { ad_storage: 'denied' }, update: GRANTED }), granted)
    assert.equal(readSignal({ default: { ad_storage: 'denied' } }), 'denied: words_denied')
    assert.equal(readSignal({ ...GRANTED, gtag: { ad_storage: 'denied' } }), 'denied: words_denied')
  })

  it('does not grant beside a refusal in words', () => {
    const refused = { ...GRANTED, share_with_partners: false }
    assert.equal(readSignal(refused), 'unknown: possible_refusal')
  })

  it('reads the letters of gcd that are known', () => {
    assert.equal(readSignal({ gcd: '13t3t3t3t5' }), 'granted: words_granted')
    assert.equal(readSignal({ ...GRANTED, gcd: '13t3t3t3u5' }), 'denied: words_denied')
    assert.equal(readSignal({ ...GRANTED, gcd: '13u3t3t3t5' }), 'denied: words_denied')
    assert.equal(readSignal({ ...GRANTED, gcd: '13t3q3t3t5' }), 'granted: words_granted')
    assert.equal(readSignal({ gcd: 'jane' }), 'unknown: advertising_not_mentioned')
  })

  it('reads ad_storage in gcs, which grants only together with ad_user_data', () => {
    const missing = 'unknown: ad_storage_or_ad_user_data_missing'
    assert.equal(readSignal({ gcs: 'G100' }), 'denied: words_denied')
    assert.equal(readSignal({ ...GRANTED, gcs: 'G101' }), 'denied: words_denied')
    assert.equal(readSignal({ gcs: 'G111' }), missing)
    assert.equal(readSignal({ gcs: 'G1--' }), missing)
    assert.equal(readSignal({ gcs: 'G110', ad_user_data: 'granted' }), 'granted: words_granted')
    assert.equal(readSignal({ ...GRANTED, gcs: 'G2x' }), 'unknown: words_unreadable')
  })

  it('ignores analytics_storage', () => {
    assert.equal(readSignal({ ...GRANTED, analytics_storage: 'denied' }), 'granted: words_granted')
  })

  it('uses its own captured_at, then that of the consent object', () => {
    const consentCaptured = parseCapturedAt('2026-11-10T00:00:00Z')
    const borrowed = reading(GRANTED, consentCaptured)
    assert.equal(borrowed.captured_at, '2026-11-10T00:00:00.000Z')
    const own = { ...GRANTED, captured_at: '2026-11-12T00:00:00Z' }
    const dated = reading(own, consentCaptured)
    assert.equal(dated.captured_at, '2026-11-12T00:00:00.000Z')
  })

  it('expires by its own captured_at only', () => {
    const old = '2025-01-01T00:00:00Z'
    assert.equal(readSignal({ ...GRANTED, captured_at: old }), 'unknown: consent_expired')
    const borrowed = reading(GRANTED, parseCapturedAt(old))
    assert.equal(borrowed.state, 'granted')
  })

  it('denies on a denial of any age', () => {
    const denied = { ...GRANTED, ad_storage: 'denied', captured_at: '2025-01-01T00:00:00Z' }
    assert.equal(readSignal(denied), 'denied: words_denied')
  })
})

function readSignal(consentMode: Record<string, unknown> | undefined): string {
  const { state, why } = reading(consentMode)
  return `${state}: ${why}`
}

function reading(
  consent_mode: Record<string, unknown> | undefined,
  captured: CapturedAt = 'missing',
) {
  return readConsentMode(readConsent({ consent_mode }), consent_mode?.captured_at, {
    needs: META_CONSENT_NEEDS,
    captured,
    credibleTime: toCredibleTime(captured, RECEIVED_AT),
    receivedAt: RECEIVED_AT,
  })
}
