import type { ConsentSubject } from './consent-statement.ts'
import {
  ADVERTISING_STEM,
  CONSENT_MODE_SIGNALS,
  CONSENT_STEM,
  isInflected,
  OTHER_PURPOSE_STEM,
  PRODUCT_WORDS,
  REFUSAL_STEM,
  VENDOR_BY_WORD,
  WORD_KINDS,
  type WordKind,
} from './consent-vocabulary.ts'
import { findList, joinProductWords, splitWords } from './consent-words.ts'

/** What a member says by its name. A name without a known subject has none. */
export interface NameMeaning {
  /** The form of its value, if that is a code of the IAB, of Google, or provenance. */
  coded: CodedForm | null
  /** Meanings of the codes inside: some platforms number their purposes. */
  codes: ReadonlyMap<string, NameMeaning> | null
  subject: ConsentSubject | null
  /** The advertising platform that the name names; null: every one. */
  vendor: string | null
  /** Whether a "yes" refuses (`opt_out`). Two negations in one name cancel each other. */
  isNegative: boolean
  /** Whether the table of forms has this name, or only its words say it. */
  isForm: boolean
  /** Whether a "yes" grants. */
  canGrant: boolean
  /** A label such as `opt_out_url`: its value is not an answer. */
  isLabel: boolean
  /** Whether the name has no subject but an answer word, and gets its subject from its parent. */
  isSwitch: boolean
  /** Whether it names an opt-out, which one inside of another does not cancel. */
  isOptOut: boolean
  /** Whether it says "rejected" or the like, which one inside of another does not cancel either. */
  isSpokenRefusal: boolean
  /** Whether it is about personalization: of ads, if it is in an object about ads. */
  isPersonalization: boolean
  /** Whether a word of it is one of a choice: `onMessageChoiceSelect: "Reject"`. */
  mayAnswer: boolean
  /** What a list under this name lists: what was accepted or rejected; `listed` may be either. */
  list: 'accepted' | 'rejected' | 'listed' | null
  /** Whether its members are vendors or services, of which unknown ones say nothing about ours. */
  hasVendors: boolean
  /** Whether it is about messages to the person: email, phone, push. */
  isChannel: boolean
  /** Whether the name is about all purposes: "not all" is no refusal. */
  isAboutAll: boolean
  /** Whether it is the act of accepting all, which `false` refuses: `accept_all`. */
  isActOfAll: boolean
  /** Whether it has a word for consent: `acme_consent: "denied"` refuses, whatever "acme" is. */
  isConsent: boolean
  /** Whether it asks for an answer (`ads_opt_in`), and does not only name a purpose. */
  canAsk: boolean
  /** Whether the name may be stored: it has known words only. */
  isPlain: boolean
}

/** A value that is read as a whole. */
export type CodedForm =
  | 'us_privacy'
  | 'gpp'
  | 'gcs'
  | 'gcd'
  | 'tc_string'
  | 'tcf_purposes'
  | 'additional_consent'
  | 'gdpr_applies'
  | 'att'
  | 'gpp_opt_out'
  | 'trustarc_level'
  | 'purpose_status'
  | 'provenance'

export const NO_MEANING: NameMeaning = {
  coded: null,
  codes: null,
  subject: null,
  vendor: null,
  isNegative: false,
  isForm: false,
  canGrant: false,
  isLabel: false,
  isSwitch: false,
  isOptOut: false,
  isSpokenRefusal: false,
  isPersonalization: false,
  mayAnswer: false,
  list: null,
  hasVendors: false,
  isChannel: false,
  isAboutAll: false,
  isActOfAll: false,
  isConsent: false,
  canAsk: false,
  isPlain: false,
}

/** What the categories of a tracker mean, by their normalized names. */
export type CategoryMeanings = ReadonlyMap<string, NameMeaning>

/** Longer names are not read. */
const NAME_LENGTH_MAX = 128

/** Reads a name by its words, in about 5 µs; `findMeaning` caches it. */
export function readName(name: string): NameMeaning {
  return name.length > NAME_LENGTH_MAX
    ? NO_MEANING
    : interpretWords(joinProductWords(splitWords(name.replace(PREFIX, ''))))
}

/** The site, in `SHOP_ENSIGHTEN_PRIVACY_Advertising`, and the platform, in `cmp_accept_all`. */
const PREFIX =
  /^(?:\w+_ENSIGHTEN_PRIVACY_(?=[A-Za-z])|(?:CMP|cmp)(?:[-_](?=[a-z]+[-_])|(?=[A-Z][a-z]+[A-Z])))/

/** How many words of each kind a name has. */
interface WordCounts {
  kinds: ReadonlySet<WordKind>
  unknown: number
  negations: number
  vendor: string | null
  /** The word that names the vendor. */
  vendorWord: string
  /** Whether it is about ads. "Marketing" may also be that by email. */
  hasAds: boolean
}

function countWords(words: string[]): WordCounts {
  const kinds = new Set<WordKind>()
  const hasAds = words.some(word => word !== 'marketing' && WORD_KINDS.get(word) === 'advertising')
  let [unknown, negations] = [0, 0]
  let vendor: string | null = null
  let vendorWord = ''
  for (const word of words) {
    const kind = WORD_KINDS.get(word)
    const named = VENDOR_BY_WORD.get(word)
    if (named !== undefined) {
      if (vendorWord === '' || vendorWord === 'meta') vendorWord = word
      vendor ??= named
    } else if (kind === undefined) {
      if (REFUSAL_STEM.test(word)) {
        kinds.add('refusal')
        negations += 1
      } else if (OTHER_PURPOSE_STEM.test(word)) kinds.add('other_purpose')
      else if (CONSENT_STEM.test(word)) kinds.add('consent')
      else if (vendor === null || PRODUCT_WORDS.get(word) !== vendor) unknown += 1
      if (ADVERTISING_STEM.test(word)) {
        kinds.add('advertising')
        if (isInflected(word)) unknown -= 1
      }
    } else kinds.add(kind)
    if (kind !== undefined && NEGATING_KINDS.has(kind)) negations += 1
    if (NEGATING_ACRONYM.test(word) || (hasAds && UNSUBSCRIBING.test(word))) negations += 1
  }
  return { kinds, unknown, negations, vendor, vendorWord, hasAds }
}

const NEGATING_KINDS: ReadonlySet<WordKind> = new Set<WordKind>([
  ...(['negation', 'refusal', 'withdrawal', 'opt_out', 'device_limit'] as const),
])

const OPT_OUT_KINDS: readonly WordKind[] = ['opt_out', 'withdrawal', 'device_limit']

/** Non-personalized ads, and "do not sell". */
const NEGATING_ACRONYM = /^(npa|dns|dnss|dnsmpi|dnsmpd)$/

/** `unsubscribed_from_ads`; of a newsletter it is no refusal. */
const UNSUBSCRIBING = /^unsubscribe/

function interpretWords(words: string[]): NameMeaning {
  const counts = countWords(words)
  const { kinds, unknown, negations } = counts
  // "GPC opt-out" says it twice.
  const isGpc = kinds.has('gpc') && kinds.has('opt_out')
  const isNegative = negations % 2 === (isGpc ? 0 : 1)
  const subject = findSubject(counts, { words, isNegative })
  const vendor = subject === 'advertising' ? findVendor(counts, words) : null
  const lastWord = words.at(-1) ?? ''
  const hasAnswer = SWITCH_KINDS.some(kind => kinds.has(kind))
  const isSwitch = (subject === null || subject === 'everything') && unknown === 0 && hasAnswer
  return {
    ...NO_MEANING,
    subject,
    vendor,
    isNegative,
    canGrant: subject === 'advertising' && unknown === 0 && !isNegative && !kinds.has('interface'),
    isLabel: kinds.has('inert') || isLabelWord(lastWord),
    isSwitch,
    isOptOut: isNegative && (subject === 'sale' || OPT_OUT_KINDS.some(kind => kinds.has(kind))),
    isSpokenRefusal: isNegative && words.some(word => SPOKEN_REFUSAL.test(word)),
    isPersonalization: kinds.has('personalization'),
    isForm: isPlatformName(counts, { subject, isNegative }),
    mayAnswer: words.some(word => ANSWERING_WORD.test(word)),
    coded: isAttStatus(words) ? 'att' : null,
    list: findList(words, kinds, isNegative),
    hasVendors: words.some(word => VENDOR_LIST_WORDS.has(word)),
    isChannel: subject === 'other' && (kinds.has('channel') || kinds.has('subscription')),
    isAboutAll: kinds.has('all'),
    isActOfAll: kinds.has('all') && ACT_OF_ALL.test(words.join(' ')),
    canAsk: kinds.has('consent') && !isNegative,
    isConsent: words.some(isConsentWord),
    isPlain: unknown === 0,
  }
}

/** "Disabled" is none of them: `opt_out: {disabled: true}` is an opt-out that is off. */
const SPOKEN_REFUSAL = /^(?:reject|den(?:y|ied)|declin|refus|withdr|revo[ck])/

/** Words that a state of anything else (`kyc_status`) does not have. */
const ANSWERING_WORD = /^(choices?|decision|answer|response|selection|select|interaction)$/

/** `acceptAll` is what the person did; `all_accepted` is true of some who accepted nearly all. */
const ACT_OF_ALL =
  /^(?:\S+ )?(accept|allow|agree|approve|permit|enable|grant|consent)(?: to)? (all|everything)\b/

/** Permissions may be those of a device. */
const isConsentWord = (word: string) =>
  CONSENT_STEM.test(word) || /^(consents?|cookies?)$/.test(word)

const SWITCH_KINDS: readonly WordKind[] = [
  ...(['consent', 'switch', 'all', 'refusal', 'withdrawal', 'opt_out', 'negation'] as const),
]

/** Apple's status has numbers of its own: 1 and 2 refuse. */
function isAttStatus(words: string[]): boolean {
  return words.includes('att') && /^(status|state|authori[sz]ation)$/.test(words.at(-1) ?? '')
}

function isLabelWord(word: string): boolean {
  const kind = WORD_KINDS.get(word)
  return kind === 'ending' || kind === 'interface' || ['required', 'set', 'viewed'].includes(word)
}

function findVendor(counts: WordCounts, words: string[]): string | null {
  const isOfAll = words.some(word => word === 'consentmode' || CONSENT_MODE_SIGNALS.has(word))
  return isVendorName(counts) && !isOfAll ? counts.vendor : null
}

function findSubject(
  counts: WordCounts,
  { words, isNegative }: { words: string[]; isNegative: boolean },
) {
  const { kinds } = counts
  const has = (...names: WordKind[]) => names.some(name => kinds.has(name))
  if (has('gpc')) return 'gpc'
  if (has('sale')) return 'sale'
  if (has('channel') || (has('subscription') && !counts.hasAds)) return 'other'
  if (has('device_limit')) return 'tracking'
  if (has('advertising')) return 'advertising'
  if (isVendorName(counts)) return has('other_purpose') ? 'other' : 'advertising'
  if (has('sharing', 'tracking')) {
    if (has('other_purpose')) return 'other'
    return has('sharing') ? 'sale' : 'tracking'
  }
  if (has('social')) return 'social_media'
  if (has('personalization') && isNegative) return 'tracking'
  if (has('personalization', 'other_purpose')) return 'other'
  return isAboutEverything(counts, words) ? 'everything' : null
}

/** `meta` is also a usual word for metadata, so beside an unknown word it names no platform. */
function isVendorName({ vendor, vendorWord, unknown }: WordCounts): boolean {
  return vendor !== null && (vendorWord !== 'meta' || unknown === 0)
}

/**
 * The name of a platform alone, such as "Google Ads" or "tiktok", is a form. Those of Meta are in
 * the table of forms, because its name is also a usual word.
 */
function isPlatformName(
  { vendor, unknown, kinds }: WordCounts,
  { subject, isNegative }: Pick<NameMeaning, 'subject' | 'isNegative'>,
): boolean {
  const isOfPlatform = vendor !== null && vendor !== 'meta' && subject === 'advertising'
  return isOfPlatform && unknown === 0 && !isNegative && !kinds.has('interface')
}

/** A member about consent as a whole: `consent_given`, `cookies_accepted`, `withdrawn`. */
function isAboutEverything({ kinds, unknown }: WordCounts, words: string[]): boolean {
  if (kinds.has('interface')) return false
  if (kinds.has('opt_out') || kinds.has('withdrawal')) return true
  if (kinds.has('ending')) return false
  // `acme_consent_removed` and `acme_cookie_consent`, for any "acme".
  if (unknown > 0) {
    const isRefusal = kinds.has('refusal') && words.some(isConsentWord)
    return isRefusal || COOKIE_CONSENT.test(words.join(' '))
  }
  return kinds.has('consent') || kinds.has('refusal')
}

const COOKIE_CONSENT = /\b(?:cookies?|gdpr|ccpa|tracking) consents?\b/

const VENDOR_LIST_WORDS: ReadonlySet<string> = new Set(
  (
    'vendor vendors vendeurs service services partners provider processor processors ' +
    'integrations destinations'
  ).split(' '),
)
