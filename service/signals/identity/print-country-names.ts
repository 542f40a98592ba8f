import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { foldCountryName } from './normalize-country.ts'

/** The generated table. A test fails when it is stale. */
export const COUNTRY_NAMES_PATH = join(import.meta.dirname, 'country-names.json')

/** Kosovo has no code of ISO 3166-1; these are what everyone uses. */
const KOSOVO = ['XK', 'XKX'] as const

/** Names in use that the library does not have, among them all of Meta's Parameter Builder. */
const OTHER_NAMES: Record<string, string> = {
  AE: 'Emirates',
  AG: 'Antigua',
  BA: 'Bosnia',
  BN: 'Brunei',
  BO: 'Bolivia, Plurinational State of',
  BQ: 'Bonaire, Sint Eustatius and Saba',
  CD: 'DR Congo|Congo-Kinshasa|Congo, the Democratic Republic of|República Democrática do Congo',
  CG: 'Congo|Republic of the Congo|Congo-Brazzaville',
  CV: 'Cabo Verde',
  CZ: 'Czech Republic',
  FK: 'Falkland Islands|Falklands',
  FM: 'Micronesia',
  GB: 'Great Britain|Britain|England|Scotland|Wales|Northern Ireland',
  HK: 'Hong Kong SAR',
  IE: 'Republic of Ireland|Eire',
  IR: 'Eýran|Iran, Islamic Republic of',
  KN: 'St Kitts and Nevis',
  KP: "Korea, Democratic People's Republic of",
  KR: 'Korea, Republic of',
  LA: "Laos|Lao People's Democratic Republic",
  LC: 'St Lucia',
  MD: 'Moldova|Moldova, Republic of',
  MF: 'Saint Martin|Saint Martin (French part)',
  MK: 'Macedonia|Macedonia, the former Yugoslav Republic of',
  MM: 'Burma',
  MO: 'Macau',
  NL: 'Holland',
  PM: 'St Pierre and Miquelon',
  PS: 'Palestine',
  SH: 'Saint Helena',
  SX: 'Sint Maarten|Sint Maarten (Dutch part)',
  SY: 'Syria',
  SZ: 'Swaziland',
  TL: 'East Timor',
  TT: 'Trinidad',
  TW: 'Taiwan, Province of China',
  TZ: 'Tanzania, United Republic of',
  US: 'U.S. of A.|USA',
  VA: 'Vatican|Vatican City|Holy See (Vatican City State)',
  VC: 'St Vincent and the Grenadines',
  VE: 'Venezuela, Bolivarian Republic of',
  VG: 'British Virgin Islands|Virgin Islands, British',
  VI: 'US Virgin Islands|Virgin Islands, U.S.',
}

/**
 * `country-names.json`: each alpha-2 code with its alpha-3 code and its folded names in the 77
 * languages of i18n-iso-countries. It is generated because reading the library takes 0.3 seconds,
 * which no request can wait for; the table takes a few milliseconds, once.
 */
export function renderCountryNames(): string {
  const codes = readLibrary('codes.json') as [string, string][]
  const names = new Map(OTHER_ENTRIES)
  const ambiguous = new Set<string>()
  for (const [alpha2, alpha3] of [...codes, KOSOVO]) names.set(alpha3.toLowerCase(), alpha2)
  for (const language of listLanguages()) {
    const isEnglish = language === 'en'
    for (const [name, code] of readNames(language)) {
      const known = names.get(name)
      if (known === undefined) names.set(name, code)
      else if (known !== code && !isEnglish && !ENGLISH_NAMES.has(name)) ambiguous.add(name)
    }
  }
  return formatTable(names, ambiguous)
}

const require = createRequire(import.meta.url)
const LIBRARY = dirname(require.resolve('i18n-iso-countries/package.json'))

function readLibrary(file: string): unknown {
  return JSON.parse(readFileSync(join(LIBRARY, file), 'utf8'))
}

const OTHER_ENTRIES = Object.entries(OTHER_NAMES).flatMap(([code, names]) =>
  names.split('|').map((name): [string, string] => [foldCountryName(name), code]),
)

/** English names win: what another language calls by the same name is not dropped for it. */
const ENGLISH_NAMES = new Set([
  ...OTHER_ENTRIES.map(([name]) => name),
  ...readNames('en').map(([name]) => name),
])

/** English comes first. */
function listLanguages(): string[] {
  const languages = readLibrary('supportedLocales.json') as string[]
  return ['en', ...languages.filter(language => language !== 'en').sort()]
}

function readNames(language: string): [name: string, code: string][] {
  const { countries } = readLibrary(`langs/${language}.json`) as {
    countries: Record<string, string | string[]>
  }
  return Object.entries(countries).flatMap(([code, names]) =>
    [names].flat().map((name): [string, string] => [foldCountryName(name), code]),
  )
}

function formatTable(names: Map<string, string>, ambiguous: Set<string>): string {
  const table: Record<string, string[]> = {}
  for (const [name, code] of names) {
    const hasMeaning = name.length > 2 || /[^a-z]/.test(name)
    if (!hasMeaning || ambiguous.has(name)) continue
    table[code.toLowerCase()] ??= []
    table[code.toLowerCase()]?.push(name)
  }
  const lines = Object.keys(table)
    .sort()
    .map(code => `  ${JSON.stringify(code)}: ${JSON.stringify(table[code]?.sort().join(' '))}`)
  return `{\n${lines.join(',\n')}\n}\n`
}

if (import.meta.main) writeFileSync(COUNTRY_NAMES_PATH, renderCountryNames())
