import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CONSENT_MOMENT } from '../../../testing/fixtures/consent-inputs.ts'
import { ALL_NEEDS, META_NEEDS } from '../../../testing/fixtures/platform-needs.ts'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { WEBHOOK_CONSENT_NEEDS } from '../platforms/webhook/client.ts'
import type { ConsentInputs } from './consent-decision.ts'
import { CONSENT_FORMS } from './consent-forms.ts'
import { decideForPlatforms, isStoredPersonalized, toStoredDecision } from './platform-decisions.ts'
import variants from './vectors/consent-form-variants.json' with { type: 'json' }

type Members = Record<string, unknown>

function decide(members: Members, platforms = ALL_NEEDS) {
  const inputs = { event_name: 'Purchase', consent_basis: 'consent', ...members } as ConsentInputs
  const { needs: fallback, ...context } = CONSENT_MOMENT
  return decideForPlatforms(inputs, platforms, { ...context, fallback })
}

/** `granted`, `restricted` (no personalized ads), `withheld` or the path that denies. */
function describePlatforms(members: Members): string[] {
  return [...decide(members).platforms.values()].map(decision => {
    if (decision.outcome === 'denied') return decision.denied_field
    const isRestricted = decision.outcome === 'granted' && !decision.is_personalized
    return isRestricted ? 'restricted' : decision.outcome
  })
}

const G = 'granted'
const granted = (members: Members) => ({ consent: { advertising: 'granted', ...members } })
const signals = (ad_personalization?: string) => ({
  consent_mode: {
    ad_storage: 'granted',
    ad_user_data: 'granted',
    ...(ad_personalization && { ad_personalization }),
  },
})
const disabled = { purposes: { enabled: ['marketing'] }, vendors: { disabled: ['google'] } }
const tcObject = (consent: boolean) => ({
  tcf: {
    purposeConsents: { 1: true, 3: true, 4: true, 7: true },
    vendorConsents: { 755: consent },
  },
})
const bannerOfOne = { 'Facebook Pixel': true, 'Google Ads': false }
const listed = (plan: Parameters<typeof buildTcString>[0]) => ({
  tcf: { string: buildTcString({ vendorConsents: { ranges: [[700, 760]] }, ...plan }) },
})

/** What Meta, a platform on the vendor list, and one known by its name alone may get. */
const CASES: [members: Members, decisions: [meta: string, listed: string, named: string]][] = [
  [granted({}), [G, G, G]],
  [granted({ 'TikTok Advertising': false }), [G, G, 'consent.TikTok Advertising']],
  [granted({ 'Google Ads': false }), [G, 'consent.Google Ads', G]],
  [granted({ googleads: 'denied' }), [G, 'consent.googleads', G]],
  [granted({ 'Facebook Pixel': false }), ['consent.Facebook Pixel', G, G]],
  [granted({ 'Google Analytics': false }), [G, G, G]],
  [granted({ linkedin: false }), [G, G, G]],
  [granted({ 'google tag manager': false }), [G, 'withheld', G]],
  [granted({ social_media: false }), ['withheld', G, 'withheld']],
  [granted({ gpc: true }), ['consent.gpc', 'consent.gpc', 'consent.gpc']],
  [
    granted({ us_privacy: '1YYN' }),
    Array(3).fill('consent.us_privacy') as [string, string, string],
  ],
  [{ consent: disabled }, [G, 'consent.vendors.disabled', G]],
  [{ consent: bannerOfOne }, [G, 'consent.Google Ads', 'withheld']],
  [{ consent: { 'Google Ads': true } }, ['withheld', G, 'withheld']],
  [signals(), [G, 'restricted', G]],
  [signals('granted'), [G, G, G]],
  [
    signals('denied'),
    ['consent_mode.ad_personalization', 'restricted', 'consent_mode.ad_personalization'],
  ],
  [listed({}), [G, G, G]],
  [listed({ purposes: [1, 7] }), ['tcf.string', 'restricted', 'tcf.string']],
  [listed({ purposes: [1, 3, 4] }), ['tcf.string', 'tcf.string', 'tcf.string']],
  [listed({ vendorConsents: { ranges: [[1, 754]] } }), [G, 'tcf.string', G]],
  [listed({ vendorConsents: { idMax: 754 } }), [G, 'tcf.string', G]],
  [listed({ vendorConsents: { idMax: 755 } }), [G, G, G]],
  [tcObject(true), [G, G, G]],
  [tcObject(false), [G, 'tcf.vendorConsents', G]],
]

describe('decideForPlatforms', () => {
  for (const [members, decisions] of CASES) {
    it(`${JSON.stringify(members).slice(0, 90)}: ${decisions.join(', ')}`, () => {
      assert.deepEqual(describePlatforms(members), decisions)
    })
  }

  it('leaves out a receiver without a name where only named ones are accepted', () => {
    const webhook = { name: 'webhook', consentNeeds: WEBHOOK_CONSENT_NEEDS }
    const outcome = (members: Members) =>
      decide(granted(members), [webhook]).platforms.get('webhook')?.outcome
    for (const members of [
      { integrations: { All: false, 'Google Ads': true } },
      { integrations: { All: false } },
      { axeptio_authorized_vendors: ',facebook_pixel,' },
      { accepted_vendors: ['Facebook', 'Google Ads'] },
    ]) {
      assert.equal(outcome(members), 'withheld', JSON.stringify(members))
    }
    for (const members of [
      { integrations: { All: true, 'Google Ads': false } },
      { vendors: { rejected: ['Facebook', 'Google Ads'] } },
      { vendors: { accepted: ['all'] } },
      { vendors: { facebook: true, google: false } },
    ]) {
      assert.equal(outcome(members), 'granted', JSON.stringify(members))
    }
  })

  it('denies the event only where no platform of the tracker is left', () => {
    const refused = granted({ 'Facebook Pixel': false })
    assert.equal(decide(refused).decision.outcome, 'granted')
    const { decision } = decide(refused, [META_NEEDS])
    assert.equal(decision.outcome, 'denied')
    assert.equal(decision.denied_field, 'consent.Facebook Pixel')
    assert.equal(decide(granted({ advertising: 'denied' })).decision.outcome, 'denied')
  })

  it('denies the event of a tracker without platforms by a refusal of advertising alone', () => {
    assert.equal(decide(granted({ 'Facebook Pixel': false }), []).decision.outcome, 'granted')
    assert.equal(decide(granted({ advertising: 'denied' }), []).decision.outcome, 'denied')
  })

  it('dates the consent of the event by the oldest that a platform relies on', () => {
    const consent = { 'Facebook Pixel': true, captured_at: '2026-11-20T08:00:00Z' }
    const tcf = listed({}).tcf
    const { decision, platforms } = decide({ consent, tcf })
    assert.deepEqual(
      [...platforms.values()].map(({ captured_at }) => captured_at),
      ['2026-11-20T08:00:00.000Z', '2026-11-01T00:00:00.000Z', '2026-11-01T00:00:00.000Z'],
    )
    assert.equal(decision.captured_at, '2026-11-01T00:00:00.000Z')
  })

  it('stores the decisions that differ from that of the event, with what decided them', () => {
    const { decision, platforms } = decide({ ...signals('denied') })
    assert.ok(decision.outcome !== 'denied')
    const stored = { decision: toStoredDecision(decision, platforms) }
    const denied = {
      outcome: 'denied',
      reason: 'consent_mode_denied',
      field: 'consent_mode.ad_personalization',
    }
    assert.deepEqual(stored.decision.platforms, { meta: denied, named: denied })
    assert.equal(isStoredPersonalized(stored, 'listed'), false)
    assert.equal(isStoredPersonalized({ decision: { outcome: 'granted' } }, 'listed'), true)
  })
})

/** Grants for every platform, whatever is named. */
const GRANTS: Members[] = [{}, granted({}), signals('granted'), listed({})]

/** Refusals of the table of forms, and others. */
const REFUSALS: Members[] = [
  ...CONSENT_FORMS.flatMap(({ rows }) => rows)
    .filter(({ decision }) => /^422|possible/.test(decision))
    .flatMap(({ members }) =>
      Object.keys(members).join() === 'consent' ? [(members as { consent: Members }).consent] : [],
    ),
  ...variants.refusals,
]

const PLATFORM_NAMES = [
  ...['Facebook Pixel', 'facebook_pixel', 'Meta Pixel', 'Google Ads', 'googleads', 'adwords'],
  ...['doubleclick', 'TikTok', 'TikTok Pixel', 'tiktok_ads', 'Microsoft Ads', 'LinkedIn', 'Reddit'],
]

/** The platform that a name is about, as `ALL_NEEDS` call it; null: none of them. */
function platformOf(name: string): string | null {
  if (/facebook|meta/i.test(name)) return 'meta'
  if (/google|adwords|doubleclick/i.test(name)) return 'listed'
  return /tiktok/i.test(name) ? 'named' : null
}

describe('a refusal', () => {
  const listGranted = (members: Members) =>
    [...decide(members).platforms].flatMap(([name, { outcome }]) =>
      outcome === 'granted' ? [name] : [],
    )

  it('never adds a delivery to a platform', () => {
    const refusal = fc.constantFrom(...REFUSALS)
    fc.assert(
      fc.property(fc.constantFrom(...GRANTS), refusal, (grant, form) => {
        // Saying nothing at all is the attestation of the caller, which any signal outweighs.
        const before = new Set(listGranted(grant))
        const after = listGranted({ ...grant, consent: { ...(grant.consent as Members), ...form } })
        assert.deepEqual(
          after.filter(name => !before.has(name)),
          [],
          JSON.stringify(form),
        )
      }),
      { numRuns: 2_000 },
    )
  })

  it('of one platform takes only its deliveries', () => {
    const name = fc.constantFrom(...PLATFORM_NAMES)
    const no = fc.constantFrom<unknown>(false, 'denied', 'no', 'rejected', 0)
    const place = fc.constantFrom(
      (one: string, value: unknown) => ({ [one]: value }),
      (one: string, value: unknown) => ({ vendors: { [one]: value } }),
      (one: string, value: unknown) => ({ services: [{ name: one, consent: value }] }),
      (one: string) => ({ vendors: { disabled: [one] } }),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...GRANTS.slice(1)),
        name,
        no,
        place,
        (grant, one, value, put) => {
          const form = put(one, value)
          const consent = { ...(grant.consent as Members), ...form }
          const left = ALL_NEEDS.map(platform => platform.name).filter(
            platform => platform !== platformOf(one),
          )
          assert.deepEqual(listGranted({ ...grant, consent }), left, JSON.stringify(form))
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
