import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readLockedPackages } from './check-licenses.ts'

it('every package of the lockfile has a digest', () => {
  const packages = readLockedPackages()
  assert.ok(packages.length > 300)
  // npm installs an entry without a digest unchecked.
  const unchecked = packages.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ''))
  assert.deepEqual(unchecked, [])
})
