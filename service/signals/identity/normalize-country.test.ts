import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { it } from 'node:test'
import { normalizeIdentifier } from './identifier-formats.ts'
import { normalizeCountry } from './normalize-country.ts'
import { COUNTRY_NAMES_PATH, renderCountryNames } from './print-country-names.ts'

const read = (text: string) => normalizeCountry(normalizeIdentifier(text))

it('every region that Intl knows by an assigned code is a country, and nothing else is', () => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  const accepted = letters
    .flatMap(first => letters.map(second => first + second))
    .filter(code => normalizeCountry(code) === code)
  const named = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  assert.equal(accepted.length, 250)
  assert.deepEqual(
    accepted.filter(code => named.of(code.toUpperCase()) === undefined),
    [],
  )
  assert.equal(normalizeCountry('constructor'), null)
})

it('reads names, local names and codes of three letters', () => {
  for (const [code, names] of Object.entries({
    us: ['USA', 'U.S.', 'U.S.A.', 'United States', 'united states of america', 'The United States'],
    gb: [
      'UK',
      'U.K.',
      'GBR',
      'Great Britain',
      'United Kingdom',
      'England',
      'Vereinigtes Königreich',
    ],
    de: ['DEU', 'Germany', 'Deutschland', 'DEUTSCHLAND', 'Alemania', 'ドイツ', '德国'],
    fr: ['France', 'Francia', 'Frankreich', 'FRA'],
    at: ['Österreich', 'Osterreich', 'Austria', 'Ö\u0073terreich'.normalize('NFD')],
    ci: ["Côte d'Ivoire", 'Cote d’Ivoire', 'Ivory Coast'],
    nl: ['The Netherlands', 'Nederland', 'Holland'],
    tr: ['Türkiye', 'TÜRKİYE', 'Turkey'],
    kr: ['South Korea', 'Republic of Korea', '대한민국'],
    cg: ['Congo', 'COG', 'Republic of the Congo'],
    cd: ['DR Congo', 'Democratic Republic of the Congo', 'COD'],
    gr: ['EL', 'Greece', 'Ελλάδα'],
    xk: ['XK', 'XKX', 'Kosovo'],
    jp: ['ＪＰ', 'ＪＡＰＡＮ', '日本'],
    eg: ['مصر'],
    ru: ['Россия', 'Russian Federation'],
  })) {
    for (const name of names) assert.equal(read(name), code, name)
  }
})

it('reads names as ISO 3166, the World Bank and shops write them', () => {
  for (const [code, names] of Object.entries({
    us: ['United States (US)', 'United States of America (the)', 'US - United States', 'U S A'],
    gb: ['United Kingdom (UK)', 'United Kingdom of Great Britain and Northern Ireland (the)'],
    cd: ['Congo, The Democratic Republic of the', 'Congo (Kinshasa)', 'Congo, Dem. Rep.'],
    cg: ['Congo (Brazzaville)', 'Congo, Rep.', 'Congo (the)'],
    ps: ['Palestine, State of', 'Palestine State of', 'Palestinian Territory, Occupied'],
    bs: ['Bahamas, The', 'Bahamas (the)', 'The Bahamas'],
    kr: ['Korea (the Republic of)', 'Korea, Rep.', 'Korea, South'],
    kp: [
      ...['Korea (the Democratic People’s Republic of)', 'Korea, Dem. People’s Rep.'],
      ...['Democratic People’s Republic of Korea', 'Democratic People’s Republic of Korea (KP)'],
    ],
    ir: ['Iran (Islamic Republic of)', 'Iran, Islamic Rep.'],
    bo: ['Bolivia (Plurinational State of)'],
    ve: ['Venezuela (Bolivarian Republic of)'],
    fm: ['Micronesia (Federated States of)', 'Micronesia, Fed. Sts.'],
    nl: ['Netherlands (Kingdom of the)', 'Netherlands, Kingdom of the'],
    fk: ['Falkland Islands (the) [Malvinas]'],
    um: ['United States (US) Minor Outlying Islands'],
    vi: ['Virgin Islands (U.S.)', 'Virgin Islands (US)', 'United States (US) Virgin Islands'],
    vg: ['Virgin Islands (British)'],
    kn: ['St. Kitts & Nevis'],
    tt: ['Trinidad & Tobago'],
    mm: ['Myanmar (Burma)', 'Burma (Myanmar)'],
    eg: ['Egypt, Arab Rep.'],
    xk: ['Kosovo, Republic of', 'Republic of Kosovo'],
    pl: ['Republic of Poland'],
    cn: ['China, Mainland', 'People’s Republic of China'],
    tw: ['Taiwan (Province of China)'],
    de: ['Germany (DE)', 'DE - Germany', 'Deutschland (DE)', 'Germany / Deutschland'],
    ci: ['Côte d’Ivoire (Ivory Coast)'],
    im: ['Man, Isle of'],
    is: ['Iceland (IS)', 'Republic of Iceland (IS)'],
    st: ['Sao Tome and Principe (ST)', 'Democratic Republic of Sao Tome and Principe'],
    sh: ['Saint Helena, Ascension and Tristan da Cunha', 'St. Helena'],
    br: ['Federative Republic of Brazil', 'Federative Republic of Brazil (BR)'],
    ga: ['Gabonese Republic'],
    ws: ['Independent State of Samoa'],
    hk: ['Hong Kong Special Administrative Region of China', 'China, Hong Kong SAR'],
    ca: ['C-A', 'C A'],
  })) {
    for (const name of names) assert.equal(read(name), code, name)
  }
})

it('reads no name beside another country, and no name that two states share', () => {
  for (const text of [
    ...[
      'Germany (US)',
      'US - Germany',
      'Germany or Austria',
      'Korea (KP or KR)',
      'Republic of Korea, North',
    ],
    ...['Republic of China', 'China (Republic of)', 'Virgin Islands', 'Republic', 'The', 'of the'],
    ...['State of', 'us123', 'CanadaCountry', 'New Mexico', 'Georgia Tech', 'Jersey City, The'],
    ...['constructor of', 'a b c d e f g h i j k l m n o p'],
  ])
    assert.equal(read(text), null, text)
})

it('reads no locale, no continent, no name of two countries and no other text', () => {
  for (const text of [
    'de-DE',
    'en_US',
    'xx',
    'Europe',
    'Kongo',
    'Korea',
    'nowhere',
    '😀',
    '--',
    '1',
  ])
    assert.equal(read(text), null, text)
})

it('agrees with Intl on every country and every language that Intl has', () => {
  const require = createRequire(import.meta.url)
  const languages: string[] = require('i18n-iso-countries/supportedLocales.json')
  const codes: [string][] = require('i18n-iso-countries/codes.json')
  let count = 0
  for (const language of languages) {
    const names = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' })
    for (const [code] of codes) {
      const name = names.of(code)
      const found = name === undefined ? null : read(name)
      if (found === null) continue
      assert.equal(found, code.toLowerCase(), `${language} ${name}`)
      count += 1
    }
  }
  assert.ok(count > 15_000, `${count} names`)
})

it('has a table that is up to date', () => {
  assert.equal(readFileSync(COUNTRY_NAMES_PATH, 'utf8'), renderCountryNames())
})
