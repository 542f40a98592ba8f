import table from './country-names.json' with { type: 'json' }

/** ISO 3166-1 alpha-2, the 249 assigned codes, and xk, which Kosovo uses everywhere in practice. */
const COUNTRY_CODES = new Set(
  `ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs
  bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee
  eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm
  hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc
  li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na
  nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw
  sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to
  tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw xk`.split(/\s+/),
)

/** Two codes that are wrong by ISO and still right in everyday use and in EU law. */
const COUNTRY_ALIASES = new Map([
  ['uk', 'gb'],
  ['el', 'gr'],
])

/**
 * A country as lower-case ISO 3166-1 alpha-2. Takes prepared text: a code of two or three letters,
 * with or without dots, or a name in one of 77 languages, also as ISO 3166 and shops write it:
 * `Bahamas, The`, `Congo (the Democratic Republic of the)`, `United States (US)`. Null for locales
 * ("de-DE"), and for names that mean two countries in two languages.
 */
export function normalizeCountry(prepared: string): string | null {
  return normalizeExactCountry(prepared) ?? findCountryByParts(prepared)
}

/** A code, or a name as it is in the table: what versions before lookup digests read. */
export function normalizeExactCountry(prepared: string): string | null {
  const code = prepared.includes('.') ? prepared.replace(/[. ]/g, '') : prepared
  return readCode(code) ?? (HAS_LOCALE_FORM.test(prepared) ? null : findCountryByName(prepared))
}

function readCode(code: string): string | null {
  const alpha2 = COUNTRY_ALIASES.get(code) ?? code
  return COUNTRY_CODES.has(alpha2) ? alpha2 : null
}

const HAS_LOCALE_FORM = /^[a-z]{2,3}[-_][a-z]{2,4}$/

function findCountryByName(prepared: string): string | null {
  const name = foldCountryName(prepared)
  const names = getCountryNames()
  return names.get(name) ?? names.get(name.replace(/^the/, '')) ?? null
}

/** Words that say how a country is governed, and articles: `Palestine, State of`. */
const GOVERNMENT = new Set(
  `the of and republic kingdom state states federal federated federation democratic peoples people
  s socialist islamic bolivarian plurinational cooperative commonwealth principality grand duchy
  sultanate union territory territories province sar special administrative region metropolitan
  mainland occupied former yugoslav hashemite arab federative independent`.split(/\s+/),
)

const ABBREVIATED = new Map([
  ['&', 'and'],
  ['st', 'saint'],
  ['ste', 'saint'],
  ['rep', 'republic'],
  ['dem', 'democratic'],
  ['is', 'islands'],
  ['isl', 'islands'],
  ['terr', 'territory'],
  ['fed', 'federated'],
  ['sts', 'states'],
])

/** Two states have these names; the words beside them say which one is meant. */
const DIVIDED = new Map<string, (beside: readonly string[]) => string | null>([
  ['congo', beside => (beside.includes('democratic') ? 'cd' : 'cg')],
  ['korea', beside => (beside.includes('democratic') ? 'kp' : readSouthKorea(beside))],
  ['china', beside => (beside.includes('republic') && !beside.includes('peoples') ? null : 'cn')],
])

function readSouthKorea(beside: readonly string[]): string | null {
  return beside.includes('republic') ? 'kr' : null
}

/** Names of states, shops and statistics that the table does not have. */
const OTHER_NAMES = readOtherNames(`
  gb unitedkingdomofgreatbritainandnorthernireland, es canaryislands, sh ascensionisland,
  sh tristandacunha, um usoutlyingislands, bq caribbeannetherlands, mk fyrom,
  sx saintmartindutchpart, gs southgeorgiaandsouthsandwichislands, hm heardandmcdonaldislands,
  ps palestinianterritories, ps palestinianterritory, ly libyanarabjamahiriya, re reunionisland,
  vi unitedstatesvirginislands, la laopdr, fr frenchrepublic, it italianrepublic,
  gr hellenicrepublic, ch swissconfederation, sk slovakrepublic, kg kyrgyzrepublic,
  pt portugueserepublic, ar argentinerepublic, mx unitedmexicanstates, ga gaboneserepublic,
  lb lebaneserepublic, rw rwandeserepublic, tg togoleserepublic, uy easternrepublicofuruguay,
  sh sainthelenaascensionandtristandacunha, vi virginislandsoftheunitedstates,
  hk hongkongspecialadministrativeregionofchina, mo macaospecialadministrativeregionofchina`)

function readOtherNames(table: string): Map<string, string> {
  const rows = table.split(',').map(row => row.trim().split(' ') as [string, string])
  return new Map(rows.map(([code, name]) => [name, code]))
}

const WORDS_MAX = 12

/** `Iceland (IS)`. */
const WITH_CODE = /^(.+)[([]([a-z]{2,3})[)\]]$/s

/** A name in another order, with its code beside it, or with words about its government. */
function findCountryByParts(prepared: string): string | null {
  if (HAS_LOCALE_FORM.test(prepared)) return null
  const separated = /^([a-z])[^\p{L}\p{N}]+([a-z])$/u.exec(prepared)
  if (separated) return readCode(`${separated[1]}${separated[2]}`)
  const words = splitWords(prepared)
  if (words.length === 0 || words.length > WORDS_MAX) return null
  const [, name = '', code = ''] = WITH_CODE.exec(prepared) ?? []
  const stated = readCode(code)
  if (stated !== null && normalizeCountry(name.trim()) === stated) return stated
  // A code within the name adds nothing: `United States (US) Minor Outlying Islands`.
  const bare = splitWords(prepared.replace(/[([][a-z]{2,3}[)\]](?=.*\p{L})/gu, ' '))
  const whole = findName(bare) ?? findName(words)
  if (whole !== null) return whole
  const divided = DIVIDED.get(words.filter(word => !GOVERNMENT.has(word)).join(''))
  if (divided) return divided(words)
  for (let at = 1; at < words.length; at += 1) {
    const found = readInverted(words.slice(0, at), words.slice(at))
    if (found !== null) return found
  }
  return null
}

/** `Bahamas | The`, `Palestine | State of`, `Germany | DE`, and each the other way round. */
function readInverted(base: readonly string[], rest: readonly string[]): string | null {
  const inverted = findName([...rest, ...base])
  if (inverted !== null) return inverted
  return readName(base, rest) ?? readName(rest, base)
}

function readName(name: readonly string[], beside: readonly string[]): string | null {
  if (beside.every(word => GOVERNMENT.has(word))) return findName(name)
  // Two names of one country, or a name and its code.
  const code = readCode(beside.join('')) ?? findName(beside)
  return code !== null && code === (readCode(name.join('')) ?? findName(name)) ? code : null
}

function findName(words: readonly string[]): string | null {
  const name = words.join('').replace(/the$/, '')
  return findCountryByName(name) ?? OTHER_NAMES.get(foldCountryName(name)) ?? null
}

function splitWords(prepared: string): string[] {
  const words = prepared.replace(/['’´`]/g, '').match(/[\p{L}\p{M}]+|&/gu) ?? []
  return words.map(word => ABBREVIATED.get(word) ?? word)
}

const IS_FOLDED = /^[a-z]+$/
const LATIN_ACCENTS = /[\u0300-\u036f]+/g
const NO_LETTERS = /[^\p{L}\p{M}]+/gu

/** A name as it is compared: lower case, without accents, spaces and punctuation. */
export function foldCountryName(name: string): string {
  // A shortcut for most names, as fast as it is simple.
  if (IS_FOLDED.test(name)) return name
  // Lower case makes new accents of some letters, as of the Turkish İ.
  const lower = name.normalize('NFKD').toLowerCase().normalize('NFKD')
  return lower.replace(LATIN_ACCENTS, '').replace(NO_LETTERS, '')
}

let countryNames: Map<string, string> | null = null

/** Read once, with the first country that is no code of two letters. */
function getCountryNames(): Map<string, string> {
  countryNames ??= readCountryNames()
  return countryNames
}

function readCountryNames(): Map<string, string> {
  const names = new Map<string, string>()
  for (const [code, list] of Object.entries(table)) {
    for (const name of list.split(' ')) names.set(name, code)
  }
  return names
}
