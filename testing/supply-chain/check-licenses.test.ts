import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isAcceptedLicense, readLockedPackages } from './check-licenses.ts'

it('every installed package has an accepted license', () => {
  const packages = readLockedPackages()
  assert.ok(packages.length > 300)
  const refused = packages.filter(([, locked]) => !isAcceptedLicense(locked))
  assert.deepEqual(refused, [])
})

it('accepts one alternative of an expression, and all parts of a combination', () => {
  const cases: [string, boolean][] = [
    ['MIT', true],
    ['MIT OR GPL-3.0-only', true],
    ['(GPL-3.0-only OR Apache-2.0)', true],
    ['MIT AND ISC', true],
    ['MIT AND GPL-3.0-only', false],
    ['AGPL-3.0-only', false],
    ['UNLICENSED', false],
    ['', false],
  ]
  for (const [license, expected] of cases) {
    assert.equal(isAcceptedLicense({ license }), expected, license)
  }
  assert.equal(isAcceptedLicense({}), false)
})

it('accepts a copyleft license for a development tool only', () => {
  assert.equal(isAcceptedLicense({ license: 'MPL-2.0', dev: true }), true)
  assert.equal(isAcceptedLicense({ license: 'MPL-2.0' }), false)
})
