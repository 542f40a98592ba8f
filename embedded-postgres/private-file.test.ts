import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { writePrivateFile } from './private-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))

after(() => rmSync(folder, { recursive: true, force: true }))

it('replaces a file atomically and makes it private', () => {
  writeFileSync(join(folder, 'secret'), 'a longer text than the next', { mode: 0o644 })
  writePrivateFile(folder, 'secret', 'new text')
  assert.equal(readFileSync(join(folder, 'secret'), 'utf8'), 'new text')
  assert.equal(statSync(join(folder, 'secret')).mode & 0o777, 0o600)
})

it('replaces a link instead of writing through it', () => {
  writeFileSync(join(folder, 'elsewhere'), 'untouched')
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
  writePrivateFile(folder, 'link', 'new text')
  assert.equal(readFileSync(join(folder, 'elsewhere'), 'utf8'), 'untouched')
  assert.equal(readFileSync(join(folder, 'link'), 'utf8'), 'new text')
})

it('leaves no temporary file after a failure', () => {
  mkdirSync(join(folder, 'taken', 'full'), { recursive: true })
  const before = readdirSync(folder)
  assert.throws(() => writePrivateFile(folder, 'taken', 'new text'))
  assert.deepEqual(readdirSync(folder), before)
})
