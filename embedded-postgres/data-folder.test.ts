import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { prepareDataFolder } from './data-folder.ts'

const asRoot = process.geteuid?.() === 0
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-postgres-')))

after(() => rmSync(folder, { recursive: true, force: true }))

it('creates a folder that no other account may list, and only root lets others traverse', () => {
  const created = prepareDataFolder(join(folder, 'deep', 'down'))
  assert.equal(statSync(created).mode & 0o777, asRoot ? 0o711 : 0o700)
})

it('sets the same mode under a strict umask', test => {
  const before = process.umask(0o077)
  test.after(() => process.umask(before))
  const created = prepareDataFolder(join(folder, 'strict', 'down'))
  for (const path of [created, join(folder, 'strict')]) {
    assert.equal(statSync(path).mode & 0o777, asRoot ? 0o711 : 0o700)
  }
})

it('leaves an existing folder as it is and follows a link to it', () => {
  const created = prepareDataFolder(join(folder, 'real'))
  chmodSync(created, 0o750)
  symlinkSync(created, join(folder, 'link'))
  assert.equal(prepareDataFolder(join(folder, 'link')), created)
  assert.equal(statSync(created).mode & 0o777, 0o750)
})

it('gives a folder that root creates to the owner of the folder above', () => {
  const owner = asRoot ? 4711 : (process.geteuid?.() ?? 0)
  if (asRoot) chownSync(folder, owner, owner)
  assert.equal(statSync(prepareDataFolder(join(folder, 'home'))).uid, owner)
})
