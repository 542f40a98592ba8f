import type { SeededRandom } from '../../fixtures/seeded-random.ts'
import { buildTcString } from '../../fixtures/tc-string.ts'

export const PLATFORMS = ['meta', 'google_ads', 'webhook'] as const
export type PlatformName = (typeof PLATFORMS)[number]

/** Whom a statement is about. `personalization`: ads that only Google Ads can do without. */
type Scope = PlatformName | 'all' | 'personalization'

/** One thing that a form says, as docs/guides/consent.md tells a person. */
export type Fact =
  | { says: 'yes' | 'no' | 'maybe no'; to: Scope }
  /** It says something, and nothing about advertising that anyone could read. */
  | { says: 'something else' }
  /** It gives no answer about personalized ads. */
  | { says: 'personalization unasked' }

/** Members of an event beside each other, and what they say together. */
export interface Form {
  name: string
  members: Record<string, unknown>
  facts: readonly Fact[]
  /** A header of the browser. */
  headers?: Record<string, string>
  /** Only a page sends it. */
  isOfPage?: true
}

const yes = (to: Scope = 'all'): Fact => ({ says: 'yes', to })
const no = (to: Scope = 'all'): Fact => ({ says: 'no', to })
const maybeNo = (to: Scope = 'all'): Fact => ({ says: 'maybe no', to })
const ELSE: Fact = { says: 'something else' }
const UNASKED: Fact = { says: 'personalization unasked' }

const consent = (members: Record<string, unknown>) => ({ consent: members })
const form = (name: string, members: Record<string, unknown>, ...facts: readonly Fact[]): Form => ({
  name,
  members,
  facts,
})

const CAPTURED = '2026-11-20T08:00:00Z'
const LISTED = { ranges: [[700, 760]] as [number, number][] }
const WITHOUT_GOOGLE = { ranges: [[1, 754]] as [number, number][] }
const tcf = (plan: Parameters<typeof buildTcString>[0]) => ({
  tcf: { string: buildTcString(plan) },
})

/** What a person may have answered, alone. */
export const ANSWERS: readonly Form[] = [
  form('nothing', {}),
  form('when it was asked', consent({ captured_at: CAPTURED, method: 'banner' })),
  form('boolean', consent({ advertising: true }), yes()),
  form('word', consent({ advertising: 'granted', captured_at: CAPTURED }), yes()),
  form('French', consent({ advertising: 'oui' }), yes()),
  form('boolean no', consent({ advertising: false }), no()),
  form('German no', consent({ advertising: 'nein' }), no()),
  form('unreadable', consent({ advertising: 'perhaps' }), ELSE),
  form('analytics', consent({ analytics: 'granted' }), ELSE),
  form('sale not opted out', consent({ do_not_sell: false }), ELSE),
  form('US, not opted out', consent({ us_privacy: '1YNN' }), ELSE),
  form('ad_user_data', consent({ ad_user_data: 'granted' }), yes()),
  form('Pixel alone', consent({ 'Facebook Pixel': true }), yes('meta')),
  form('Google alone', consent({ 'Google Ads': true }), yes('google_ads')),
  form('OneTrust', consent({ groups: 'C0001:1,C0002:0,C0004:1' }), yes()),
  form('OneTrust, no', consent({ groups: 'C0001:1,C0002:0,C0004:0' }), no()),
  form('OneTrust, performance', consent({ groups: 'C0001:1,C0002:1' }), ELSE),
  form('Cookiebot', consent({ necessary: true, statistics: true, marketing: true }), yes()),
  form('Cookiebot, no', consent({ necessary: true, statistics: true, marketing: false }), no()),
  form(
    'Cookiebot cookie',
    consent({ CookieConsent: "{stamp:'x==',necessary:true,marketing:false,method:'explicit'}" }),
    no(),
  ),
  form(
    'Usercentrics',
    consent({ ucCategory: { essential: true, marketing: true }, 'Facebook Pixel': false }),
    yes(),
    no('meta'),
  ),
  form(
    'Didomi',
    consent({ vendors: { consent: { enabled: ['google'], disabled: ['facebook'] } } }),
    yes('google_ads'),
    no('meta'),
  ),
  form(
    'Didomi purposes',
    consent({
      purposes: {
        consent: {
          enabled: [
            ...['cookies', 'create_ads_profile', 'select_personalized_ads'],
            'measure_ad_performance',
          ],
          disabled: [],
        },
      },
    }),
    yes(),
  ),
  ...consentModeForms(),
  ...tcfForms(),
]

function consentModeForms(): Form[] {
  const mode = (signals: Record<string, unknown>) => ({ consent_mode: signals })
  const granted = { ad_storage: 'granted', ad_user_data: 'granted' }
  return [
    form('v2', mode({ ...granted, ad_personalization: 'granted' }), yes()),
    form('v2 without personalization', mode(granted), yes(), UNASKED),
    form('v2, not personalized', mode({ ...granted, ad_personalization: 'denied' }), yes(), {
      says: 'no',
      to: 'personalization',
    }),
    form('v2, no user data', mode({ ad_storage: 'granted', ad_user_data: 'denied' }), no()),
    form('v1', mode({ ad_storage: 'granted' }), ELSE),
    form('v1, no', mode({ ad_storage: 'denied' }), no()),
    form('gcs, no', mode({ gcs: 'G101' }), no()),
    form('gcd', mode({ gcd: '13r3r3r3r5' }), yes()),
  ]
}

/**
 * Google is on the list of vendors and needs the purposes 1 and 7; Meta and a webhook need 3 and 4
 * too, and no vendor.
 */
function tcfForms(): Form[] {
  return [
    form('TCF', tcf({ vendorConsents: LISTED }), yes()),
    form(
      'TCF, not Google',
      tcf({ vendorConsents: WITHOUT_GOOGLE }),
      yes('meta'),
      yes('webhook'),
      no('google_ads'),
    ),
    form(
      'TCF, 1 and 7',
      tcf({ purposes: [1, 7], vendorConsents: LISTED }),
      yes('google_ads'),
      no('personalization'),
    ),
    form('TCF without 7', tcf({ purposes: [1, 3, 4], vendorConsents: LISTED }), no()),
    form('TCF, nothing', tcf({ purposes: [2], vendorConsents: LISTED }), no()),
    form('no GDPR', { tcf: { gdprApplies: false, tcString: '', cmpStatus: 'loaded' } }),
  ]
}

/** What may stand beside an answer, as members of `consent` or beside it. */
export const ADDITIONS: readonly Form[] = [
  form('Pixel no', consent({ 'Facebook Pixel': false }), no('meta')),
  form('Meta by vendor', consent({ vendors: { 'Meta Platforms': false } }), no('meta')),
  form(
    'Meta by service',
    {
      consent: { services: [{ name: 'Facebook Pixel', consent: { status: false } }] },
    },
    no('meta'),
  ),
  form('Klaro', consent({ klaro: '{"google-analytics":true,"facebook-pixel":false}' }), no('meta')),
  form('fbq', consent({ fbq: 'revoke' }), no('meta')),
  form('social', consent({ social_networking: false }), no('meta')),
  form('partner', consent({ setSharingFilterForPartners: ['facebook_int'] }), maybeNo('meta')),
  form('Google no', consent({ 'Google Ads': false }), no('google_ads')),
  form('Google by word', consent({ googleads: 'denied' }), no('google_ads')),
  form('Google by vendor', consent({ vendors: { google: false } }), no('google_ads')),
  form('Google by list', consent({ vendors: { disabled: ['google'] } }), no('google_ads')),
  form(
    'both',
    consent({ 'Facebook Pixel': false, 'Google Ads': false }),
    no('meta'),
    no('google_ads'),
  ),
  form('others', consent({ 'TikTok Advertising': false, linkedin: false }), ELSE),
  form('analytics no', consent({ 'Google Analytics': false, analytics: false }), ELSE),
  form('newsletter no', consent({ email_marketing: false }), ELSE),
  form('GPC', consent({ gpc: true }), no()),
  form('GPC of copied headers', consent({ headers: { 'sec-gpc': '1' } }), no()),
  form('GPC beside', { globalPrivacyControl: true }, no()),
  form('GPC off', consent({ gpc: false }), ELSE),
  form('no sale', consent({ do_not_sell: true }), no()),
  form('US Privacy', consent({ us_privacy: '1YYN' }), no()),
  form('US, not opted out', consent({ us_privacy: '1YNN' }), ELSE),
  form('GPP', consent({ gpp: 'DBABLA~BVVVVVVVVWA' }), no()),
  form('limited data use', consent({ limited_data_use: true }), no()),
  form('limits', consent({ limit_ad_tracking: true }), no()),
  form('withdrawn', consent({ withdrawn: true }), no()),
  form('maybe', consent({ allow_ad_tracking: false }), maybeNo()),
  form('list', consent({ accepted: ['necessary', 'analytics'] }), maybeNo()),
  form('Data Manager', consent({ adPersonalization: 'CONSENT_DENIED' }), no('personalization')),
  form(
    'flags',
    {
      opt_out: true,
      data_processing_options: ['LDU'],
      data_processing_options_country: 0,
      data_processing_options_state: 0,
    },
    { says: 'personalization unasked' },
  ),
  { ...form('GPC of the browser', {}, no()), headers: { 'sec-gpc': '1' }, isOfPage: true },
]

/** An answer, often with something beside it that has no member of the answer. */
export function pickForm(random: SeededRandom, isPage: boolean): Form {
  const answer = random.random() < 0.55 ? ANSWERS[3] : random.pick(ANSWERS)
  const fits = ADDITIONS.filter(addition => isPage || !addition.isOfPage)
  const added = random.random() < 0.45 ? random.pick(fits) : null
  if (answer === undefined) throw new Error('there is no answer')
  if (added === null || sharesMembers(answer, added)) return answer
  return {
    name: `${answer.name} + ${added.name}`,
    members: mergeMembers(answer.members, added.members),
    facts: [...answer.facts, ...added.facts],
    ...(added.headers && { headers: added.headers }),
  }
}

const consentOf = ({ members }: Form) => (members.consent ?? {}) as Record<string, unknown>

function sharesMembers(one: Form, other: Form): boolean {
  const names = Object.keys(consentOf(one))
  return Object.keys(consentOf(other)).some(name => names.includes(name))
}

function mergeMembers(one: Record<string, unknown>, other: Record<string, unknown>) {
  const merged = { ...one, ...other }
  if (one.consent && other.consent) merged.consent = { ...one.consent, ...other.consent }
  return merged
}

export interface Decision {
  outcome: 'granted' | 'denied' | 'withheld'
  isPersonalized: boolean
}

/**
 * What a platform may get, by the guide: a refusal wins, a doubt withholds, a grant is needed
 * unless nothing at all was said.
 */
export function decide({ facts }: Form, platform: PlatformName): Decision {
  const isPersonal = facts.some(fact => 'to' in fact && fact.to === 'personalization')
  const isUnasked = facts.some(fact => fact.says === 'personalization unasked')
  const about = facts.filter(fact => 'to' in fact && (fact.to === 'all' || fact.to === platform))
  const says = (what: Fact['says']) => about.some(fact => fact.says === what)
  const isPersonalized = !isPersonal && !isUnasked
  // Google Ads takes it as a flag; the others get nothing without it.
  if (says('no') || (isPersonal && platform !== 'google_ads'))
    return { outcome: 'denied', isPersonalized }
  if (says('maybe no')) return { outcome: 'withheld', isPersonalized }
  const isSilent = facts.every(fact => fact.says === 'personalization unasked')
  return { outcome: says('yes') || isSilent ? 'granted' : 'withheld', isPersonalized }
}
