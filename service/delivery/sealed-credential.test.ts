import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import fc from 'fast-check'
import { openCredential, sealCredential } from './sealed-credential.ts'

const KEY = randomBytes(32)
const DESTINATION_ID = '0190bbbb-0000-7000-8000-000000000001'

it('opens what it sealed, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), credential => {
      const sealed = sealCredential(KEY, DESTINATION_ID, credential)
      assert.equal(openCredential(KEY, DESTINATION_ID, sealed), credential)
    }),
  )
})

it('never seals the same text to the same bytes, and shows none of it', () => {
  const credential = 'EAABsbCS1iHgBO7ZC'
  const first = sealCredential(KEY, DESTINATION_ID, credential)
  const second = sealCredential(KEY, DESTINATION_ID, credential)
  assert.notDeepEqual(first, second)
  assert.equal(first.includes(credential), false)
  assert.equal(first.length, 12 + 16 + credential.length)
})

it('opens nothing when any one bit was changed', () => {
  const sealed = sealCredential(KEY, DESTINATION_ID, 'token')
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => openCredential(KEY, DESTINATION_ID, changed))
  }
})

it('opens nothing that was cut short', () => {
  const sealed = sealCredential(KEY, DESTINATION_ID, 'token')
  for (let length = 0; length < sealed.length; length += 1) {
    assert.throws(() => openCredential(KEY, DESTINATION_ID, sealed.subarray(0, length)))
  }
})

it('opens nothing for another destination or with another key', () => {
  const sealed = sealCredential(KEY, DESTINATION_ID, 'token')
  const other = '0190bbbb-0000-7000-8000-000000000002'
  assert.throws(() => openCredential(KEY, other, sealed))
  assert.throws(() => openCredential(randomBytes(32), DESTINATION_ID, sealed))
})
