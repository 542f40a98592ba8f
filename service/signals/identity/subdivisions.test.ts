import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findSubdivisionCode } from './subdivisions.ts'

it('gives the two letters of a state or province of its country', () => {
  for (const [place, country, code] of [
    ['california', 'us', 'ca'],
    ['newyork', 'us', 'ny'],
    ['washington', 'us', 'wa'],
    ['washingtondc', 'us', 'dc'],
    ['puertorico', 'us', 'pr'],
    ['usca', 'us', 'ca'],
    ['québec', 'ca', 'qc'],
    ['nouvelleécosse', 'ca', 'ns'],
    ['caon', 'ca', 'on'],
  ] as const)
    assert.equal(findSubdivisionCode(place, country), code, place)
})

it('leaves everything else as it is', () => {
  for (const [place, country] of [
    ['california', null],
    ['california', 'mx'],
    ['california', 'ca'],
    ['ca', 'us'],
    ['calif', 'us'],
    ['uszz', 'us'],
    ['constructor', 'us'],
  ] as const)
    assert.equal(findSubdivisionCode(place, country), null, place)
})
