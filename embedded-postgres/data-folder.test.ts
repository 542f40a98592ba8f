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

it('makes a folder that nobody else may list, and that may be passed through only for root', () => {
  const made = prepareDataFolder(join(folder, 'deep', 'down'))
  assert.equal(statSync(made).mode & 0o777, asRoot ? 0o711 : 0o700)
})

it('is made alike under a umask that allows nothing to others', test => {
  const before = process.umask(0o077)
  test.after(() => process.umask(before))
  const made = prepareDataFolder(join(folder, 'strict', 'down'))
  for (const path of [made, join(folder, 'strict')]) {
    assert.equal(statSync(path).mode & 0o777, asRoot ? 0o711 : 0o700)
  }
})

it('leaves a folder that is there as it is and follows a link to it', () => {
  const made = prepareDataFolder(join(folder, 'real'))
  chmodSync(made, 0o750)
  symlinkSync(made, join(folder, 'link'))
  assert.equal(prepareDataFolder(join(folder, 'link')), made)
  assert.equal(statSync(made).mode & 0o777, 0o750)
})

it('below the folder of an account it belongs to that account, even when root makes it', () => {
  const owner = asRoot ? 4711 : (process.geteuid?.() ?? 0)
  if (asRoot) chownSync(folder, owner, owner)
  assert.equal(statSync(prepareDataFolder(join(folder, 'home'))).uid, owner)
})
