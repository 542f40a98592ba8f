import type { ConsentSubject } from './consent-statement.ts'
import {
  ADVERTISING_STEM,
  PHRASES,
  VENDOR_BY_WORD,
  WORD_KINDS,
  type WordKind,
} from './consent-vocabulary.ts'

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
  /** What a list under this name lists: what was accepted or rejected; `listed` may be either. */
  list: 'accepted' | 'rejected' | 'listed' | null
  /** Whether its members are vendors or services, of which unknown ones say nothing about ours. */
  hasVendors: boolean
  /** Whether it is about messages to the person: email, phone, push. */
  isChannel: boolean
  /** Whether the name is about all purposes: "not all" is no refusal. */
  isAboutAll: boolean
  /** Whether it has a word for consent: `acme_consent: "denied"` refuses, whatever "acme" is. */
  isConsent: boolean
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
  list: null,
  hasVendors: false,
  isChannel: false,
  isAboutAll: false,
  isConsent: false,
  isPlain: false,
}

/** What the categories of a tracker mean, by their normalized names. */
export type CategoryMeanings = ReadonlyMap<string, NameMeaning>

/** Longer names are not read. */
const NAME_LENGTH_MAX = 128

/** Reads a name by its words, in about 5 µs; `findMeaning` caches it. */
export function readName(name: string): NameMeaning {
  return name.length > NAME_LENGTH_MAX ? NO_MEANING : interpretWords(splitWords(name))
}

/**
 * The words of a text in lower case and without accents: camelCase, separators, known compounds
 * (`adstorage`) and phrases (`opt out` is one word) are resolved.
 */
export function splitWords(text: string): string[] {
  const isAscii = ASCII.test(text)
  const plain = isAscii ? text : fold(text)
  const spaced = CAMEL_CASE.test(plain)
    ? plain.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    : plain
  const words: string[] = []
  for (const word of spaced.toLowerCase().split(isAscii ? /[^a-z\d]+/ : /[^\p{L}\p{N}]+/u)) {
    if (word !== '') words.push(...splitCompound(word))
  }
  return mergePhrases(words)
}

/** Without accents and apostrophes. Unicode does not decompose ø and ł. */
function fold(text: string): string {
  const plain = text.normalize('NFKD').replace(/[\p{M}'’]/gu, '')
  return plain.replace(/[øØ]/g, 'o').replace(/[łŁ]/g, 'l')
}

const CAMEL_CASE = /[a-z\d][A-Z]|[A-Z]{2}[a-z]/

/** Names without accents and apostrophes. */
const ASCII = /^[\w\s.:$-]*$/

function isKnown(word: string): boolean {
  return WORD_KINDS.has(word) || VENDOR_BY_WORD.has(word)
}

const COMPOUND_LENGTH_MAX = 40
const PART_LENGTH_MAX = 16
/** The words of two letters that begin or end compounds; others would split ordinary words. */
const SHORT_PARTS: ReadonlySet<string> = new Set(['ad', 'do', 'my', 'is', 'no', 'of', 'or', 'to'])

/**
 * The known words of which a compound consists, as few as possible; the compound if there are none.
 * Only places that known words reach are tried, so that an unknown word costs less than 1 µs.
 */
function splitCompound(word: string): string[] {
  if (isKnown(word) || word.length < 5 || word.length > COMPOUND_LENGTH_MAX) return [word]
  const best: (string[] | undefined)[] = [[]]
  for (let start = 0; start < word.length - 1; start += 1) {
    const parts = best[start]
    if (!parts) continue
    const endMax = Math.min(word.length, start + PART_LENGTH_MAX)
    for (let end = start + 2; end <= endMax; end += 1) {
      const shortest = best[end]
      if (shortest && shortest.length <= parts.length + 1) continue
      const part = word.slice(start, end)
      if (part.length > 2 ? isKnown(part) : SHORT_PARTS.has(part)) best[end] = [...parts, part]
    }
  }
  return best[word.length] ?? [word]
}

/** Phrases by their first word. */
const PHRASES_BY_WORD: ReadonlyMap<string, { words: string[]; merged: string }[]> = Map.groupBy(
  PHRASES.map(([words, merged]) => ({ words: words.split(' '), merged })),
  ({ words }) => words[0] as string,
)

function mergePhrases(words: string[]): string[] {
  const merged: string[] = []
  for (let at = 0; at < words.length; ) {
    const word = words[at] as string
    const phrase = PHRASES_BY_WORD.get(word)?.find(each =>
      each.words.every((part, offset) => words[at + offset] === part),
    )
    merged.push(phrase?.merged ?? word)
    at += phrase?.words.length ?? 1
  }
  return merged
}

/** How many words of each kind a name has. */
interface WordCounts {
  kinds: ReadonlySet<WordKind>
  unknown: number
  negations: number
  vendor: string | null
  /** The word that names the vendor. */
  vendorWord: string
}

function countWords(words: string[]): WordCounts {
  const kinds = new Set<WordKind>()
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
      unknown += 1
      if (ADVERTISING_STEM.test(word)) kinds.add('advertising')
    } else kinds.add(kind)
    if (kind !== undefined && NEGATING_KINDS.has(kind)) negations += 1
    if (word === 'npa') negations += 1
  }
  return { kinds, unknown, negations, vendor, vendorWord }
}

const NEGATING_KINDS: ReadonlySet<WordKind> = new Set<WordKind>([
  ...(['negation', 'refusal', 'withdrawal', 'opt_out', 'device_limit'] as const),
])

function interpretWords(words: string[]): NameMeaning {
  const counts = countWords(words)
  const { kinds, unknown, negations } = counts
  const isNegative = negations % 2 === 1
  const subject = findSubject(counts, isNegative)
  const vendor = subject === 'advertising' ? findVendor(counts, words) : null
  const lastWord = words.at(-1) ?? ''
  const mayAnswer = SWITCH_KINDS.some(kind => kinds.has(kind))
  const isSwitch = (subject === null || subject === 'everything') && unknown === 0 && mayAnswer
  return {
    ...NO_MEANING,
    subject,
    vendor,
    isNegative,
    canGrant: subject === 'advertising' && unknown === 0 && !isNegative && !kinds.has('interface'),
    isLabel: kinds.has('inert') || isLabelWord(lastWord),
    isSwitch,
    list: findList(words, counts, isNegative),
    hasVendors: words.some(word => VENDOR_LIST_WORDS.has(word)),
    isChannel: subject === 'other' && kinds.has('channel'),
    isAboutAll: kinds.has('all'),
    isConsent: words.some(word => CONSENT_WORD.test(word)),
    isPlain: unknown === 0,
  }
}

/** Permissions may be those of a device. */
const CONSENT_WORD = /^(consents?|cookies?|einwilligung|consentement)$/

const SWITCH_KINDS: readonly WordKind[] = [
  ...(['consent', 'switch', 'all', 'refusal', 'withdrawal', 'opt_out', 'negation'] as const),
]

function isLabelWord(word: string): boolean {
  const kind = WORD_KINDS.get(word)
  return kind === 'ending' || kind === 'interface' || word === 'required'
}

function findVendor(counts: WordCounts, words: string[]): string | null {
  return isVendorName(counts) && !words.includes('consentmode') ? counts.vendor : null
}

function findSubject(counts: WordCounts, isNegative: boolean): ConsentSubject | null {
  const { kinds } = counts
  const has = (...names: WordKind[]) => names.some(name => kinds.has(name))
  if (has('gpc')) return 'gpc'
  if (has('sale')) return 'sale'
  if (has('channel')) return 'other'
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
  return isAboutEverything(counts) ? 'everything' : null
}

/** `meta` is also a usual word for metadata, so beside an unknown word it names no platform. */
function isVendorName({ vendor, vendorWord, unknown }: WordCounts): boolean {
  return vendor !== null && (vendorWord !== 'meta' || unknown === 0)
}

/** A member about consent as a whole: `consent_given`, `cookies_accepted`, `withdrawn`. */
function isAboutEverything({ kinds, unknown }: WordCounts): boolean {
  if (kinds.has('interface')) return false
  if (kinds.has('opt_out') || kinds.has('withdrawal')) return true
  if (unknown > 0 || kinds.has('ending')) return false
  return kinds.has('consent') || kinds.has('refusal')
}

const VENDOR_LIST_WORDS: ReadonlySet<string> = new Set(
  'vendor vendors vendeurs service services partners provider processor processors'.split(' '),
)

/** Words of lists that describe what there is, and not what was chosen. */
const DESCRIBING_WORDS: ReadonlySet<string> = new Set(
  'shown displayed available supported configured required visible disclosed optional'.split(' '),
)

/** Words that say of a list what was accepted; `consents` or `categories` may list anything. */
const ACCEPTING_WORD = new RegExp(
  '^(accept|allow|grant|given|approv|authori[sz]ed|agree|consented|permitted|enabled|activ|' +
    'select|checked|optin|optedin)',
)

function findList(
  words: string[],
  { kinds }: WordCounts,
  isNegative: boolean,
): NameMeaning['list'] {
  const isOfAll = kinds.has('all') && !kinds.has('consent')
  if (isOfAll || words.some(word => DESCRIBING_WORDS.has(word))) return null
  if (isNegative) return 'rejected'
  if (words.some(word => ACCEPTING_WORD.test(word))) return 'accepted'
  const isList = kinds.has('consent') || kinds.has('switch') || kinds.has('container')
  return isList || words.includes('preferences') ? 'listed' : null
}
