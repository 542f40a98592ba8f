import { CONSENT_STEM, VENDOR_BY_WORD, WORD_KINDS, type WordKind } from './consent-vocabulary.ts'

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

/** Without accents and apostrophes. Unicode does not decompose ø, ł and đ. */
function fold(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(ELISION, '')
    .replace(/[\p{M}'’]/gu, '')
  return plain.replace(/[øłđØŁĐ]/g, letter => PLAIN_LETTERS[letter] ?? letter)
}

const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  Ø: 'O',
  Ł: 'L',
  Đ: 'D',
}

/** `l'audience` and `j'accepte`. */
const ELISION = /(?<!\p{L})(?:[cdjlmnst]|qu)['’]/giu

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
  return best[word.length] ?? splitBrand(word)
}

/** `qubitconsent` is the consent of "qubit". */
function splitBrand(word: string): string[] {
  const [, brand, rest] = BRANDED.exec(word) ?? []
  return brand === undefined || rest === undefined ? [word] : [brand, rest]
}

const BRANDED = /^([a-z\d]{2,24}?)(consents?|cookies?|optout|optin)$/

/** Words for what needs no consent. */
const NECESSARY = ['strictly necessary'].concat(
  'necessary essential essentials required functional technical basic strict'.split(' '),
)

type Phrase = readonly [words: string, merged: string]

/** To accept these alone refuses all others. */
function toNecessaryOnly(words: string): Phrase[] {
  const merged = 'necessaryonly'
  return [`${words} only`, `${words} cookies only`, `only ${words} cookies`, `only ${words}`].map(
    phrase => [phrase, merged],
  )
}

/** Two to four words that mean something together. The longer of two comes first. */
const PHRASES: readonly Phrase[] = [
  ['opt out preference signal', 'globalprivacycontrol'],
  ['global privacy control', 'globalprivacycontrol'],
  ...['opt out', 'withdraw', 'revoke', 'object', 'reject', 'decline', 'deny', 'refuse'].flatMap(
    (act): Phrase[] => ['can', 'may', 'could'].map(word => [`${word} ${act}`, 'revocable']),
  ),
  ['opt out', 'optout'],
  ...['ad', 'ads', 'tracker', 'tracking', 'pixel', 'cookie'].map(
    (word): Phrase => [`${word} blocker`, 'adblocker'],
  ),
  ...NECESSARY.flatMap(toNecessaryOnly),
  ['opts out', 'optout'],
  ['opted out', 'optedout'],
  ['opting out', 'optingout'],
  ['opt outs', 'optout'],
  ['opt in', 'optin'],
  ['opts in', 'optin'],
  ['opt ins', 'optin'],
  ['opted in', 'optedin'],
  ['opting in', 'optingin'],
  ['third party', 'thirdparty'],
  ['third parties', 'thirdparty'],
  ['3rd party', 'thirdparty'],
  ['rd party', 'thirdparty'],
  ['non iab', 'iab'],
  ['non tcf', 'tcf'],
  ['non essential', 'nonessential'],
  ['non necessary', 'nonessential'],
  ['not essential', 'nonessential'],
  ['not necessary', 'nonessential'],
  ['optional cookies', 'nonessential'],
  ['optional cookie', 'nonessential'],
  ['optional consent', 'nonessential'],
  ['accept optional', 'nonessential'],
  ['allow optional', 'nonessential'],
  ['en hyvaksy', 'hylkaa'],
  ['quang cao', 'quangcao'],
  ['tiep thi', 'tiepthi'],
  ['tu choi', 'tuchoi'],
  ['mobile privacy', 'privacy'],
  ['hashed email', 'identifier'],
  ['hashed emails', 'identifier'],
  ['hashed phone', 'identifier'],
  ['advanced matching', 'advancedmatching'],
  ['social share', 'socialshare'],
  ['social shares', 'socialshare'],
  ['social media', 'socialmedia'],
  ['social network', 'socialmedia'],
  ['social networks', 'socialmedia'],
  ['social networking', 'socialmedia'],
  ['big data', 'bigdata'],
  ['cross site', 'crosssite'],
  ['cross context', 'crosscontext'],
  ['consent mode', 'consentmode'],
  ['e mail', 'email'],
  ['tik tok', 'tiktok'],
  ['linked in', 'linkedin'],
  ['open ai', 'openai'],
  ['chat gpt', 'chatgpt'],
  ['you tube', 'youtube'],
  ['double click', 'doubleclick'],
  ['whats app', 'whatsapp'],
  ['ireland limited', 'ireland'],
  ['meta data', 'metadata'],
  ['meta info', 'metadata'],
  ['meta tags', 'metadata'],
  ['on sale', 'onsale'],
  ['for sale', 'onsale'],
  ['sale item', 'onsale'],
  ['sale items', 'onsale'],
  ...['total', 'net', 'gross', 'flash', 'final', 'pre', 'post', 'items'].map(
    (word): Phrase => [`${word} sales`, 'onsale'],
  ),
  ['customer match', 'audience'],
  ['off site', 'offsite'],
  ['off platform', 'offsite'],
  ['off facebook', 'facebook'],
  ['off meta', 'meta'],
  ['do not market', 'optout'],
  ['do not profile', 'optout'],
  ['do not target', 'optout'],
  ['do not process', 'optout'],
  ['can target', 'targeting'],
  ['ad free', 'adfree'],
  ['ads free', 'adfree'],
  ['object to', 'objected'],
  ['objects to', 'objected'],
  ['object exercised', 'objected'],
  ['app tracking transparency', 'att'],
  ['ad group', 'adgroup'],
  ['conversion value', 'conversionvalue'],
  ['ad storage', 'adstorage'],
  ['ad user data', 'aduserdata'],
  ['ad personalization', 'adpersonalization'],
  ['ad personalisation', 'adpersonalization'],
]

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

const NECESSARY_STEM = new RegExp(
  '^(?:necess|neces|notwend|noodzak|es?sen[tzc]|required|minim|nodvend|erforder|niezb|nezbyt|' +
    'valttam|szuks|zorunlu|gerekli|необход|必要)',
)
const ONLY_WORD = new RegExp(
  '^(?:only|just|strictly|strict|nur|unbedingt|alleen|strikt|uniquement|seulement|strictement|' +
    'solo|soltanto|estrictamente|strettamente|tylko|apenas|somente|endast|bara|kun|vain|pouze|' +
    'csak|doar|sadece|только|тільки|cookies?|use|accept|allow|keep|the)$',
)
const NECESSARY_WORDS_MAX = 6

/** Whether a text means no more than what is necessary: "Nur notwendige Cookies". */
export function isNecessaryOnly(text: string): boolean {
  const words = text.length <= COMPOUND_LENGTH_MAX ? splitWords(text) : []
  if (words.length === 0 || words.length > NECESSARY_WORDS_MAX) return false
  const isNecessary = (word: string) => word === 'necessaryonly' || NECESSARY_STEM.test(word)
  const others = words.filter(word => !isNecessary(word))
  return others.length < words.length && others.every(word => ONLY_WORD.test(word))
}

/** The sale of data in other languages; the sale alone is that of an order. */
const SALE_OF_DATA = new RegExp(
  '\\b(?:vent[ae]|vend(?:a|er|ere|re|ita)|verkauf\\w*|verkoo?p\\w*|sprzeda\\w+) (?:\\S+ ){0,2}' +
    '(?:dat[aio]s?|daten|dados|donnees|gegevens|danych|informa[ct]\\w+)\\b',
)

/** "TikTok Events API" is a product, as CAPI is, and `venta_de_datos` a sale of data. */
export function joinProductWords(words: string[]): string[] {
  if (words.length > 1 && SALE_OF_DATA.test(words.join(' '))) return [...words, 'datenverkauf']
  if (!words.includes('api') || !words.some(word => VENDOR_BY_WORD.has(word))) return words
  return words
    .join(' ')
    .replace(/\b(?:conversions?|events?) api\b/, 'capi')
    .split(' ')
}

/** Words of lists that describe what there is, and not what was chosen. */
const DESCRIBING_WORDS: ReadonlySet<string> = new Set(
  'shown displayed available supported configured required visible disclosed optional'.split(' '),
)

/** Words that say of a list what was accepted; `consents` or `categories` may list anything. */
const ACCEPTING_WORD = new RegExp(
  '^(accept|allow|grant|given|approv|authori[sz]ed|agree|consented|permitted|enabled|activ|' +
    'select|checked|optin|optedin)',
)

/** `consent_categories` lists those with consent; `consents` may list anything. */
const CONSENT_LIST = /(?:consents?|cookies?) (?:categories|cats|purposes|groups|scopes|types)$/

/**
 * `customer_consents` lists those of a person. `consent_history` and `expired_consents` list
 * others, `consents` may be a log, and `cookies` all that there are.
 */
export function isListOfConsents(name: string): boolean {
  if (/^(?:consents?|cookies?)$/i.test(name)) return false
  const words = splitWords(name)
  const last = words.at(-1) ?? ''
  const isOfConsents = CONSENTS.test(last) || CONSENT_STEM.test(last)
  return isOfConsents && !words.some(word => NOT_IN_FORCE.test(word))
}

const CONSENTS = /^(?:consents?|cookies?|permissions?|preferences?|choices?|selections?)$/
const NOT_IN_FORCE = new RegExp(
  '^(?:pending|expired|updated|changed|deleted|cleared|missing|new|invalid|archived|failed|' +
    'unknown)$',
)

/** What a name lists, by its words: what was accepted, what was rejected, or either. */
export function findList(
  words: string[],
  kinds: ReadonlySet<WordKind>,
  isNegative: boolean,
): 'accepted' | 'rejected' | 'listed' | null {
  const isOfAll = kinds.has('all') && !kinds.has('consent')
  if (isOfAll || words.some(word => DESCRIBING_WORDS.has(word))) return null
  if (isNegative) return 'rejected'
  if (words.some(word => ACCEPTING_WORD.test(word)) || CONSENT_LIST.test(words.join(' '))) {
    return 'accepted'
  }
  const isList = kinds.has('consent') || kinds.has('switch') || kinds.has('container')
  return isList || words.includes('preferences') ? 'listed' : null
}
