import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

interface LockedPackage {
  version?: string
  optionalDependencies?: Record<string, string>
}

const lockfile = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8'),
) as { packages: Record<string, LockedPackage> }

it('the lockfile names every optional package, so that npm ci takes it on every platform', () => {
  // npm leaves out what a registry mirror does not serve, and then refuses its own lockfile.
  const missing = Object.values(lockfile.packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter(name => !lockfile.packages[`node_modules/${name}`]),
  )
  assert.deepEqual(missing, [])
})
