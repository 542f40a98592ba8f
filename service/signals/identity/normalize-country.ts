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
 * with or without dots, or a name in one of 77 languages. Null for locales ("de-DE"), and for names
 * that mean two countries in two languages.
 */
export function normalizeCountry(prepared: string): string | null {
  const code = prepared.includes('.') ? prepared.replace(/[. ]/g, '') : prepared
  if (code.length === 2) {
    const alpha2 = COUNTRY_ALIASES.get(code) ?? code
    if (COUNTRY_CODES.has(alpha2)) return alpha2
  }
  return HAS_LOCALE_FORM.test(prepared) ? null : findCountryByName(prepared)
}

const HAS_LOCALE_FORM = /^[a-z]{2,3}[-_][a-z]{2,4}$/

function findCountryByName(prepared: string): string | null {
  const name = foldCountryName(prepared)
  const names = getCountryNames()
  return names.get(name) ?? names.get(name.replace(/^the/, '')) ?? null
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
