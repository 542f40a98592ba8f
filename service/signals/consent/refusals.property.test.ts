import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { META_CONSENT_NEEDS } from '../platforms/meta/client.ts'
import { type ConsentInputs, decideConsent } from './consent-decision.ts'
import { CONSENT_FORMS } from './consent-forms.ts'
import variants from './vectors/consent-form-variants.json' with { type: 'json' }

const AT = new Date('2026-11-21T12:00:00Z')

type Members = Record<string, unknown>

type Grant = Omit<Partial<ConsentInputs>, 'consent'> & { consent?: Members }

/** Grants in every object. None of them has a name that the refusals use. */
const GRANTS: Grant[] = [
  {},
  { consent: { user_ads_consent: 'granted' } },
  { consent: { ad_user_data: true, captured_at: '2026-11-20T08:00:00Z' } },
  { consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' } },
  { tcf: { string: buildTcString() } },
  {
    consent: { visitor_targeted_advertising: 'opted_in' },
    consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
    tcf: { string: buildTcString() },
  },
]

/** Forms of the table that refuse, and forms that are not in it. */
const REFUSALS: Members[] = [
  ...CONSENT_FORMS.flatMap(({ rows }) => rows)
    .filter(({ says, decision }) => /^422|possible/.test(decision) && !says.endsWith('ID 89'))
    .flatMap(({ members }) => (isWithConsent(members) ? [members.consent] : [])),
  ...variants.refusals,
]

function isWithConsent(members: object): members is { consent: Members } {
  return Object.keys(members).join() === 'consent'
}

describe('a refusal', () => {
  it('beside any grant, in any place and order, never leaves a grant', () => {
    const refusal = fc.constantFrom(...REFUSALS)
    fc.assert(
      fc.property(fc.constantFrom(...GRANTS), refusal, placing, (grant, form, place) => {
        const { outcome } = decide(place(grant, form))
        assert.notEqual(outcome, 'granted', JSON.stringify(form))
      }),
      { numRuns: 3_000 },
    )
  })

  it('under a name made of words that are in no table never leaves a grant', () => {
    fc.assert(
      fc.property(fc.constantFrom(...GRANTS), refusingMember, placing, (grant, form, place) => {
        const { outcome } = decide(place(grant, form))
        assert.notEqual(outcome, 'granted', JSON.stringify(form))
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('a refusal of one purpose', () => {
  it('never leaves a grant, however a list of purposes is written', () => {
    const no = fc.constantFrom<unknown>(false, 'no', 'denied', 'rejected', 'opted_out', 'nein')
    fc.assert(
      fc.property(
        fc.constantFrom(...GRANTS),
        permissionName,
        no,
        listing,
        (grant, name, no, list) => {
          const form = list(name, no)
          const { outcome } = decide({ ...grant, consent: { ...grant.consent, ...form } })
          assert.notEqual(outcome, 'granted', JSON.stringify(form))
        },
      ),
      { numRuns: 3_000 },
    )
  })
})

describe('a category with a number of its own', () => {
  it('grants nothing, and takes nothing away', () => {
    const code = fc.integer({ min: 20, max: 999_999 })
    const answer = fc.constantFrom<unknown>(true, false, 0, 1, 'yes', 'no')
    const owner = fc.constantFrom('consents', 'categories', 'groups', 'choices', 'preferences')
    fc.assert(
      fc.property(owner, code, answer, (name, number, value) => {
        const form = { [name]: { [number]: value } }
        assert.notEqual(decide({ consent: form }).outcome, 'granted', JSON.stringify(form))
        const { outcome } = decide({ consent: { advertising: 'granted', ...form } })
        assert.equal(outcome, 'granted', JSON.stringify(form))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a member that does not refuse', () => {
  it('takes no grant away: settings, channels, other purposes, labels', () => {
    const neutral = fc.uniqueArray(fc.constantFrom(...variants.neutral), { maxLength: 5 })
    fc.assert(
      fc.property(fc.constantFrom(...GRANTS), neutral, (grant, members) => {
        const consent = { ...grant.consent, ...Object.assign({}, ...members) }
        // Alone it may say nothing about advertising, which is no grant.
        const advertising = grant === GRANTS[0] ? { advertising: 'granted' } : {}
        const { outcome } = decide({ ...grant, consent: { ...consent, ...advertising } })
        assert.equal(outcome, 'granted', JSON.stringify(consent))
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes no grant away under a name of words: no opt-out, a channel, or a label', () => {
    fc.assert(
      fc.property(harmlessMember, form => {
        const { outcome } = decide({ consent: { advertisement: 'granted', ...form } })
        assert.equal(outcome, 'granted', JSON.stringify(form))
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('any submission', () => {
  it('is decided without an error, and names no text of the caller', () => {
    const text = fc.constantFrom('jane@example.com', '+4915112345678', 'Jane Doe 4915112345678')
    const value = fc.oneof(fc.jsonValue({ maxDepth: 6 }), text, fc.constantFrom(...ODD_VALUES))
    const object = fc.dictionary(fc.oneof(fc.string(), text, fc.constantFrom(...NAMES)), value)
    fc.assert(
      fc.property(object, object, object, (consent, consent_mode, tcf) => {
        const decision = decide({ consent, consent_mode, tcf })
        assert.doesNotMatch(JSON.stringify(decision), /jane@|4915112345678/)
      }),
      { numRuns: 1_000 },
    )
  })
})

/** Brands and places that no list knows. */
const syllable = fc.constantFrom('zor', 'quil', 'wex', 'brum', 'dask', 'vint')
const brand = fc.tuple(syllable, syllable).map(([first, last]) => first + last)
const prefix = fc.oneof(brand, fc.constantFrom('', 'acme', 'gdpr', 'cc', 'my site', 'x1', 'eu'))

const PERMISSIONS = [
  ...['advertising', 'ads', 'ad cookies', 'marketing', 'targeting', 'personalised ads'],
  ...['behavioural advertising', 'remarketing', 'sale of data', 'data sharing', 'sell my data'],
  ...['third party sharing', 'tracking', 'cross site tracking', 'profiling', 'facebook pixel'],
  ...['meta ads', 'instagram', 'custom audiences', 'conversion tracking', 'social media'],
  ...['interest based ads', 'cross context behavioral advertising', 'lookalike audiences'],
  ...['advertising partners', 'ad measurement pixel', 'selling of my data', 'werbung'],
  ...['promotional cookies', 'publicité ciblée', 'reklamowe', 'publicidad'],
]
const OPT_OUTS = [
  ...['opt out', 'opted out', 'ads opt out', 'opt out of sale', 'do not sell', 'do not share'],
  ...['do not track', 'limit ad tracking', 'no marketing', 'non personalized ads', 'block ads'],
  ...['reject advertising', 'tracking disabled', 'ads denied', 'withdrawn', 'consent revoked'],
  ...['global privacy control', 'has gpc', 'without ads', 'restrict targeting', 'refused ads'],
  ...['suppress ads', 'exclude from audiences', 'no retargeting', 'right to object exercised'],
  ...['ads consent withdrawn', 'hide personalized ads opt out', 'unsubscribe from ads'],
  ...['dissented to ads', 'marketing refusé', 'Werbung abgelehnt', 'do not profile me'],
]
const suffix = fc.constantFrom('', 'allowed', 'consent', 'enabled', 'status', 'flag', 'choice')

const NO = fc.constantFrom<unknown>(
  ...[false, 0, '0', 'no', 'denied', 'DENY', 'rejected', 'off', 'false', 'revoked', 'opted_out'],
  ...['CONSENT_DENIED', 'nein', 'non', 'n', 'disabled', { granted: false }, { status: 'denied' }],
  ...[{ consent: { given: 'no' } }],
)
const YES = fc.constantFrom<unknown>(
  ...[true, 1, '1', 'yes', 'true', 'on', 'y', 'ja', 'enabled', { value: true }, { status: 'yes' }],
)

/** Each way to write a name of several words. */
const style = fc.constantFrom<(words: string[]) => string>(
  words => words.join('_'),
  words => words.join('-'),
  words => words.join(' '),
  words => words.join('.'),
  words => words.join('_').toUpperCase(),
  words => words.map((word, at) => (at === 0 ? word : capitalize(word))).join(''),
  words => words.map(capitalize).join(''),
  words => words.map(capitalize).join(' '),
)

function nameOf(...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc
    .tuple(style, fc.tuple(...parts))
    .map(([write, texts]) => write(texts.flatMap(text => (text === '' ? [] : text.split(' ')))))
}

function toMember(name: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>): fc.Arbitrary<Members> {
  return fc.tuple(name, value).map(([key, each]) => ({ [key]: each }))
}

const permissionName = nameOf(prefix, fc.constantFrom(...PERMISSIONS), suffix)
const optOutName = nameOf(prefix, fc.constantFrom(...OPT_OUTS), fc.constantFrom('', 'flag'))
const item = fc.constantFrom(...PERMISSIONS.slice(0, 6))

const refusingMember = fc.oneof(
  toMember(permissionName, NO),
  toMember(optOutName, YES),
  toMember(
    nameOf(prefix, fc.constantFrom('rejected', 'denied purposes', 'blocked categories')),
    item.map(name => ['analytics', name.replaceAll(' ', '_')]),
  ),
)

/** The ways in which consent platforms write an answer to a purpose as an item. */
const listing = fc.constantFrom<(name: string, answer: unknown) => Members>(
  (name, answer) => ({ consents: [{ purpose: name, granted: answer }] }),
  (name, answer) => ({ consents: [{ k: name, v: answer }] }),
  (name, answer) => ({ services: [{ name, consent: { status: answer } }] }),
  (name, answer) => ({ choices: [{ purpose: { name }, choice: answer }] }),
  (name, answer) => ({ user_consents: [[name, answer]] }),
  (name, answer) => ({ user_consents: [`${name}=${answer}`, 'analytics=yes'] }),
  (name, answer) => ({ consents: { 0: { category: name, value: answer } } }),
  (name, answer) => ({ 'purposes[0].name': name, 'purposes[0].allowed': answer }),
  (name, answer) => ({ stored: `analytics:yes,${name}:${answer}` }),
  (name, answer) => ({ items: [{ nombre: name, valor: answer }] }),
)

const CHANNELS = ['email', 'sms', 'push', 'phone', 'newsletter', 'whatsapp', 'direct mail']
const LABELS = ['required', 'applies', 'shown', 'link', 'url', 'id', 'version', 'at', 'language']

const channel = fc.constantFrom(...CHANNELS)
const anyAnswer = fc.constantFrom(true, false, 0, 1, 'no', 'denied')
const anyTime = fc.constantFrom('2026-11-20T08:00:00Z', 1_795_168_800)

const harmlessMember = fc.oneof(
  // A missing opt-out, and a permission that is given.
  toMember(optOutName, fc.constantFrom<unknown>(false, 0, 'no', 'false', 'off', null, '')),
  toMember(permissionName, YES),
  // Messages to the person, and labels.
  toMember(nameOf(prefix, channel, fc.constantFrom('marketing', 'opt in')), NO),
  toMember(nameOf(prefix, channel, fc.constantFrom('opt out')), YES),
  toMember(
    nameOf(fc.constantFrom(...PERMISSIONS, ...OPT_OUTS), fc.constantFrom(...LABELS)),
    anyAnswer,
  ),
  toMember(nameOf(fc.constantFrom(...PERMISSIONS), fc.constantFrom(...LABELS)), anyTime),
)

const NAMES = [
  ...[...PERMISSIONS, ...OPT_OUTS, 'consent', 'purposes', 'vendors', 'gpp', 'tcString', 'att'],
  ...['gcs', 'gcd', 'SaleOptOut', 'us_privacy', 'consentDecision', 'source'],
  ...['purposes.0', 'a[0].b'],
  ...['purposes.0.__proto__', 'notice_preferences', 'tcfPurposes', 'rejected', 'name', 'value'],
]

/** Texts that are objects, and objects that cannot be converted to a text. */
const ODD_VALUES: unknown[] = [
  ...['a=1&b=2', 'a:1,b:2,c:', '{a:1}', '1:1', '[{"id":{}}]', '__proto__=1&b=2', 'asserted'],
  ...[{ toString: 1 }, [{ toString: 1 }], [1, { toString: 1 }], { 0: { toString: 1 } }],
  ...[[{ id: { toString: 1 }, consent: 1 }], JSON.parse('{"__proto__":{"a":1}}')],
]

/** Where a refusal can stand beside a grant: before or after it, and in objects and texts. */
const placing = fc.constantFrom<(grant: Grant, form: Members) => Grant>(
  (grant, form) => ({ ...grant, consent: { ...grant.consent, ...form } }),
  (grant, form) => ({ ...grant, consent: { ...form, ...grant.consent } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, cmp: form } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, raw: JSON.stringify(form) } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, records: [form] } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, ...mapKeys(form, toSnakeCase) } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, ...mapKeys(form, toKebabCase) } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, cookie: toBase64(form) } }),
  (grant, form) => ({ ...grant, consent: { ...grant.consent, cookie: toCookie(form) } }),
)

const toBase64 = (form: Members) => Buffer.from(JSON.stringify(form)).toString('base64')
const toCookie = (form: Members) => encodeURIComponent(JSON.stringify({ state: form }))

function mapKeys(value: Members, rename: (key: string) => string): Members {
  const visit = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(visit)
    if (typeof each !== 'object' || each === null) return each
    return Object.fromEntries(Object.entries(each).map(([key, item]) => [rename(key), visit(item)]))
  }
  return visit(value) as Members
}

function toSnakeCase(key: string): string {
  return key.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()
}

const toKebabCase = (key: string) => toSnakeCase(key).replaceAll('_', '-')

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function decide(members: Partial<ConsentInputs>) {
  const inputs: ConsentInputs = { event_name: 'Purchase', consent_basis: 'consent', ...members }
  const times = { receivedAt: AT, eventTime: AT, identityPresent: true }
  return decideConsent(inputs, { needs: META_CONSENT_NEEDS, ...times })
}
