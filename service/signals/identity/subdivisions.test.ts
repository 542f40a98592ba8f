import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeIdentifier } from './identifier-formats.ts'
import { findSubdivisionCode } from './subdivisions.ts'

const find = (place: string, country: string | null = null) =>
  findSubdivisionCode(normalizeIdentifier(place), country)

it('gives the two letters of a state or province of its country', () => {
  for (const [place, country, code] of [
    ['California', 'us', 'ca'],
    ['New York', 'us', 'ny'],
    ['Washington', 'us', 'wa'],
    ['Washington, D.C.', 'us', 'dc'],
    ['Puerto Rico', 'us', 'pr'],
    ['Georgia', 'us', 'ga'],
    ['Virgin Islands', 'us', 'vi'],
    ['US-CA', 'us', 'ca'],
    ['usca', 'us', 'ca'],
    ['Québec', 'ca', 'qc'],
    ['Nouvelle-Écosse', 'ca', 'ns'],
    ['CA-ON', 'ca', 'on'],
    ['Ont.', 'ca', 'on'],
    ['Miss.', 'us', 'ms'],
    ['W. Va.', 'us', 'wv'],
    ['Californie', 'us', 'ca'],
    ['Nueva York', 'us', 'ny'],
    ['Tejas', 'us', 'tx'],
    ['Floride', 'us', 'fl'],
    ['Carolina del Norte', 'us', 'nc'],
    ['Colombie-Britannique', 'ca', 'bc'],
  ] as const)
    assert.equal(find(place, country), code, place)
})

it('gives them without a country where the name is no other place', () => {
  const codes = {
    ca: ['California', 'CALIFORNIA', ' california '],
    ny: ['New York', 'New-York', 'State of New York', 'New York State', 'NY New York'],
    tx: ['Texas', 'Texas, USA', 'Texas (US)', 'TX - Texas', 'US-TX', 'TX, USA', 'Tex.'],
    fl: ['Florida', 'Fla.', 'Florida 32801', 'Florida, United States'],
    nc: ['North Carolina'],
    wv: ['West Virginia', 'WEST  VIRGINIA'],
    ma: ['Massachusetts', 'Commonwealth of Massachusetts', 'Mass.'],
    on: ['Ontario', 'ontario', 'Ontario, Canada', 'Province of Ontario', 'ON - Ontario', 'CA-ON'],
    qc: ['Quebec'],
    bc: ['British Columbia'],
    nl: ['Newfoundland and Labrador', 'Newfoundland & Labrador', 'Newfoundland'],
    yt: ['Yukon', 'Yukon Territory'],
    pw: ['Palau'],
    mh: ['Marshall Islands'],
    fm: ['Micronesia', 'Federated States of Micronesia'],
    pr: ['Puerto Rico'],
    gu: ['Guam'],
    aa: ['Armed Forces Americas', 'Armed Forces (AA)'],
    ae: ['Armed Forces Europe', 'Armed Forces Middle East', 'Armed Forces (AE)'],
    ap: ['Armed Forces Pacific', 'Armed Forces (AP)'],
    dc: ['District of Columbia', 'Washington, DC'],
  }
  for (const [code, places] of Object.entries(codes))
    for (const place of places) assert.equal(find(place), code, place)
})

it('leaves everything else as it is', () => {
  for (const place of [
    ...[
      'Georgia',
      'Géorgie',
      'Québec',
      'Nueva York',
      'Californie',
      'Tëxas',
      'Virgin Islands',
      'Armed Forces',
      'Columbia',
      'Carolina',
      'Dakota',
    ],
    ...['Baja California', 'California Sur', 'Nova Iguaçu', 'Victoria', 'Kansas City', 'Ontari'],
    ...['Bayern', 'Île-de-France', 'München', 'Lombardia', '北京', 'Москва', 'Montana Province X'],
    ...['CA', 'NY', 'us', 'usa', 'canada', 'usca', 'uszz', 'constructor', 'toString', 'State'],
    ...['laus', 'Miss', 'Del', 'Ind', 'Man', 'Ont', 'TX - Ohio', 'MX-CA', 'Texas, Mexico'],
  ])
    assert.equal(find(place), null, place)
  for (const [place, country] of [
    ['California', 'mx'],
    ['California', 'ca'],
    ['Ontario', 'us'],
    ['Florida', 'uy'],
    ['Montana', 'bg'],
    ['CA', 'us'],
    ['uszz', 'us'],
    ['constructor', 'us'],
  ] as const)
    assert.equal(find(place, country), null, place)
})
