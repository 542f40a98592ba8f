import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { mountStoreVolume } from './store-volume.ts'

const HAS_NO_SPACE = { code: 'ENOSPC' }

it('takes no more bytes once it is filled, until it is emptied', test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-volume-'))
  const volume = mountStoreVolume(folder)
  test.after(() => {
    volume?.unmount()
    rmSync(folder, { recursive: true })
  })
  if (volume === null) return test.skip('this account may not mount a file system')
  const write = (name: string) => writeFileSync(join(folder, name), Buffer.alloc(65_536))
  write('before')
  volume.fill()
  assert.throws(() => write('while full'), HAS_NO_SPACE)
  volume.empty()
  write('after')
})
