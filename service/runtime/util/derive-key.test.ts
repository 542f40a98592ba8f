import assert from 'node:assert/strict'
import { hkdfSync } from 'node:crypto'
import { it } from 'node:test'
import { deriveKey } from './sealed-credential.ts'

const MASTER = Buffer.alloc(32, 7)

it('derives by HKDF with SHA-256 over the purpose', () => {
  const expected = Buffer.from(hkdfSync('sha256', MASTER, '', 'signalbox audit heads v1', 32))
  assert.deepEqual(deriveKey(MASTER, 'signalbox audit heads v1'), expected)
})

it('derives different keys for different purposes and master keys', () => {
  const key = deriveKey(MASTER, 'one')
  assert.notDeepEqual(deriveKey(MASTER, 'other'), key)
  assert.notDeepEqual(deriveKey(Buffer.alloc(32, 8), 'one'), key)
  assert.notDeepEqual(key, MASTER)
})
