import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { normalizeConsentValue, normalizeMemberName, parseConsentValue } from './consent-signal.ts'

/**
 * What a member of the `consent` object is about.
 *
 * - `advertising`: grants or denies advertising.
 * - `general`: about consent as a whole. A denial of everything includes advertising; a "yes" does
 *   not name advertising, so it can only deny.
 * - `sale`: consent to the sale or sharing of data. It can only deny: a law that lets people opt
 *   out of sale asks nobody to opt in.
 * - `platform`: consent to the platform that receives the events, by its name. It can only deny.
 * - `opt_out`: the opposite polarity: `true` denies and `false` grants nothing.
 * - `us_privacy`, `gpp`, `gcs`: coded strings of the IAB and of Google.
 * - `gpc`: Global Privacy Control.
 * - `purposes`, `vendors`: containers, read one level deep.
 * - `provenance`: how, where and under which text consent was asked. It says nothing about it.
 */
export type MemberKind =
  | 'advertising'
  | 'general'
  | 'sale'
  | 'platform'
  | 'opt_out'
  | 'us_privacy'
  | 'gpp'
  | 'gcs'
  | 'gpc'
  | 'purposes'
  | 'vendors'
  | 'provenance'
  | 'other'

/** Normalized names (`ad_user_data` = `adUserData`). Other purposes (analytics) are `other`. */
const NAMES: [MemberKind, string][] = [
  [
    'advertising',
    `adstorage aduserdata adpersonalization adpersonalisation
     ad ads adconsent adsconsent adtargeting adtracking adcookies
     adspersonalization adspersonalisation personalizedads personalisedads
     advertising advertisingconsent advertisingstorage advertisingcookies
     advertisement advertisements targetedadvertising personalizedadvertising
     marketing marketingconsent marketingstorage marketingcookies
     targeting targetingconsent targetingcookies retargeting remarketing`,
  ],
  ['general', 'granted given consented consent status'],
  ['sale', 'saleofdata saleofpersonaldata saleorsharing saleofinformation sellorshare'],
  [
    'platform',
    `facebook facebookads facebookpixel facebookcapi facebookconversionsapi
     facebookcustomaudiences facebookconnect meta metaads metapixel metaconversionsapi`,
  ],
  [
    'opt_out',
    `optout optedout adoptout adsoptout advertisingoptout marketingoptout trackingoptout
     targetedadvertisingoptout targetedadsoptout saleoptout sharingoptout optoutofsale
     optoutofsharing optoutoftargetedadvertising donotsell donotshare donotsellorshare
     donotsellmydata donotsellmyinfo donotsellmyinformation donotsellmypersonalinformation
     donotsellorsharemypersonalinformation`,
  ],
  ['us_privacy', 'usprivacy usprivacystring usp uspstring uspconsent ccpa ccpastring'],
  ['gpp', 'gpp gppstring gppconsent gppconsentstring iabgpphdrgppstring'],
  ['gcs', 'gcs'],
  ['gpc', 'gpc secgpc gpcenabled gpcsignal gpcoptout globalprivacycontrol'],
  // Segment: categoryPreferences. Usercentrics: ucCategory.
  ['purposes', 'categories categorypreferences uccategory purposes preferences choices'],
  ['vendors', 'vendors vendor services partners'],
  [
    'provenance',
    'capturedat gpccapturedat method source version policyversion bannerversion policyurl locale',
  ],
]

const KIND_BY_NAME: ReadonlyMap<string, MemberKind> = new Map(
  NAMES.flatMap(([kind, names]) =>
    names.split(/\s+/).map((name): [string, MemberKind] => [name, kind]),
  ),
)

/** Classifies a member by its name and the type of its value. */
export function classifyMember(name: string, value: unknown): MemberKind {
  const kind = KIND_BY_NAME.get(normalizeMemberName(name)) ?? 'other'
  switch (kind) {
    case 'purposes':
    case 'vendors':
      return isObject(value) ? kind : 'other'
    case 'provenance':
      return isPlainLabel(value) ? kind : 'other'
    case 'platform':
      // `meta` is also a usual name for metadata.
      return isObject(value) && !hasConsentSwitch(value) ? 'other' : kind
    case 'advertising':
    case 'general':
    case 'sale':
    case 'opt_out':
    case 'us_privacy':
    case 'gpp':
    case 'gcs':
    case 'gpc':
    case 'other':
      return kind
  }
}

/** A refusal in a label (`method: "opt_out"`) is more than provenance. */
function isPlainLabel(value: unknown): boolean {
  if (value === null || typeof value === 'number') return true
  if (typeof value !== 'string') return false
  return !MAY_REFUSE.test(value) || parseConsentValue(value) !== 'denied'
}

/** The first letters of the words that refuse: most labels need no lookup. */
const MAY_REFUSE = /^\s*[cdfnorw]/i

/**
 * What a member that can deny but not grant says. `allowed` grants nothing, and `unset` is no
 * answer: null, or the empty text of Shopify's Customer Privacy API. Both leave a grant beside them
 * as it is. `unclear` may be a refusal, so it does not.
 */
export type Restriction = 'refused' | 'allowed' | 'unset' | 'unclear'

/** Reads a member whose "yes" permits. */
export function parsePermission(value: unknown): Restriction {
  if (isUnset(value)) return 'unset'
  const state = parseConsentValue(isObject(value) ? findConsentSwitch(value) : value)
  if (state === 'denied') return 'refused'
  return state === 'granted' ? 'allowed' : 'unclear'
}

/** Reads a member whose "yes" refuses. "granted" and "denied" are unclear in an opt-out. */
export function parseOptOut(value: unknown): Restriction {
  if (isUnset(value)) return 'unset'
  if (value === true || value === 1) return 'refused'
  if (value === false || value === 0) return 'allowed'
  if (typeof value !== 'string' || value.length > WORD_LENGTH_MAX) return 'unclear'
  const word = normalizeConsentValue(value)
  if (OPT_OUT_WORDS.has(word)) return 'refused'
  return OPT_IN_WORDS.has(word) ? 'allowed' : 'unclear'
}

/**
 * Reads a US Privacy string (IAB CCPA framework, version 1): `1`, notice given, opted out of sale,
 * LSPA. `Y` in the third place is an opt-out, and `-` means that the law does not apply.
 */
export function parseUsPrivacyString(value: unknown): Restriction {
  if (isUnset(value)) return 'unset'
  if (typeof value !== 'string' || !US_PRIVACY_STRING.test(value)) return 'unclear'
  return value.charAt(2).toUpperCase() === 'Y' ? 'refused' : 'allowed'
}

export const US_PRIVACY_STRING = /^1[YN-]{3}$/i

/** Reads the `ad_storage` of Google's `gcs` parameter: `G1`, ad_storage, analytics_storage. */
export function parseGcs(value: unknown): 'granted' | 'denied' | 'unset' | 'unclear' {
  if (isUnset(value)) return 'unset'
  if (typeof value !== 'string' || !GCS.test(value)) return 'unclear'
  const adStorage = value.charAt(2)
  if (adStorage === '-') return 'unset'
  return adStorage === '1' ? 'granted' : 'denied'
}

export const GCS = /^G1[01-][01-]$/i

const WORD_LENGTH_MAX = 24
const OPT_OUT_WORDS: ReadonlySet<string> = new Set(
  'true 1 yes y on opt_out optout opted_out'.split(' '),
)
const OPT_IN_WORDS: ReadonlySet<string> = new Set(
  'false 0 no n off opt_in optin opted_in not_opted_out'.split(' '),
)

function isUnset(value: unknown): boolean {
  return value === null || value === undefined || value === ''
}

/** Didomi: `{id, enabled}`. Usercentrics: `{consent: {status}}`, `{given}`. */
const CONSENT_SWITCHES = ['enabled', 'consent', 'consented', 'granted', 'given', 'status'] as const

function findConsentSwitch(value: UntrustedObject): unknown {
  const name = CONSENT_SWITCHES.find(each => Object.hasOwn(value, each))
  const found = name === undefined ? undefined : value[name]
  return isObject(found) ? found.status : found
}

function hasConsentSwitch(value: UntrustedObject): boolean {
  return findConsentSwitch(value) !== undefined
}

/** The objects of a submission in which opt-outs are looked for. */
export interface PrivacyInputs {
  consent?: unknown
  consent_mode?: unknown
  tcf?: unknown
}

/** A member with a known name. `field` is its dotted path. */
export interface PrivacyMember {
  owner: UntrustedObject
  field: string
  value: unknown
}

/** Global Privacy Control and GPP strings, in the order in which they determine the field. */
export interface PrivacyMembers {
  gpc: PrivacyMember[]
  gpp: PrivacyMember[]
}

/**
 * Finds the members for Global Privacy Control and GPP strings in any spelling: in the three
 * objects and at the top level of the submission, because browsers and tag managers put them
 * anywhere, and an opt-out must not be missed.
 */
export function findPrivacyMembers(inputs: PrivacyInputs): PrivacyMembers {
  const found: PrivacyMembers = { gpc: [], gpp: [] }
  if (isObject(inputs.consent)) collectMembers(found, inputs.consent, 'consent.')
  if (isObject(inputs.consent_mode)) collectMembers(found, inputs.consent_mode, 'consent_mode.')
  if (isObject(inputs.tcf)) collectMembers(found, inputs.tcf, 'tcf.')
  collectMembers(found, inputs as UntrustedObject, '')
  return found
}

/** Whether a top-level member of a submission is read by `findPrivacyMembers`. */
export function isPrivacyMember(name: string): boolean {
  if (FIRST_CHARACTERS[name.charCodeAt(0)] !== 1) return false
  const kind = classifyMember(name, null)
  return kind === 'gpc' || kind === 'gpp'
}

function collectMembers(found: PrivacyMembers, owner: UntrustedObject, path: string): void {
  for (const name of Object.keys(owner)) {
    // Of the usual members only few begin like this; the others need no normalization.
    if (FIRST_CHARACTERS[name.charCodeAt(0)] !== 1) continue
    const value = owner[name]
    const kind = classifyMember(name, value)
    if (kind === 'gpc' || kind === 'gpp') found[kind].push({ owner, field: path + name, value })
  }
}

/** Of gpc, gpp, Sec-GPC, globalPrivacyControl, IABGPP_HDR_GppString, and of separators. */
const FIRST_CHARACTERS = new Uint8Array(128)
for (const character of 'gGsSiI_- ') FIRST_CHARACTERS[character.charCodeAt(0)] = 1
