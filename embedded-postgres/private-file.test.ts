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

it('replaces the file as a whole and lets only its owner read it', () => {
  writeFileSync(join(folder, 'word'), 'a longer word than the next', { mode: 0o644 })
  writePrivateFile(folder, 'word', 'open sesame')
  assert.equal(readFileSync(join(folder, 'word'), 'utf8'), 'open sesame')
  assert.equal(statSync(join(folder, 'word')).mode & 0o777, 0o600)
})

it('replaces a link in its place instead of writing through it', () => {
  writeFileSync(join(folder, 'elsewhere'), 'untouched')
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
  writePrivateFile(folder, 'link', 'open sesame')
  assert.equal(readFileSync(join(folder, 'elsewhere'), 'utf8'), 'untouched')
  assert.equal(readFileSync(join(folder, 'link'), 'utf8'), 'open sesame')
})

it('leaves no half of a file behind when it fails', () => {
  mkdirSync(join(folder, 'taken', 'full'), { recursive: true })
  const before = readdirSync(folder)
  assert.throws(() => writePrivateFile(folder, 'taken', 'open sesame'))
  assert.deepEqual(readdirSync(folder), before)
})
