import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isProvenance } from './provenance.ts'

describe('isProvenance', () => {
  for (const value of [
    '3.2.1',
    'onetrust',
    'US-CA',
    '2026-05-04',
    'privacy-2026-05-04',
    '123456',
    7,
  ]) {
    it(`keeps the label ${value}`, () => assert.equal(isProvenance('version', value), true))
  }

  const IDENTIFIERS: [value: unknown, what: string][] = [
    ['jane@example.com', 'a mail address'],
    ['4915112345678', 'a phone number'],
    ['555-123-4567', 'a phone number with dashes'],
    ['192.168.100.200', 'an IP address'],
    ['2001:db8::1', 'an IPv6 address'],
    ['1234567', 'seven digits'],
    ['2026-05-04-1234567', 'seven digits behind a day'],
    ['fb.1.1700000000000.IwAR0abc', 'a click id'],
    ['ab-cd-ef-ab-cd-ef-ab-cd', 'a run of hex digits with separators'],
    [4915112345678, 'a phone number as a number'],
    [52.520008, 'a coordinate'],
    ['5f4dcc3b5aa765d61d8327deb882cf99', 'a digest'],
    ['0b7e1c9a-3f52-4d7e-9a51-2f0c6b8d4e11', 'a UUID'],
    ['Jane Doe', 'a name with a space'],
    ['x'.repeat(65), 'a long text'],
    [true, 'a boolean, which is not a label'],
    [{}, 'an object'],
  ]
  for (const [value, what] of IDENTIFIERS) {
    it(`does not keep ${what}`, () => assert.equal(isProvenance('version', value), false))
  }

  it('knows six members, however they are written', () => {
    for (const name of ['version', 'method', 'source', 'policyVersion', 'banner_version', 'Region'])
      assert.equal(isProvenance(name, 'v1'), true)
    assert.equal(isProvenance('user', 'v1'), false)
  })
})
