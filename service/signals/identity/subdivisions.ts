import { foldCountryName } from './normalize-country.ts'

/**
 * The two letters of a state of the United States or a province of Canada that is given by its
 * name, by an abbreviation, or with its country (`US-CA`, ISO 3166-2; `California, USA`); null for
 * anything else. Without a country only an English name without accents counts, and only when it is
 * no other country's and no other place's of its size. `place` is prepared text. The two countries
 * are those whose codes Meta's page and libraries name.
 */
export function findSubdivisionCode(place: string, country: string | null): string | null {
  if (country !== null) return findInCountry(place, country)
  if (HAS_OTHER_LETTER.test(place)) return null
  const name = foldCountryName(place)
  if (SHARED_NAMES.has(name)) return null
  for (const [code, { english: names, ...table }] of TABLES) {
    const found = names.get(name) ?? table.uniqueAbbreviations.get(name)
    const named = found ?? findWithCountry(place, { code, names, codes: table.codes })
    if (named !== null) return named
  }
  return null
}

const HAS_OTHER_LETTER = /[^ -~\s]/

function findInCountry(place: string, country: string): string | null {
  const table = TABLES.get(country)
  if (table === undefined) return null
  const name = foldCountryName(place)
  return (
    table.names.get(name) ??
    table.uniqueAbbreviations.get(name) ??
    table.abbreviations.get(name) ??
    findJoinedCode(name, { code: country, ...table }) ??
    findWithCountry(place, { code: country, ...table })
  )
}

/** `usca`, which the country beside it confirms. */
function findJoinedCode(name: string, { code, codes }: SubdivisionSearch): string | null {
  const suffix = name.slice(code.length)
  return name.startsWith(code) && codes.has(suffix) ? suffix : null
}

interface SubdivisionSearch extends Pick<Subdivisions, 'names' | 'codes'> {
  /** Of the country. */
  code: string
}

const TITLE =
  /^(?:(?:the )?(?:state|province|commonwealth|territory) of(?: the)? )|,? (?:state|province)$/g

/** A name with `State of`, or a name or a code with its code or its country beside it. */
function findWithCountry(place: string, { code, names, codes }: SubdivisionSearch): string | null {
  const words = place.replace(TITLE, '').match(/[\p{L}\p{M}]+/gu) ?? []
  const named = names.get(foldCountryName(words.join('')))
  if (named !== undefined) return named
  for (const [beside, rest] of splitFirstAndLast(words)) {
    const found = names.get(foldCountryName(rest.join('')))
    if (found !== undefined && found === beside) return found
  }
  for (const countryName of COUNTRY_NAMES[code] ?? []) {
    const length = countryName.split(' ').length
    for (const [beside, rest] of splitFirstAndLast(words, length)) {
      if (beside !== countryName) continue
      const name = foldCountryName(rest.join(''))
      const found = names.get(name) ?? (codes.has(name) ? name : undefined)
      if (found !== undefined) return found
    }
  }
  // Without spaces, but only a whole name: a word may end with the letters of a code.
  const joined = foldCountryName(place)
  const suffix = COUNTRY_SUFFIXES[code]?.find(one => joined.endsWith(one)) ?? null
  return suffix && (names.get(joined.slice(0, -suffix.length)) ?? null)
}

/** The first and the last words, each with the rest. */
function splitFirstAndLast(words: readonly string[], length = 1): [string, readonly string[]][] {
  if (words.length <= length) return []
  return [
    [words.slice(-length).join(' '), words.slice(0, -length)],
    [words.slice(0, length).join(' '), words.slice(length)],
  ]
}

const COUNTRY_NAMES: Record<string, string[]> = {
  us: ['united states of america', 'united states', 'estados unidos', 'usa', 'u s a', 'us', 'u s'],
  ca: ['canada', 'can', 'ca'],
}
/** What may follow a name without a space. */
const COUNTRY_SUFFIXES: Record<string, string[]> = {
  us: ['unitedstates', 'usa', 'state'],
  ca: ['canada', 'province'],
}

/**
 * Names that are also of a country or of a place of comparable size: Georgia, and the Virgin
 * Islands, which are two. Regions of less than a fifth of the people do not count, such as the
 * province Montana of Bulgaria, Florida of Uruguay and Maryland of Liberia. Palau and the other
 * territories are the same place under both names.
 */
const SHARED_NAMES = new Set(['georgia', 'virginislands'])

const US_STATES = `
  al alabama, ak alaska, az arizona, ar arkansas, ca california, co colorado, ct connecticut,
  de delaware, fl florida, ga georgia, hi hawaii, id idaho, il illinois, in indiana, ia iowa,
  ks kansas, ky kentucky, la louisiana, me maine, md maryland, ma massachusetts, mi michigan,
  mn minnesota, ms mississippi, mo missouri, mt montana, ne nebraska, nv nevada, nh newhampshire,
  nj newjersey, nm newmexico, ny newyork, ny newyorkstate, nc northcarolina, nd northdakota,
  oh ohio, ok oklahoma, or oregon, pa pennsylvania, ri rhodeisland, sc southcarolina,
  sd southdakota, tn tennessee, tx texas, ut utah, vt vermont, va virginia, wa washington,
  wa washingtonstate, wv westvirginia, wi wisconsin, wy wyoming, dc districtofcolumbia,
  dc washingtondc, as americansamoa, fm micronesia, fm federatedstatesofmicronesia, gu guam,
  mh marshallislands, mp northernmarianaislands, pr puertorico, pw palau, vi usvirginislands,
  vi unitedstatesvirginislands, vi virginislandsus, vi virginislands, aa armedforcesamericas,
  aa armedforcesamerica, aa armedforcestheamericas, aa armedforcesaa, ae armedforceseurope,
  ae armedforcesafrica, ae armedforcescanada, ae armedforcesmiddleeast,
  ae armedforceseuropethemiddleeastandcanada, ae armedforcesae, ap armedforcespacific,
  ap armedforcesap, ap armedforcesthepacific`

const CANADIAN_PROVINCES = `
  ab alberta, bc britishcolumbia, mb manitoba, nb newbrunswick, nl newfoundlandandlabrador,
  nl newfoundland, nl newfoundlandlabrador, ns novascotia, nt northwestterritories, nu nunavut,
  on ontario, pe princeedwardisland, qc quebec, sk saskatchewan, yt yukon, yt yukonterritory`

/** In other languages of customers there: Spanish, French and German. */
const OTHER_US_NAMES = `
  ca californie, ca kalifornien, fl floride, ga georgie, hi hawai, la louisiane, la luisiana,
  ms misisipi, mo misuri, nh nuevohampshire, nj nuevajersey, nm nuevomexico, nm nouveaumexique,
  ny nuevayork, nc carolinadelnorte, nc carolinedunord, nd dakotadelnorte, nd dakotadunord,
  pa pensilvania, pa pennsylvanie, sc carolinadelsur, sc carolinedusud, sd dakotadelsur,
  sd dakotadusud, tx tejas, va virginie, wv virginiaoccidental, wv virginieoccidentale,
  dc distritodecolumbia`

const OTHER_CANADIAN_NAMES = `
  bc colombiebritannique, bc columbiabritanica, nb nouveaubrunswick, nl terreneuveetlabrador,
  nl terreneuve, ns nouvelleecosse, ns nuevaescocia, nt territoiresdunordouest,
  pe ileduprinceedouard`

/** Abbreviations that mean nothing else, with a country or without. */
const UNIQUE_ABBREVIATIONS: Record<string, string> = {
  us: `az ariz, ca calif, co colo, ct conn, fl fla, il ill, ma mass, mi mich, mn minn, ne nebr,
    ok okla, or oreg, pa penn, pa penna, tn tenn, tx tex, wa wash, wi wisc, wy wyo`,
  ca: 'ab alta, sk sask, nl nfld',
}

/** Abbreviations that are words or names elsewhere. */
const ABBREVIATIONS: Record<string, string> = {
  us: `al ala, ar ark, ca cal, de del, in ind, ks kan, ks kans, ms miss, mt mont, ne neb, nv nev,
    nm nmex, nd ndak, or ore, sd sdak, wv wva, wi wis`,
  ca: 'mb man, on ont, pe pei, qc que, qc pq, nt nwt, bc bcol',
}

interface Subdivisions {
  /** In English. */
  english: Map<string, string>
  /** In every language. */
  names: Map<string, string>
  codes: ReadonlySet<string>
  uniqueAbbreviations: Map<string, string>
  abbreviations: Map<string, string>
}

const TABLES = new Map<string, Subdivisions>([
  ['us', readSubdivisions('us', US_STATES, OTHER_US_NAMES)],
  ['ca', readSubdivisions('ca', CANADIAN_PROVINCES, OTHER_CANADIAN_NAMES)],
])

function readSubdivisions(country: string, english: string, others: string): Subdivisions {
  const names = readTable(english)
  return {
    english: names,
    names: new Map([...names, ...readTable(others)]),
    codes: new Set(names.values()),
    uniqueAbbreviations: readTable(UNIQUE_ABBREVIATIONS[country] ?? ''),
    abbreviations: readTable(ABBREVIATIONS[country] ?? ''),
  }
}

function readTable(table: string): Map<string, string> {
  const rows = table.split(',').map(row => row.trim().split(' ') as [string, string])
  return new Map(rows.map(([code, name]) => [name, code]))
}
